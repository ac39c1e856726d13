/** From a configuration to a run: its plan, and a template that is started. */

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readConfig } from '../../src/training/config/readConfig.ts';
import { followLens, lens } from './configurationEditor.ts';
import { workbenchScenarios } from './harness/workbench.ts';
import { assertQuiet, TINY } from './team.ts';

const scenario = workbenchScenarios({ files: { 'tiny.c3.yaml': TINY } });

scenario('the plan opens beside the configuration, of what is in the editor', async (workbench) => {
  await workbench.openFile('tiny.c3.yaml');
  await workbench.page.locator('.editor-instance .view-line').first().click();
  await workbench.page.keyboard.press('Control+End');
  await workbench.page.keyboard.type('checkpoint_every: 3');
  await workbench.page.keyboard.press('Escape');
  await followLens(workbench, 'Plan memory and budget');
  await workbench.tab('C3 plan of tiny').waitFor();
  const plan = workbench.page
    .locator('.editor-instance .view-line')
    .filter({ hasText: 'Total: 2 steps and 2 evaluations' })
    .first();
  await plan.waitFor();
  assert.doesNotMatch(
    await readFile(join(workbench.folder, 'tiny.c3.yaml'), 'utf8'),
    /checkpoint_every/u,
    'it is planned as it is in the editor, and saved by nobody else',
  );
  await workbench.screenshot('configuration-plan');
});

scenario(
  'a new configuration is a template that can be started, from nothing to the end of its run',
  async (workbench) => {
    await workbench.closeAllEditors();
    await workbench.runCommand('C3: New configuration');
    await workbench.tab('run.c3.yaml').waitFor();
    await lens(workbench, 'Start this run').waitFor();
    await workbench.screenshot('configuration-template');
    await followLens(workbench, 'Start this run');
    await workbench.pick('Quick');
    await lens(workbench, 'Queue this run').waitFor();
    const file = join(workbench.folder, 'run.c3.yaml');
    assert.equal(readConfig(await readFile(file, 'utf8'), file).title, 'My run');
    await workbench.runCommand('C3: Cancel run');
    await lens(workbench, 'Start this run').waitFor();
    await workbench.runCommand('C3: New configuration');
    await workbench.tab('run-2.c3.yaml').waitFor();
    assertQuiet(workbench);
  },
);
