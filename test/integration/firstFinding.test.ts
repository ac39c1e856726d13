/** From the walkthrough, in a folder in which nothing has run yet, to the message that lost an episode: counted in actions. */
import assert from 'node:assert/strict';
import { eventually, workbenchScenarios } from './harness/workbench.ts';
import { assertQuiet, reading } from './team.ts';

const MOST_ACTIONS = 10;
const ROW = '[role="treeitem"]';

const scenario = workbenchScenarios();

scenario('a new user comes from the walkthrough to the message that lost an episode in at most ten actions', async (workbench) => {
  const { page } = workbench;
  let actions = 0;
  const act = async (deed: () => Promise<void>): Promise<void> => {
    await deed();
    actions++;
  };
  const view = await workbench.openView('C3');
  await workbench.screenshot('first-welcome');
  await act(() => view.locator('a', { hasText: 'Five steps' }).click());
  await page.locator('.getting-started-step').filter({ hasText: 'Read a transcript' }).waitFor();
  await workbench.screenshot('first-walkthrough');
  await act(() => page.locator('.getting-started-step.expanded').getByRole('button', { name: 'Run the bundled team', exact: true }).click());
  await act(() => workbench.pick('Quick'));
  await workbench.treeItem(view, 'Bundled team').waitFor();
  await eventually('a finished step', async () => (await workbench.treeItem(view, 'Bundled team').innerText()).includes('1 of 3') || (await workbench.treeItem(view, 'Bundled team').innerText()).includes('3 of 3'), 180_000);
  await act(() => page.locator('.getting-started-step').filter({ hasText: 'Read a transcript' }).click());
  await act(() => page.locator('.getting-started-step.expanded').getByRole('button', { name: 'Open transcript', exact: true }).click());
  await act(() => workbench.pick('Step 1'));
  await page.locator('.quick-input-widget:visible').getByPlaceholder('Which episode?').waitFor();
  await workbench.screenshot('first-episodes');
  await act(() => page.keyboard.press('Enter'));

  const { message, question } = reading(workbench, (store) => {
    const run = store.runs(0, 1)[0]?.id ?? '';
    const episodes = store.episodes({ run, phase: 'train', iteration: 1, offset: 0, limit: 10_000 });
    const lost = episodes.find(({ instance, return: value }) => value === 0 && episodes.some((other) => other.instance === instance && other.return === 1));
    assert.ok(lost, 'the first step lost an episode of a problem that it also solved');
    const found = store.costliestThrough(lost.leaf);
    assert.ok(found !== null && found.value < 0, JSON.stringify(found));
    return { message: found, question: lost.question };
  });
  const transcript = await workbench.webview(new RegExp(`^${question.slice(0, 20)}`, 'u'));
  const row = transcript.locator(`${ROW}[aria-selected="true"]`);
  await row.waitFor();
  await eventually('the lowest-credit message', async () => (await row.getAttribute('aria-label'))?.includes(`credit −${Math.abs(message.value).toFixed(2)}`) ?? false);
  await workbench.screenshot('first-finding');
  assert.ok(actions <= MOST_ACTIONS, `${String(actions)} actions`);
  assertQuiet(workbench);
});
