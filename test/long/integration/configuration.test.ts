/** A configuration in the editor, its plan and the walkthrough: pictures in every theme, wide and narrow. */
import {
  BROKEN,
  followLens,
  lens,
  methodsWithMeaning,
  problems,
  suggestion,
  walkthrough,
} from '../../integration/configurationEditor.ts';
import { workbenchScenarios, type Workbench } from '../../integration/harness/workbench.ts';
import { assertQuiet, TINY } from '../../integration/team.ts';

const SIZES = [
  [1280, 900],
  [800, 900],
] as const;

const scenario = workbenchScenarios({
  files: { 'tiny.c3.yaml': TINY, 'broken.c3.yaml': BROKEN, 'empty.c3.yaml': '# Mine\n' },
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

scenario('the walkthrough leads from no run to a configuration; its page in every theme', async (workbench) => {
  await walkthrough(workbench, true);
  await pictures(workbench, 'walkthrough');
  assertQuiet(workbench);
});
