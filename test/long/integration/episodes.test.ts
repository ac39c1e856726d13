/** The episodes panel while lists come and go: what is searched, clicked and drawn anew. */

import assert from 'node:assert/strict';
import { utimes } from 'node:fs/promises';
import { CLEAREST_FIRST, NO_PROBLEM_FILTER } from '../../../src/domain/problem.ts';
import {
  allFindings,
  listed,
  openGrid,
  openPanel,
  row,
  rows,
  searchField,
  selected,
  withEpisodes,
} from '../../integration/episodesPanel.ts';
import { fillEpisodes } from '../../integration/episodesStore.ts';
import { eventually, workbenchScenarios } from '../../integration/harness/workbench.ts';
import { reading, storeOf } from '../../integration/team.ts';
import { RUN } from '../../unit/extension/storeFixture.ts';

const scenario = workbenchScenarios();

scenario('Enter right after a search opens what the search finds, not what was listed before', async (workbench) => {
  await withEpisodes(workbench, fillEpisodes);
  const view = await workbench.openView('C3');
  await workbench.treeItem(view, `Run ${RUN}`).click();
  await listed(await workbench.webview('Episodes'), '40 problems');
  for (const number of [21, 22]) {
    const field = searchField(await openPanel(workbench));
    await field.fill(`"Problem ${number}:"`);
    await field.press('Enter');
    await workbench.page.keyboard.press('Enter');
    await workbench.webview(new RegExp(`^Problem ${number}:`, 'u'));
  }
  const panel = await openPanel(workbench);
  await listed(panel, '1 of 40 problems');
  await searchField(panel).press('Escape');
  await listed(panel, '40 problems');
});

scenario(
  'words typed into the search are kept when the keyboard leaves it and a list comes before they were asked for',
  async (workbench) => {
    const panel = await openGrid(workbench);
    const field = searchField(panel);
    await field.evaluate((element) => {
      const input = element as HTMLInputElement;
      input.focus();
      input.value = 'question:"Problem 12:"';
      input.dispatchEvent(new Event('input'));
      input.blur();
      window.dispatchEvent(
        new MessageEvent('message', { data: { type: 'classes', classes: { state: 'none', reason: null, names: [] } } }),
      );
    });
    await listed(panel, '1 of 40 problems');
    assert.equal(await field.inputValue(), 'question:"Problem 12:"');
    await field.press('Escape');
    await listed(panel, '40 problems');
  },
);

scenario(
  'a list is counted when its rows are drawn, and a click on a row that it displaces selects the problem clicked',
  async (workbench) => {
    const panel = await openGrid(workbench);
    await row(panel, 1).click();
    await eventually('the first row', async () => (await selected(panel).getAttribute('aria-rowindex')) === '2');
    const clicked = await row(panel, 5).locator('.cell-question').getAttribute('aria-label');
    const { filled } = reading(workbench, (store) => store.problemFacets(RUN));
    // A layout of which the host knows nothing: its rows never come.
    const said = await panel.locator('.listed').evaluate(
      (element, layout) => {
        window.dispatchEvent(new MessageEvent('message', { data: { type: 'layout', layout } }));
        return element.textContent;
      },
      {
        revision: 1_000_000,
        rows: 2,
        // With the columns that there are: others would be drawn at once.
        facets: { total: 40, trained: 30, evaluated: 10, roles: [], filled },
        filter: NO_PROBLEM_FILTER,
        sort: CLEAREST_FIRST,
        active: null,
        top: null,
        of: null,
        milliseconds: 0,
      },
    );
    assert.equal(said, '40 problems');
    await row(panel, 5).click();
    await eventually(
      'the problem that was clicked',
      async () => (await selected(panel).locator('.cell-question').getAttribute('aria-label')) === clicked,
    );
    await listed(panel, '40 problems');
  },
);

scenario(
  'a change of the store that changes no run leaves the rows of the side bar as they are drawn',
  async (workbench) => {
    const view = await workbench.openView('C3');
    const buckets = await workbench.openView('C3', 'Buckets');
    await workbench.treeItem(view, 'Step 1').waitFor();
    await buckets.getByRole('treeitem').first().waitFor();
    // The editor makes the buttons of a row anew whenever it draws the row.
    const buttons = '.monaco-list-row .actions .action-label';
    const drawnBefore = `${buttons}[data-drawn="before"]`;
    for (const body of [view, buckets]) {
      await eventually('rows with buttons', async () => (await body.locator(buttons).count()) > 2);
    }
    // An earlier scenario may have changed runs just before.
    await eventually('the buckets alone to be drawn anew', async () => {
      for (const body of [view, buckets]) {
        await body.locator(buttons).evaluateAll((found) => {
          for (const element of found) {
            element.setAttribute('data-drawn', 'before');
          }
        });
      }
      const before = await view.locator(drawnBefore).count();
      const now = new Date();
      await utimes(storeOf(workbench.folder), now, now);
      await eventually('the buckets to be drawn anew', async () => (await buckets.locator(drawnBefore).count()) === 0);
      assert.equal(await view.locator(drawnBefore).count(), before);
      return true;
    });
  },
);

scenario('axe-core finds nothing serious', async (workbench) => {
  const panel = await openGrid(workbench);
  assert.equal((await allFindings(panel, 'dark')).join('\n'), '');
  await eventually('rows', async () => (await rows(panel).count()) > 10);
});
