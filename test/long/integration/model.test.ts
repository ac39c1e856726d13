/** A model's panel in every theme, and the self-test of a model that takes long. */
import { workbenchScenarios } from '../../integration/harness/workbench.ts';
import {
  answerDialog,
  assertCancelled,
  cancelByKeyboard,
  choose,
  modelPanel,
  provide,
  provideWide,
} from '../../integration/modelFolder.ts';
import { assertQuiet } from '../../integration/team.ts';

/** A width of feed-forward layers: about 90 million numbers in all take a while. */
const LARGE = 200_000;

const scenario = workbenchScenarios({ files: { 'notes.md': '# Notes\n' } });

scenario('a model that passed its self-test', async (workbench) => {
  const folder = await provide(workbench, 'qwen3');
  await choose(workbench, 'Browse…');
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
  await workbench.page.setViewportSize({ width: 1400, height: 900 });
  assertQuiet(workbench);
});

scenario('the self-test of a large model is cancelled while it is loaded', async (workbench) => {
  await workbench.closeAllEditors();
  const folder = await provideWide(workbench, 'large', LARGE);
  await choose(workbench, 'Browse…');
  await answerDialog(workbench, folder);
  const model = await modelPanel(workbench, 'large');
  await cancelByKeyboard(workbench, model);
  await assertCancelled(workbench, model);
});
