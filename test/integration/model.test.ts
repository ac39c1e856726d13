/** Choosing a model folder: what it holds, what a run with it needs, whether it works here, and the way to a run. */
import assert from 'node:assert/strict';
import { readFile, rename, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { FrameLocator, Locator } from 'playwright-core';
import { isRecord } from '../../src/shared/guard.ts';
import { readConfig } from '../../src/training/config/readConfig.ts';
import { eventually, workbenchScenarios } from './harness/workbench.ts';
import {
  answerDialog,
  assertCancelled,
  cancelByKeyboard,
  choose,
  CHOOSE_MODEL,
  modelPanel,
  provide,
  provideWide,
  storedTensors,
} from './modelFolder.ts';
import { whileStill } from './outlives.ts';
import { assertQuiet, chooseOption, reloadWindow } from './team.ts';

/**
 * The widest that is read, in so many layers: 19 billion numbers, and to train them three times as many, fit no machine
 * that runs this test.
 */
const [TOO_WIDE, TOO_MANY] = [2 ** 18, 512];

const scenario = workbenchScenarios({ files: { 'notes.md': '# Notes\n' } });

function row(model: FrameLocator, table: string, name: string): Locator {
  return model
    .getByRole('table', { name: table })
    .getByRole('row')
    .filter({ has: model.getByRole('rowheader', { name, exact: true }) });
}

async function fact(model: FrameLocator, name: string): Promise<string> {
  return (await row(model, 'Model details', name).getByRole('cell').innerText()).trim();
}

/** The plan's numbers, once it is there and not being made anew. */
async function planText(model: FrameLocator): Promise<string> {
  await model.locator('.plan-body:not(.stale) table').waitFor();
  return model.getByRole('table', { name: 'Memory by item' }).innerText();
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
  await workbench.screenshot('model');
  assertQuiet(workbench);
});

scenario('a self-test is cancelled, and that is no failure', async (workbench) => {
  const model = await modelPanel(workbench, 'qwen3');
  await whileStill(workbench, () => cancelByKeyboard(workbench, model));
  await assertCancelled(workbench, model);
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
        await workbench.runCommand(CHOOSE_MODEL);
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
