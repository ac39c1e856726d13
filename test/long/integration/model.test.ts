/** A model's panel in every theme, from a folder to a run, and self-tests that are cancelled. */

import assert from 'node:assert/strict';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { FrameLocator } from 'playwright-core';
import { readConfig } from '../../../src/training/config/readConfig.ts';
import { eventually, workbenchScenarios, type Workbench } from '../../integration/harness/workbench.ts';
import {
  answerDialog,
  choose,
  CHOOSE_MODEL,
  modelPanel,
  planText,
  provide,
  provideWide,
} from '../../integration/modelFolder.ts';
import { whileStill } from '../../integration/outlives.ts';
import { assertQuiet, chooseOption, reloadWindow } from '../../integration/team.ts';

/** A width of feed-forward layers: about 90 million numbers in all take a while. */
const LARGE = 200_000;

/** The widest model that is read, and its layers. Its 19 billion parameters do not fit into a test machine. */
const [TOO_WIDE, TOO_MANY] = [2 ** 18, 512];

const scenario = workbenchScenarios({ files: { 'notes.md': '# Notes\n' } });

scenario('a model that passed its self-test', async (workbench) => {
  const folder = await provide(workbench, 'qwen3');
  // No folder is listed before one was chosen.
  await (await workbench.openView('C3')).getByRole('button', { name: 'Choose model folder' }).click();
  await answerDialog(workbench, folder);
  const model = await modelPanel(workbench, 'qwen3');
  await model.getByRole('button', { name: 'Self-test', exact: true }).click();
  await model.getByText(/^All \d+ steps passed in/u).waitFor({ timeout: 120_000 });
  await workbench.pictures(
    'model',
    ['light', 'highContrast', 'dark'],
    [
      [1280, 900],
      [800, 900],
    ],
  );
  // In a low window the page is several times as tall: its head stays in sight to the end.
  await workbench.page.setViewportSize({ width: 800, height: 500 });
  const head = await eventually('the page to scroll to its end', () =>
    model.locator('.panel-head').evaluate((element) => {
      window.scrollTo(0, document.documentElement.scrollHeight);
      return window.scrollY > window.innerHeight ? element.getBoundingClientRect().top : undefined;
    }),
  );
  assert.ok(head >= 0, `the head is ${head} pixels from the top`);
  await workbench.page.setViewportSize({ width: 1400, height: 900 });
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

scenario('the self-test of a large model is cancelled while it is loaded', async (workbench) => {
  await workbench.closeAllEditors();
  const folder = await provideWide(workbench, 'large', LARGE);
  await choose(workbench, 'Browse…');
  await answerDialog(workbench, folder);
  const model = await modelPanel(workbench, 'large');
  await cancelByKeyboard(workbench, model);
  await assertCancelled(workbench, model);
});

/** Begins the self-test, and cancels it before it has ended. */
async function cancelByKeyboard(workbench: Workbench, model: FrameLocator): Promise<void> {
  await model.getByRole('button', { name: 'Self-test', exact: true }).focus();
  await workbench.page.keyboard.press('Enter');
  await model.locator('vscode-button:focus-within', { hasText: 'Cancel self-test' }).waitFor();
  await workbench.page.keyboard.press('Enter');
}

/** A self-test was cancelled, and that is no failure. */
async function assertCancelled(workbench: Workbench, model: FrameLocator): Promise<void> {
  await model.getByText(/^Cancelled after \d+ steps?\.$/u).waitFor();
  await model.getByRole('button', { name: 'Self-test', exact: true }).waitFor();
  assert.equal(await workbench.notification(/cancel|fail|error/iu).count(), 0);
}
