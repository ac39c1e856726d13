/**
 * The episodes of a run of 100,000 problems: how soon they are there, sorted, found and scrolled to. The figures are
 * printed.
 */
import assert from 'node:assert/strict';
import type { FrameLocator } from 'playwright-core';
import { openStoreForWriting } from '../../src/store/write/writer.ts';
import { addManyProblems } from './episodesStore.ts';
import { eventually, workbenchScenarios, type Workbench } from './harness/workbench.ts';
import { assertQuiet, frameOf, reading, storeOf } from './team.ts';

const PROBLEMS = 100_000;
const WORDS = '100,000 problems';
/** The goal for the first rows; the machine of a test may be busy with other work. */
const FIRST_ROWS = 1_000;

const scenario = workbenchScenarios();

async function evaluate<T>(panel: FrameLocator, expression: string): Promise<T> {
  return (await frameOf(panel)).evaluate<T>(expression);
}

/** Rows in sight that are still on the way. */
const BLANK = `(() => {
  const grid = document.querySelector('.grid').getBoundingClientRect();
  const head = document.querySelector('.head-group').getBoundingClientRect();
  const rows = [...document.querySelectorAll('.canvas > .row')].filter((row) => { const at = row.getBoundingClientRect(); return at.bottom > head.bottom && at.top < grid.bottom; });
  const covered = rows.reduce((sum, row) => sum + Math.min(row.getBoundingClientRect().bottom, grid.bottom) - Math.max(row.getBoundingClientRect().top, head.bottom), 0);
  // A short list leaves room below its last row.
  const wanted = Math.min(grid.bottom - head.bottom, document.querySelector('.canvas').offsetHeight) - 24;
  return rows.filter((row) => row.hasAttribute('aria-busy')).length + (covered < wanted ? 1 : 0);
})()`;

async function atRest(panel: FrameLocator): Promise<number> {
  const start = performance.now();
  await eventually('every row in sight', async () => (await evaluate<number>(panel, BLANK)) === 0);
  return performance.now() - start;
}

async function openLarge(workbench: Workbench): Promise<FrameLocator> {
  return workbench.webview('Episodes');
}

scenario('the first rows of 100,000 problems are there at once', async (workbench) => {
  await workbench.openView('C3');
  const writer = openStoreForWriting(storeOf(workbench.folder));
  addManyProblems(writer, 'many', PROBLEMS);
  writer.updateRunStatus('many', 'done', '2026-01-03T00:00:00.000Z', null);
  writer.close();
  await workbench.runCommand('C3: Refresh');
  const view = await workbench.openView('C3');
  await workbench.treeItem(view, 'Run many').waitFor();
  const start = Date.now();
  await workbench.treeItem(view, 'Run many').click();
  const panel = await openLarge(workbench);
  await panel.locator('.listed').getByText(WORDS, { exact: true }).waitFor();
  const first = await eventually('the first rows', () =>
    evaluate<number | undefined>(
      panel,
      'performance.getEntriesByName("c3: first rows").map(({ startTime }) => performance.timeOrigin + startTime)[0]',
    ),
  );
  const origin = await evaluate<number>(panel, 'performance.timeOrigin');
  console.log(
    `first rows ${String(Math.round(first - start))} ms after the click; ${String(Math.round(first - origin))} ms after the panel's page began; goal ${String(FIRST_ROWS)} ms`,
  );
  await atRest(panel);
  const rows = await panel.locator('.canvas > .row').count();
  assert.ok(rows < 120, `${String(rows)} rows are drawn: only where they can be seen`);
  await workbench.screenshot('episodes-large');
});

scenario('sorted, searched and scrolled anywhere, no row in sight stays blank', async (workbench) => {
  const panel = await openLarge(workbench);
  const timed = async (what: string, deed: () => Promise<void>): Promise<void> => {
    const start = performance.now();
    await deed();
    await atRest(panel);
    console.log(`${what}: ${String(Math.round(performance.now() - start))} ms`);
  };
  // The clearest problem is the first by question, too.
  const second = panel.locator('.canvas > .row[aria-rowindex="3"] .cell-question');
  const expected = reading(workbench, (store) => {
    const filter = { outcome: 'all', verdict: 'all', split: 'all', role: null, className: null, search: '' } as const;
    return store.problems(
      store
        .problemIds({ run: 'many', filter, sort: { column: 'question', descending: false }, classes: {} })
        .slice(1, 2),
    )[0]?.question;
  });
  await timed('sorted by question', async () => {
    await panel.getByRole('columnheader', { name: 'Question', exact: true }).getByRole('button').click();
    await eventually('the second question', async () => (await second.getAttribute('aria-label')) === expected);
  });
  const grid = panel.getByRole('grid');
  await timed('to the last row', async () => {
    await grid.press('End');
    await panel
      .locator(`.canvas > .row[aria-rowindex="${String(PROBLEMS + 1)}"][aria-selected="true"]:not([aria-busy])`)
      .waitFor();
  });
  for (const place of [0.5, 0.123, 0.87]) {
    await timed(`scrolled to ${String(100 * place)} %`, () =>
      grid
        .evaluate((element, part) => {
          element.scrollTop = part * element.scrollHeight;
        }, place)
        .then(() => undefined),
    );
  }
  // Both searches find one problem: the count alone does not say which.
  const found = async (number: number): Promise<void> => {
    await panel.locator(`.canvas > .row .cell-question[aria-label^="Problem ${String(number)}:"]`).waitFor();
    await panel.locator('.listed').getByText(`1 of ${WORDS}`, { exact: true }).waitFor();
  };
  await timed('searched', async () => {
    await panel.getByRole('searchbox').fill('uid:many-99999');
    await found(99_999);
  });
  await timed('searched in messages', async () => {
    await panel.getByRole('searchbox').fill('message:"plan 1 of 40000"');
    await found(40_000);
  });
  await timed('filtered', async () => {
    await panel.getByRole('button', { name: 'Clear', exact: true }).click();
    await panel.getByRole('combobox', { name: 'Outcome' }).selectOption('lost');
    await eventually('the lost ones', async () =>
      /^\d{2,3},\d{3} of 100,000 problems$/u.test(await panel.locator('.listed').innerText()),
    );
  });
  assertQuiet(workbench);
});
