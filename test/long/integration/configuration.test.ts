/**
 * A configuration in the editor, its plan and the walkthrough: pictures in every theme, wide and narrow; what it says
 * of its data and folders.
 */

import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  BROKEN,
  editorText,
  followLens,
  lens,
  methodsWithMeaning,
  problems,
  suggestion,
} from '../../integration/configurationEditor.ts';
import { eventually, workbenchScenarios, type Workbench } from '../../integration/harness/workbench.ts';
import { assertQuiet, TINY } from '../../integration/team.ts';

const SIZES = [
  [1280, 900],
  [800, 900],
] as const;

const scenario = workbenchScenarios({
  files: {
    'tiny.c3.yaml': TINY,
    'broken.c3.yaml': BROKEN,
    'empty.c3.yaml': '# Mine\n',
    'elsewhere.c3.yaml': 'model: models/away\ntask:\n  train_file: data/train.jsonl\n',
    'data/train.jsonl': '{"question": "1 + 1?", "answer": "2"}\n',
    'shared.c3.yaml': 'task:\n  train_file: data/train.jsonl\n  evaluation_file: data/held.jsonl\n',
    'data/held.jsonl': '{"question": "1 +  1?", "answer": "2"}\n',
    'models/mine/config.json': '{}',
  },
});

/** @param prepare what has to be done anew after the theme or the width has changed */
async function pictures(workbench: Workbench, name: string, prepare?: () => Promise<void>): Promise<void> {
  await workbench.pictures(name, ['light', 'highContrast', 'dark'], SIZES, prepare);
  await workbench.page.setViewportSize({ width: 1400, height: 900 });
}

scenario('the problems of a configuration in every theme', async (workbench) => {
  await workbench.openFile('broken.c3.yaml');
  await lens(workbench, '4 problems prevent this run from starting').waitFor();
  const rows = await problems(workbench);
  await rows.filter({ hasText: 'stepz: unknown key; did you mean steps?' }).waitFor();
  await pictures(workbench, 'configuration-problems');
  await workbench.closeAllEditors();
  await workbench.runCommand('View: Toggle Panel Visibility');
});

scenario('the suggestions of a configuration in every theme', async (workbench) => {
  await workbench.openFile('empty.c3.yaml');
  await lens(workbench, 'Start this run').waitFor();
  await workbench.page.locator('.editor-instance .view-line').first().click();
  await workbench.page.keyboard.press('Control+End');
  await workbench.page.keyboard.type('meth');
  await suggestion(workbench, 'method').waitFor();
  await workbench.page.keyboard.press('Enter');
  await suggestion(workbench, 'magrpo').waitFor();
  await pictures(workbench, 'configuration-suggestions', async () => {
    await workbench.page.keyboard.press('Escape');
    await methodsWithMeaning(workbench);
  });
  await workbench.closeAllEditors();
});

scenario('a plan in every theme', async (workbench) => {
  await workbench.openFile('tiny.c3.yaml');
  await lens(workbench, 'Start this run').waitFor();
  await followLens(workbench, 'Plan memory and budget');
  await workbench.tab('C3 plan of tiny').waitFor();
  await workbench.page
    .locator('.editor-instance .view-line')
    .filter({ hasText: 'Total: 2 steps and 2 evaluations' })
    .first()
    .waitFor();
  await pictures(workbench, 'configuration-plan');
  await workbench.closeAllEditors();
});

scenario('a path that is not there is said, and the folders that are there are suggested', async (workbench) => {
  await workbench.openFile('elsewhere.c3.yaml');
  // A missing model is a warning: it may come before the run is started.
  await lens(workbench, 'Start this run').waitFor();
  const rows = await problems(workbench);
  await rows.filter({ hasText: `There is no such folder: ${join(workbench.folder, 'models', 'away')}` }).waitFor();
  assert.equal(await rows.filter({ hasText: 'train.jsonl' }).count(), 0);
  await workbench.page.locator('.editor-instance .view-line').first().click();
  await workbench.page.keyboard.press('Control+Home');
  await workbench.page.keyboard.press('End');
  for (let letter = 0; letter < 'away'.length; letter++) {
    await workbench.page.keyboard.press('Backspace');
  }
  await workbench.page.keyboard.press('Control+Space');
  await suggestion(workbench, 'mine/').waitFor();
  await workbench.page.keyboard.press('Enter');
  await eventually('the chosen folder', async () => (await editorText(workbench)).includes('model: models/mine/'));
  await rows.filter({ hasText: 'There is no such folder' }).waitFor({ state: 'detached' });
  await workbench.page.keyboard.press('Escape');
  await workbench.runCommand('View: Toggle Panel Visibility');
  await workbench.closeAllEditors();
});

scenario(
  'questions on both sides are in the Problems panel until they are gone, and keep the run from starting',
  async (workbench) => {
    await workbench.openFile('shared.c3.yaml');
    await lens(workbench, '1 problem prevents this run from starting').waitFor();
    const rows = await problems(workbench);
    const row = rows.filter({ hasText: '1 of 1 evaluation questions are also trained on' }).first();
    await row.filter({ hasText: '[Ln 3, Col 20]' }).waitFor();
    await workbench.screenshot('configuration-overlap');
    await writeFile(join(workbench.folder, 'data', 'held.jsonl'), '{"question": "2 + 2?", "answer": "4"}\n');
    // Data files are looked at again when the configuration is saved.
    await workbench.page.locator('.editor-instance .view-line').first().click();
    await workbench.page.keyboard.press('Control+End');
    await workbench.page.keyboard.type('steps: 1');
    await workbench.page.keyboard.press('Escape');
    await workbench.page.keyboard.press('Control+S');
    await row.waitFor({ state: 'detached' });
    await lens(workbench, 'Start this run').waitFor();
    await workbench.runCommand('View: Toggle Panel Visibility');
    await workbench.closeAllEditors();
  },
);

scenario('the walkthrough leads from no run to a configuration; its page in every theme', async (workbench) => {
  await walkthrough(workbench);
  await pictures(workbench, 'walkthrough');
  assertQuiet(workbench);
});

/** Opens the walkthrough at a step, and presses the button of that step. */
async function walkthroughStep(workbench: Workbench, title: string, action: string): Promise<void> {
  const { page } = workbench;
  await eventually(
    `the step "${title}"`,
    async () => {
      // The page that is gone back to shows all walkthroughs.
      await openWalkthrough(workbench);
      const shown = page.locator('.getting-started-step').filter({ hasText: title });
      await shown.waitFor({ timeout: 5_000 });
      if ((await shown.getAttribute('aria-expanded')) !== 'true') {
        await shown.click({ timeout: 5_000 });
      }
      await page
        .locator('.getting-started-step.expanded')
        .getByRole('button', { name: action, exact: true })
        .click({ timeout: 5_000 });
      return true;
    },
    240_000,
  );
}

/** Opens the walkthrough. */
async function openWalkthrough(workbench: Workbench): Promise<void> {
  await workbench.runCommandAndPick('Welcome: Open Walkthrough...', 'Which message decided the outcome?');
}

/** Takes the steps of the walkthrough that need no program of the user's, and ends at its page. */
async function walkthrough(workbench: Workbench): Promise<void> {
  const { page } = workbench;
  const step = (title: string, action: string): Promise<void> => walkthroughStep(workbench, title, action);
  await workbench.closeAllEditors();
  await page.setViewportSize({ width: 1280, height: 900 });
  await step('Run the bundled team', 'Run the bundled team');
  await workbench.pick('Quick');
  await workbench.notification('The run ended').waitFor({ timeout: 180_000 });
  await workbench.runCommand('Notifications: Clear All Notifications');
  await step('Read a transcript', 'Open transcript');
  const episodes = await workbench.webview('Episodes');
  await episodes.locator('.canvas .row:not([aria-busy])').first().waitFor();
  await episodes.getByRole('grid').press('Enter');
  await (await workbench.webview(/^(?!Episodes)/u)).locator('[role="treeitem"][aria-selected="true"]').waitFor();
  await step('See what another message would have done', 'Replay alternatives');
  // Of the message that was read: nothing is asked.
  await (await workbench.webview(/./u)).getByText('Replayed alternatives').first().waitFor({ timeout: 120_000 });
  await step('See how the team fails', 'Inspect failure taxonomy');
  await (await workbench.webview('Failure taxonomy')).getByRole('heading', { name: 'Failure taxonomy' }).waitFor();
  await step('Write your own configuration', 'New configuration');
  await lens(workbench, 'Start this run').waitFor();
  await openWalkthrough(workbench);
  await eventually('six steps', async () => (await page.locator('.getting-started-step').count()) === 6);
  await page.setViewportSize({ width: 1400, height: 900 });
}
