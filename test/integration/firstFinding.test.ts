/**
 * From the walkthrough, in a folder in which nothing has run yet, to the message that lost an episode: counted in
 * actions.
 */

import assert from 'node:assert/strict';
import { eventually, workbenchScenarios } from './harness/workbench.ts';
import { assertQuiet, chooseOption } from './team.ts';

const MOST_ACTIONS = 10;
const ROW = '[role="treeitem"]';

const scenario = workbenchScenarios();

scenario(
  'a new user comes from the walkthrough to the message that lost an episode in at most ten actions',
  async (workbench) => {
    const { page } = workbench;
    let actions = 0;
    const act = async (deed: () => Promise<void>): Promise<void> => {
      await deed();
      actions++;
    };
    const view = await workbench.openView('C3');
    await workbench.screenshot('first-welcome');
    await act(() => view.locator('a', { hasText: 'Six steps' }).click());
    await page.locator('.getting-started-step').filter({ hasText: 'Read a transcript' }).waitFor();
    await workbench.screenshot('first-walkthrough');
    await act(() =>
      page
        .locator('.getting-started-step.expanded')
        .getByRole('button', { name: 'Run the bundled team', exact: true })
        .click(),
    );
    await act(() => workbench.pick('Quick'));
    await workbench.treeItem(view, 'Bundled team').waitFor();
    await eventually(
      'a finished step',
      async () =>
        (await workbench.treeItem(view, 'Bundled team').innerText()).includes('1 of 3') ||
        (await workbench.treeItem(view, 'Bundled team').innerText()).includes('3 of 3'),
      180_000,
    );
    await act(() => page.locator('.getting-started-step').filter({ hasText: 'Read a transcript' }).click());
    await act(() =>
      page
        .locator('.getting-started-step.expanded')
        .getByRole('button', { name: 'Open transcript', exact: true })
        .click(),
    );
    const episodes = await workbench.webview('Episodes');
    await episodes.locator('.canvas .row:not([aria-busy])').first().waitFor();
    await workbench.screenshot('first-episodes');
    // Nothing is decided after so few returns: the clearest of the problems that were lost comes first.
    await act(() => chooseOption(episodes, 'Outcome', 'Won in part', { exact: true }));
    await eventually('the problems that were lost and won', async () =>
      / of /u.test(await episodes.locator('.listed').innerText()),
    );
    // The run continues meanwhile: what is selected stays selected, wherever it is.
    const [question = '', clearest = ''] = await episodes
      .locator('.canvas .row[aria-selected="true"]:not([aria-busy])')
      .evaluate((row) =>
        ['.cell-question', '.cell-credit'].map((cell) => row.querySelector(cell)?.getAttribute('aria-label') ?? ''),
      );
    const credit = /credit [−+]\d\.\d\d/u.exec(clearest)?.[0] ?? '';
    assert.ok(credit !== '' && !/0\.00/u.test(credit), clearest);
    await act(() => episodes.getByRole('grid').press('Enter'));
    const transcript = await workbench.webview(
      new RegExp(`^${question.slice(0, 20).replaceAll(/[.*+?^${}()|[\]\\]/gu, '\\$&')}`, 'u'),
    );
    const row = transcript.locator(`${ROW}[aria-selected="true"]`);
    await row.waitFor();
    await eventually(
      `the message with ${credit}`,
      async () => (await row.getAttribute('aria-label'))?.includes(credit) ?? false,
    );
    await workbench.screenshot('first-finding');
    assert.ok(actions <= MOST_ACTIONS, `${actions} actions`);
    assertQuiet(workbench);
  },
);
