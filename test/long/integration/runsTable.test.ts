/** Several runs: what the runs table and the episodes panel keep over a reload. */

import { listed, openGrid, row, searchField, selected, withEpisodes } from '../../integration/episodesPanel.ts';
import { addComparedRuns, addManyProblems, fillEpisodes } from '../../integration/episodesStore.ts';
import { eventually, workbenchScenarios } from '../../integration/harness/workbench.ts';
import { chooseTwoRuns } from '../../integration/runsTable.ts';
import { assertQuiet, chooseOption, chosenValue, hasFocus, reloadWindow } from '../../integration/team.ts';
import { RUN } from '../../unit/extension/storeFixture.ts';

const PROBLEMS = 2000;

const scenario = workbenchScenarios();

scenario(
  'over a reload the episodes keep filters, a search, a saved filter and the selected row, and the runs table what was chosen',
  async (workbench) => {
    await withEpisodes(workbench, (writer) => {
      fillEpisodes(writer);
      addComparedRuns(writer);
      addManyProblems(writer, 'many', PROBLEMS);
      writer.updateRunStatus('many', 'done', '2026-01-03T00:00:00.000Z', null);
    });
    const view = await workbench.openView('C3');
    await workbench.treeItem(view, `Run ${RUN}`).click();
    await workbench.webview('Episodes');
    const panel = await openGrid(workbench);
    await chooseOption(panel, 'Split', 'Evaluation');
    await listed(panel, '10 of 40 problems');
    await chooseOption(panel, 'Outcome', 'Changed', { exact: true });
    await eventually('those whose outcome changed', async () =>
      /^[1-9] of 40/u.test(await panel.locator('.listed').innerText()),
    );
    await panel.getByRole('button', { name: 'Clear', exact: true }).click();
    await listed(panel, '40 problems');
    await chooseOption(panel, 'Verdict of the clearest credit', 'Hurt', { exact: true });
    await panel.getByRole('grid').press('/');
    const field = searchField(panel);
    await field.fill('source:even hens');
    await eventually('the problems found', async () =>
      /^[1-4] of 40 problems$/u.test(await panel.locator('.listed').innerText()),
    );
    await field.press('Enter');
    await eventually('the keyboard in the grid', () => hasFocus(panel.getByRole('grid')));
    await panel.getByRole('button', { name: 'Save', exact: true }).click();
    await workbench.answer('Hurt hens');
    await eventually('the saved filter', async () => (await chosenValue(panel, 'Saved filters')) === 'Hurt hens');
    await panel.getByRole('button', { name: 'Clear', exact: true }).click();
    await listed(panel, '40 problems');
    await chooseOption(panel, 'Saved filters', 'Hurt hens', { exact: true });
    await eventually('the search of the saved filter', async () => (await field.inputValue()) === 'source:even hens');
    await eventually('the problems of the saved filter', async () =>
      /^[1-4] of 40 problems$/u.test(await panel.locator('.listed').innerText()),
    );
    await row(panel, 2).click();
    // The place is kept as the row is drawn as selected.
    await eventually('the second row', async () => (await selected(panel).getAttribute('aria-rowindex')) === '3');
    const before = await row(panel, 2).locator('.cell-question').getAttribute('aria-label');
    const words = await panel.locator('.listed').innerText();
    await chooseTwoRuns(workbench);
    await reloadWindow(workbench);
    let tableAgain = await workbench.webview('Runs table');
    await tableAgain.getByText('2 selected', { exact: true }).waitFor();
    await eventually('its search', async () => (await tableAgain.getByRole('searchbox').inputValue()) === 'rate');
    await workbench.tab('Episodes').click();
    const again = await workbench.webview('Episodes');
    await listed(again, words);
    await eventually(
      'the row that was selected',
      async () => (await selected(again).locator('.cell-question').getAttribute('aria-label')) === before,
    );
    await workbench.page.keyboard.press('Escape');
    await again.getByRole('button', { name: 'Delete', exact: true }).click();
    await eventually(
      'no saved filter',
      async () => !(await again.getByRole('combobox', { name: 'Saved filters' }).isVisible()),
    );
    await again.getByRole('button', { name: 'Clear', exact: true }).click();
    await listed(again, '40 problems');
    // Words of messages lead to their problems, too.
    await again.getByRole('searchbox').fill('message:"plan 0 of 11"');
    await listed(again, '1 of 40 problems');
    await again.getByRole('button', { name: 'Clear', exact: true }).click();
    await listed(again, '40 problems');
    await workbench.tab('Runs table').click();
    tableAgain = await workbench.webview('Runs table');
    await tableAgain.getByRole('button', { name: 'Compare in dashboard' }).click();
    const dashboard = await workbench.webview('Run dashboard');
    await dashboard.getByRole('list', { name: 'Runs in the charts' }).getByText('A high rate').waitFor();
    await workbench.tab('Runs table').click();
    const shown = await workbench.webview('Runs table');
    await shown
      .getByRole('button', { name: 'Open the episodes of A low rate' })
      .or(shown.getByText('A low rate', { exact: true }))
      .first()
      .click();
    await (await workbench.webview('Episodes')).getByText('The run has no episodes yet.').waitFor();
    assertQuiet(workbench);
  },
);
