/** Choosing a model folder: what it holds, what a run with it needs, whether it works here, and the way to a run. */
import assert from 'node:assert/strict';
import { cp, readFile, rename, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { FrameLocator, Locator } from 'playwright-core';
import { isRecord } from '../../src/shared/guard.ts';
import { readConfig } from '../../src/training/config/readConfig.ts';
import { eventually, Workbench, workbenchScenarios } from './harness/workbench.ts';
import { assertQuiet, chooseOption, reloadWindow } from './team.ts';

const GOLDEN = join(import.meta.dirname, '..', 'fixtures', 'golden');
const COMMAND = 'C3: Choose model folder';
/** A width of feed-forward layers: about 90 million numbers in all take a while. */
const LARGE = 200_000;
/**
 * The widest that is read, in so many layers: 19 billion numbers, and to train them three times as many, fit no machine
 * that runs this test.
 */
const [TOO_WIDE, TOO_MANY] = [2 ** 18, 512];

const scenario = workbenchScenarios({ files: { 'notes.md': '# Notes\n' } });

/** Copies a golden model into the workspace, where a user would have put it. */
async function provide(workbench: Workbench, name: string, as = name): Promise<string> {
  const folder = join(workbench.folder, 'models', as);
  await cp(join(GOLDEN, name), folder, { recursive: true });
  return folder;
}

/** A golden model made wider, and deeper where layers are given: a sparse file, all weights 0. */
async function provideWide(workbench: Workbench, name: string, width: number, layers?: number): Promise<string> {
  const folder = await provide(workbench, 'llama', name);
  const configFile = join(folder, 'config.json');
  const config: unknown = JSON.parse(await readFile(configFile, 'utf8'));
  assert.ok(isRecord(config));
  const narrow = Number(config['intermediate_size']);
  await writeFile(
    configFile,
    JSON.stringify({ ...config, intermediate_size: width, ...(layers !== undefined && { num_hidden_layers: layers }) }),
  );
  const weightsFile = join(folder, 'model.safetensors');
  let end = 0;
  const stored = await storedTensors(weightsFile);
  const first = stored.filter(([tensor]) => tensor.startsWith('model.layers.0.'));
  const copies = Array.from({ length: layers ?? 0 }, (_, layer) =>
    first.map(([tensor, shape]) => [tensor.replace('.0.', `.${String(layer)}.`), shape] as const),
  ).flat();
  const named =
    layers === undefined ? stored : [...stored.filter(([tensor]) => !tensor.startsWith('model.layers.')), ...copies];
  const tensors = named.map(([tensor, shape]) => {
    const wide = tensor.includes('.mlp.') ? shape.map((dim) => (dim === narrow ? width : dim)) : shape;
    const start = end;
    end += 4 * wide.reduce((product, dim) => product * dim, 1);
    return [tensor, { dtype: 'F32', shape: wide, data_offsets: [start, end] }];
  });
  const header = Buffer.from(JSON.stringify(Object.fromEntries(tensors)));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));
  await writeFile(weightsFile, Buffer.concat([length, header]));
  await truncate(weightsFile, 8 + header.length + end);
  return folder;
}

/** Answers the editor's folder dialog, which the browser edition draws as a list below a field. */
async function answerDialog(workbench: Workbench, folder: string): Promise<void> {
  const dialog = workbench.page.locator('.quick-input-widget:visible').filter({ hasText: 'Choose model folder' });
  const field = dialog.locator('input.input');
  await eventually('the folder dialog', async () => (await field.inputValue()).startsWith(workbench.folder));
  await field.fill(folder);
  await eventually('the chosen folder', async () => {
    await field.press('Enter', { timeout: 1_000 }).catch(() => undefined);
    return (await dialog.count()) === 0;
  });
}

/** Picks an entry of the list of folders, which the palette opens, or the button of a panel that is given. */
async function choose(workbench: Workbench, entry: string, panel?: FrameLocator): Promise<void> {
  // A panel that takes the focus back late, after the palette has closed, closes the question too.
  await eventually(
    'the list of folders',
    async () => {
      if (panel === undefined) {
        await workbench.runCommand(COMMAND);
      } else {
        await panel.getByRole('button', { name: 'Choose another folder' }).click();
      }
      await workbench.pick(entry, 5_000);
      return true;
    },
    120_000,
  );
}

function row(model: FrameLocator, table: string, name: string): Locator {
  return model
    .getByRole('table', { name: table })
    .getByRole('row')
    .filter({ has: model.getByRole('rowheader', { name, exact: true }) });
}

async function fact(model: FrameLocator, name: string): Promise<string> {
  return (await row(model, 'Model details', name).getByRole('cell').innerText()).trim();
}

/** The chosen model's panel, with its facts. */
async function modelPanel(workbench: Workbench, name: string): Promise<FrameLocator> {
  const model = await workbench.webview(`Model ${name}`);
  await model.getByRole('table', { name: 'Model details' }).waitFor();
  return model;
}

/** The plan's numbers, once it is there and not being made anew. */
async function planText(model: FrameLocator): Promise<string> {
  await model.locator('.plan-body:not(.stale) table').waitFor();
  return model.getByRole('table', { name: 'Memory by item' }).innerText();
}

/** Names and shapes in a safetensors file, by its own header. */
async function storedTensors(file: string): Promise<readonly (readonly [name: string, shape: readonly number[]])[]> {
  const data = await readFile(file);
  const header: unknown = JSON.parse(data.subarray(8, 8 + Number(data.readBigUInt64LE(0))).toString('utf8'));
  assert.ok(isRecord(header));
  return Object.entries(header).flatMap(([name, tensor]) =>
    isRecord(tensor) && Array.isArray(tensor['shape']) ? [[name, tensor['shape'].map(Number)] as const] : [],
  );
}

scenario(
  'a folder is chosen by its path, and the panel shows what its files say and what a run with it needs',
  async (workbench) => {
    const folder = await provide(workbench, 'qwen3');
    const view = await workbench.openView('C3');
    await view.getByRole('button', { name: 'Choose model folder' }).click();
    await answerDialog(workbench, folder);
    const model = await modelPanel(workbench, 'qwen3');
    const config: unknown = JSON.parse(await readFile(join(folder, 'config.json'), 'utf8'));
    assert.ok(isRecord(config));
    const number = (key: string): string => Number(config[key]).toLocaleString('en');
    assert.equal(await fact(model, 'Family'), config['model_type']);
    assert.equal(await fact(model, 'Layers'), `${number('num_hidden_layers')}, width ${number('hidden_size')}`);
    assert.equal(
      await fact(model, 'Attention'),
      `${number('num_attention_heads')} query heads, ${number('num_key_value_heads')} key and value heads`,
    );
    assert.equal(await fact(model, 'Context length'), `${number('max_position_embeddings')} tokens`);
    assert.equal(
      await fact(model, 'Vocabulary'),
      `${number('vocab_size')} tokens, separate matrices for input and output`,
    );
    assert.equal(await fact(model, 'Precision'), config['dtype']);
    const stored = await storedTensors(join(folder, 'model.safetensors'));
    assert.equal(
      await fact(model, 'Parameters'),
      stored
        .reduce((total, [, shape]) => total + shape.reduce((product, dim) => product * dim, 1), 0)
        .toLocaleString('en'),
    );
    assert.equal(await fact(model, 'Chat template'), 'chat_template.jinja');
    assert.equal(await fact(model, 'Reasoning'), 'not supported by the template');

    const adapter = await planText(model);
    await model
      .locator('figcaption', { hasText: /^Main memory: at most .* needed, .* available/u })
      .getByText('fits', { exact: true })
      .waitFor();
    await chooseOption(model, 'What is trained', 'Everything', { exact: true });
    await eventually('another plan', async () => (await planText(model)) !== adapter);
    // By keyboard alone, and back to what it was.
    await model.getByRole('combobox', { name: 'What is trained' }).focus();
    for (let press = 0; press < 4; press++) {
      await workbench.page.keyboard.press('ArrowUp');
    }
    await eventually('the first plan', async () => (await planText(model)) === adapter);
  },
);

scenario('the self-test shows its steps as they end, and all pass', async (workbench) => {
  const model = await modelPanel(workbench, 'qwen3');
  // They are there for as long as the test takes, which is not long.
  await Promise.all([
    model.getByRole('button', { name: 'Cancel self-test' }).waitFor(),
    model.getByRole('progressbar', { name: 'Self-test' }).waitFor(),
    model.getByRole('button', { name: 'Self-test', exact: true }).click(),
  ]);
  await model.getByText(/^All \d+ steps passed in/u).waitFor({ timeout: 120_000 });
  const steps = model.getByRole('list', { name: 'Steps of the self-test' }).getByRole('listitem');
  await eventually('every step to have passed', async () => {
    const ended = await steps.allInnerTexts();
    return ended.length >= 5 && ended.every((step) => step.includes('passed'));
  });
  for (const width of [1280, 800]) {
    await workbench.page.setViewportSize({ width, height: 900 });
    for (const theme of ['light', 'highContrast', 'dark'] as const) {
      await workbench.screenshot(`model-${String(width)}`, theme);
    }
  }
  await workbench.page.setViewportSize({ width: 1400, height: 900 });
  assertQuiet(workbench);
});

scenario('a self-test is cancelled, and that is no failure', async (workbench) => {
  const folder = await provideWide(workbench, 'large', LARGE);
  await choose(workbench, 'Browse…');
  await answerDialog(workbench, folder);
  const model = await modelPanel(workbench, 'large');
  await model.getByRole('button', { name: 'Self-test', exact: true }).focus();
  await workbench.page.keyboard.press('Enter');
  await model.locator('vscode-button:focus-within', { hasText: 'Cancel self-test' }).waitFor();
  await workbench.page.keyboard.press('Enter');
  await model.getByText(/^Cancelled after \d+ steps?\.$/u).waitFor();
  await model.getByRole('button', { name: 'Self-test', exact: true }).waitFor();
  assert.equal(await workbench.notification(/cancel|fail|error/iu).count(), 0);
  await choose(workbench, 'qwen3', model);
  await modelPanel(workbench, 'qwen3');
});

scenario('a model too large for the machine says what it lacks, and what to change', async (workbench) => {
  const folder = await provideWide(workbench, 'huge', TOO_WIDE, TOO_MANY);
  await choose(workbench, 'Browse…');
  await answerDialog(workbench, folder);
  const model = await modelPanel(workbench, 'huge');
  await chooseOption(model, 'What is trained', 'Everything', { exact: true });
  await planText(model);
  await model.locator('figcaption').getByText('does not fit', { exact: true }).waitFor();
  await model.getByRole('note', { name: 'What to change' }).getByRole('listitem').first().waitFor();
  await workbench.screenshot('model-too-large');
  await chooseOption(model, 'What is trained', 'Adapter of rank 16', { exact: true });
  await choose(workbench, 'qwen3', model);
  await modelPanel(workbench, 'qwen3');
});

scenario('panel, settings and the list of folders come back after a reload', async (workbench) => {
  const before = await modelPanel(workbench, 'qwen3');
  await chooseOption(before, 'What is trained', 'Adapter of rank 64', { exact: true });
  await planText(before);
  await reloadWindow(workbench);
  const model = await modelPanel(workbench, 'qwen3');
  await eventually(
    'the rank that was chosen',
    async () =>
      (await model
        .getByRole('combobox', { name: 'What is trained' })
        .evaluate((element) => ('value' in element ? element.value : null))) === '64',
  );
  await planText(model);
  await choose(workbench, 'qwen3');
  await modelPanel(workbench, 'qwen3');
});

scenario(
  '"Use for the next run" writes a configuration once, asks before it touches one that was changed, and offers to start it',
  async (workbench) => {
    const model = await modelPanel(workbench, 'qwen3');
    const file = join(workbench.folder, 'qwen3.c3.yaml');
    await model.getByRole('button', { name: 'Use for the next run' }).click();
    await workbench.confirm('Write');
    await workbench.tab('qwen3.c3.yaml').waitFor();
    const config = readConfig(await readFile(file, 'utf8'), file);
    assert.deepEqual([config.model, config.adapter?.rank, config.device.provider], ['./models/qwen3', 64, 'cpu']);
    await workbench.answerNotification('qwen3.c3.yaml describes a run', 'Start run');
    await workbench.page
      .locator('.quick-input-widget:visible')
      .getByText('Length of the run')
      .or(workbench.page.getByPlaceholder('Length of the run'))
      .first()
      .waitFor();
    await workbench.page.keyboard.press('Escape');

    await writeFile(file, 'title: Mine\n');
    await workbench.tab('Model qwen3').click();
    await (await modelPanel(workbench, 'qwen3')).getByRole('button', { name: 'Use for the next run' }).click();
    await workbench.pick('Write qwen3-2.c3.yaml');
    await workbench.tab('qwen3-2.c3.yaml').waitFor();
    assert.equal(await readFile(file, 'utf8'), 'title: Mine\n');
    await workbench.runCommand('Notifications: Clear All Notifications');
    await workbench.tab('Model qwen3').click();
    await modelPanel(workbench, 'qwen3');
  },
);

scenario(
  'a folder whose weights are cut short says so in one sentence with the file, and another can be chosen',
  async (workbench) => {
    const broken = await provide(workbench, 'llama', 'broken');
    await truncate(join(broken, 'model.safetensors'), 20_000);
    await choose(workbench, 'Browse…');
    await answerDialog(workbench, broken);
    const model = await workbench.webview('Model broken');
    const alert = model.getByRole('alert').filter({ hasText: 'model.safetensors' });
    await alert.waitFor();
    assert.match(await alert.innerText(), /^[^\n]*broken\/model\.safetensors[^\n]*\.$/u);
    assert.equal(await model.getByRole('table').count(), 0);
    await workbench.screenshot('model-broken');
    await choose(workbench, 'qwen3', model);
    await modelPanel(workbench, 'qwen3');
  },
);

scenario(
  'a folder that vanished is listed as missing, is not chosen, and can be removed from the list',
  async (workbench) => {
    const folder = await provide(workbench, 'qwen2');
    await choose(workbench, 'Browse…');
    await answerDialog(workbench, folder);
    await modelPanel(workbench, 'qwen2');
    await rename(folder, `${folder}-away`);
    const entry = workbench.page
      .locator('.quick-input-widget:visible .monaco-list-row')
      .filter({ hasText: 'missing:' });
    await eventually(
      'the missing folder in the list',
      async () => {
        await workbench.runCommand(COMMAND);
        await entry.click({ timeout: 5_000 });
        return true;
      },
      120_000,
    );
    await workbench.page.getByPlaceholder(/qwen2 is missing: put it back/u).waitFor();
    await workbench.screenshot('model-missing');
    await entry.hover();
    await entry.getByRole('button', { name: 'Remove from this list' }).click();
    await entry.waitFor({ state: 'detached' });
    await workbench.page.keyboard.press('Escape');
    assert.equal(await workbench.tab('Model qwen2').count(), 1, 'the panel still shows the folder chosen before');
    assertQuiet(workbench);
  },
);

test('a folder that is not trusted is asked for no model', { timeout: 900_000 }, async () => {
  const workbench = await Workbench.open({ server: { askForTrust: true } });
  try {
    await workbench.statusBarItem('Restricted Mode').waitFor();
    const view = await workbench.openView('C3');
    await view.getByText('Runs require a trusted workspace').waitFor();
    assert.equal(await view.getByRole('button', { name: 'Choose model folder' }).count(), 0);
    await workbench.searchPalette('>C3: ', 'C3: Show log');
    const rows = workbench.page.locator('.quick-input-widget .monaco-list-row');
    assert.equal(await rows.filter({ hasText: COMMAND }).count(), 0);
  } catch (error) {
    await workbench.saveFailure('untrusted folder');
    throw error;
  } finally {
    await workbench.close();
  }
});
