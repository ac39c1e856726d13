/**
 * The episodes of a run of many problems: how soon they are there, sorted, found and scrolled to. The figures are
 * printed.
 */

import assert from 'node:assert/strict';
import type { FrameLocator } from 'playwright-core';
import { NO_PROBLEM_FILTER } from '../../src/domain/problem.ts';
import { listed } from './episodesPanel.ts';
import { eventually, type Workbench } from './harness/workbench.ts';
import { assertQuiet, chooseOption, frameOf, reading } from './team.ts';

/** The goal for the first rows; the machine of a test may be busy with other work. */
const FIRST_ROWS = 1_000;

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

/** @param problems of the run `many` in the store */
export function manyProblemScenarios(
  scenario: (name: string, body: (workbench: Workbench) => Promise<void>) => void,
  problems: number,
): void {
  const count = (value: number): string => value.toLocaleString('en');
  const words = `${count(problems)} problems`;
  /** One with credits. */
  const trained = 0.4 * problems;

  scenario(`the first rows of ${words} are there at once`, async (workbench) => {
    // The page of the panel shall begin with this run.
    await workbench.closeAllEditors();
    const view = await workbench.openView('C3');
    await workbench.treeItem(view, 'Run many').waitFor();
    const start = Date.now();
    await workbench.treeItem(view, 'Run many').click();
    const panel = await workbench.webview('Episodes');
    await panel.locator('.listed').getByText(words, { exact: true }).waitFor();
    const first = await eventually('the first rows', () =>
      evaluate<number | undefined>(
        panel,
        'performance.getEntriesByName("c3: first rows").map(({ startTime }) => performance.timeOrigin + startTime)[0]',
      ),
    );
    const origin = await evaluate<number>(panel, 'performance.timeOrigin');
    console.log(
      `first rows ${Math.round(first - start)} ms after the click; ${Math.round(first - origin)} ms after the panel's page began; goal ${FIRST_ROWS} ms`,
    );
    await atRest(panel);
    const rows = await panel.locator('.canvas > .row').count();
    assert.ok(rows < 120, `${rows} rows are drawn: only where they can be seen`);
    await workbench.screenshot('episodes-many');
  });

  scenario('sorted, searched and scrolled anywhere, no row in sight stays blank', async (workbench) => {
    const panel = await workbench.webview('Episodes');
    const timed = async (what: string, deed: () => Promise<void>): Promise<void> => {
      const start = performance.now();
      await deed();
      await atRest(panel);
      console.log(`${what}: ${Math.round(performance.now() - start)} ms`);
    };
    // The clearest problem is the first by question, too.
    const second = panel.locator('.canvas > .row[aria-rowindex="3"] .cell-question');
    const { expected, lost } = reading(workbench, (store) => {
      const sort = { column: 'question', descending: false } as const;
      const all = store.problemIds({ run: 'many', filter: NO_PROBLEM_FILTER, sort, classes: {} });
      const filter = { ...NO_PROBLEM_FILTER, outcome: 'lost' } as const;
      return {
        expected: store.problems(all.slice(1, 2))[0]?.question,
        lost: store.problemIds({ run: 'many', filter, sort, classes: {} }).length,
      };
    });
    assert.ok(lost > 100);
    await timed('sorted by question', async () => {
      await panel.getByRole('columnheader', { name: 'Question', exact: true }).getByRole('button').click();
      await eventually('the second question', async () => (await second.getAttribute('aria-label')) === expected);
    });
    const grid = panel.getByRole('grid');
    await timed('to the last row', async () => {
      await grid.press('End');
      await panel
        .locator(`.canvas > .row[aria-rowindex="${problems + 1}"][aria-selected="true"]:not([aria-busy])`)
        .waitFor();
    });
    for (const place of [0.5, 0.123, 0.87]) {
      await timed(`scrolled to ${100 * place} %`, () =>
        grid
          .evaluate((element, part) => {
            element.scrollTop = part * element.scrollHeight;
          }, place)
          .then(() => undefined),
      );
    }
    // Both searches find one problem: the count alone does not say which.
    const found = async (number: number): Promise<void> => {
      await panel.locator(`.canvas > .row .cell-question[aria-label^="Problem ${number}:"]`).waitFor();
      await panel.locator('.listed').getByText(`1 of ${words}`, { exact: true }).waitFor();
    };
    await timed('searched', async () => {
      await panel.getByRole('searchbox').fill(`uid:many-${problems - 1}`);
      await found(problems - 1);
    });
    await timed('searched in messages', async () => {
      await panel.getByRole('searchbox').fill(`message:"plan 1 of ${trained}"`);
      await found(trained);
    });
    await timed('filtered', async () => {
      await panel.getByRole('button', { name: 'Clear', exact: true }).click();
      await chooseOption(panel, 'Outcome', 'Lost', { exact: true });
      await listed(panel, `${count(lost)} of ${words}`);
    });
    assertQuiet(workbench);
  });
}
