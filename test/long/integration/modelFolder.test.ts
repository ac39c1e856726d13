/** Choosing a model folder: what it holds, what a run with it needs, and whether it works here. */

import assert from 'node:assert/strict';
import { readFile, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import type { FrameLocator, Locator } from 'playwright-core';
import { isRecord } from '../../../src/shared/guard.ts';
import { eventually, workbenchScenarios } from '../../integration/harness/workbench.ts';
import { answerDialog, choose, modelPanel, planText, provide, storedTensors } from '../../integration/modelFolder.ts';
import { assertQuiet, chooseOption } from '../../integration/team.ts';

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
    assertQuiet(workbench);
  },
);
