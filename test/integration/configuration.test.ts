/** Writing a run's configuration in the editor: suggestions, hovers, problems and quick fixes. */

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readConfig } from '../../src/training/config/readConfig.ts';
import {
  BROKEN,
  editorText,
  followLens,
  hoverOver,
  lens,
  methodsWithMeaning,
  problems,
  suggestion,
} from './configurationEditor.ts';
import { eventually, workbenchScenarios, type Workbench } from './harness/workbench.ts';
import { assertQuiet, TINY } from './team.ts';

const inWindow = workbenchScenarios({
  files: { 'tiny.c3.yaml': TINY, 'broken.c3.yaml': BROKEN, 'empty.c3.yaml': '# Mine\n', 'plain.yaml': 'stepz: 3\n' },
});

/** A scenario that begins with no editor open. */
function scenario(name: string, body: (workbench: Workbench) => Promise<void>): void {
  inWindow(name, async (workbench) => {
    await workbench.closeAllEditors();
    await body(workbench);
  });
}

scenario(
  'all problems of a configuration are in the Problems panel, each at its line and column, and quick fixes correct the keys',
  async (workbench) => {
    await workbench.openFile('broken.c3.yaml');
    await lens(workbench, '4 problems prevent this run from starting').waitFor();
    const rows = await problems(workbench);
    for (const [words, place] of [
      ['stepz: unknown key; did you mean steps?', '[Ln 2, Col 1]'],
      ['ppo.lerning_rate: unknown key; did you mean learning_rate?', '[Ln 4, Col 3]'],
      ['method: did you mean magrpo?', '[Ln 5, Col 9]'],
      [
        'learning_rate: unknown key here; write it as ppo: learning_rate or value_head: learning_rate.',
        '[Ln 6, Col 1]',
      ],
    ] as const) {
      await rows.filter({ hasText: words }).filter({ hasText: place }).first().waitFor();
    }
    await workbench.screenshot('configuration-problems');
    // By keyboard: from the line above the file to the first problem, then the fix that is offered there.
    await followLens(workbench, '4 problems');
    await eventually('the first quick fix', async () => {
      await workbench.page.keyboard.press('Escape');
      await workbench.page.keyboard.press('Control+.');
      await workbench.page
        .locator('.action-widget .monaco-list-row', { hasText: 'Change to steps' })
        .waitFor({ timeout: 3_000 });
      return true;
    });
    await workbench.screenshot('configuration-fix');
    await workbench.page.keyboard.press('Enter');
    await eventually('the mended key', async () => (await editorText(workbench)).includes('\nsteps: 3\n'));
    await lens(workbench, '3 problems prevent this run from starting').waitFor();
    await workbench.closeAllEditors();
    await rows.filter({ hasText: 'stepz' }).waitFor({ state: 'detached' });
    await workbench.runCommand('View: Toggle Panel Visibility');
  },
);

scenario(
  'keys, names and values are suggested with their meaning, and by keyboard alone a configuration is written',
  async (workbench) => {
    await workbench.openFile('empty.c3.yaml');
    await lens(workbench, 'Start this run').waitFor();
    await workbench.page.locator('.editor-instance .view-line').first().click();
    const { keyboard } = workbench.page;
    await keyboard.press('Control+End');
    await keyboard.type('meth');
    await suggestion(workbench, 'method').waitFor();
    await keyboard.press('Enter');
    // The names of the value are offered at once.
    await suggestion(workbench, 'magrpo').waitFor();
    await methodsWithMeaning(workbench);
    await workbench.screenshot('configuration-suggestions');
    await keyboard.press('Escape');
    await keyboard.type('mag');
    await suggestion(workbench, 'magrpo').waitFor();
    await keyboard.press('Enter');
    await keyboard.press('Enter');
    await keyboard.type('samp');
    await suggestion(workbench, 'sampling').waitFor();
    await keyboard.press('Enter');
    await keyboard.type('temp');
    await suggestion(workbench, 'temperature').waitFor();
    await keyboard.press('Enter');
    await keyboard.type('0.5');
    await keyboard.press('Escape');
    await keyboard.press('Control+s');
    const file = join(workbench.folder, 'empty.c3.yaml');
    const text = await eventually('the saved file', async () => {
      const saved = await readFile(file, 'utf8');
      return saved.includes('temperature') && saved;
    });
    assert.equal(text, '# Mine\nmethod: magrpo\nsampling:\n  temperature: 0.5');
    assert.deepEqual([readConfig(text, file).method, readConfig(text, file).sampling.temperature], ['magrpo', 0.5]);
  },
);

scenario('resting on a key says what it means, its bounds and its default', async (workbench) => {
  await workbench.openFile('tiny.c3.yaml');
  await lens(workbench, 'Start this run').waitFor();
  await eventually('keys and values in the colours of YAML', async () => {
    const colours = await workbench.page
      .locator('.editor-instance .view-line')
      .filter({ hasText: 'steps' })
      .first()
      .locator('span span')
      .evaluateAll((spans) => spans.map((span) => getComputedStyle(span).color));
    return new Set(colours).size > 1;
  });
  await hoverOver(
    workbench,
    /^evaluator_budget$/u,
    /at most this many evaluator calls per problem.*Whole number, above 0\. Default: 8\./su,
  );
  await workbench.screenshot('configuration-hover');
  await workbench.page.keyboard.press('Escape');
});

scenario('a YAML file that is no configuration is left alone', async (workbench) => {
  await workbench.openFile('plain.yaml');
  await workbench.statusBarItem('YAML').waitFor();
  assert.equal(await lens(workbench, 'Start this run').count(), 0);
  assert.equal(await workbench.page.locator('.editor-instance .squiggly-error').count(), 0);
  assertQuiet(workbench);
});
