/** What the tests of the side bar read, and its filter of buckets. */

import type { Locator } from 'playwright-core';
import { openStoreForWriting } from '../../src/store/write/writer.ts';
import { headline, setHeadlines } from '../support/headlines.ts';
import { addRun, addTree, problem, LEDGER, METRICS, RUN } from '../unit/extension/storeFixture.ts';
import { eventually, type Workbench } from './harness/workbench.ts';
import { hasFocus, storeOf } from './team.ts';

/** Two runs: one with ten trees whose plans are worth more and more, one without anything. */
export function fill(workbench: Workbench): void {
  const writer = openStoreForWriting(storeOf(workbench.folder));
  addRun(writer);
  addRun(writer, 'empty', '2020-01-01T00:00:00.000Z');
  writer.updateRunStatus('empty', 'cancelled', '2020-01-02T00:00:00.000Z', null);
  writer.insertStep({ run: RUN, iteration: 1, snapshot: 'a'.repeat(64), ledger: LEDGER });
  for (let number = 0; number < 10; number++) {
    const trees = addTree(writer, {
      iteration: 1,
      problem: problem(number),
      returns: [
        [1, 1],
        [0, number % 2],
      ],
    });
    for (const [index, { plan }] of trees.entries()) {
      const value = (index === 0 ? 1 : -1) * (number / 10);
      setHeadlines(writer.path, [{ message: plan, credit: headline(value, { low: value - 0.2, high: value + 0.2 }) }]);
    }
  }
  writer.finishStep(RUN, 1, METRICS, LEDGER);
  writer.updateRunStatus(RUN, 'done', '2026-01-03T00:00:00.000Z', null);
  writer.close();
}

/** Ticks or unticks an entry of the list of filters that is open. */
export async function tick(workbench: Workbench, label: string): Promise<void> {
  const pick = workbench.page.locator('.quick-input-widget:visible');
  await pick.locator('.monaco-list-row').filter({ hasText: label }).first().click({ timeout: 10_000 });
}

/** Opens the list of filters with the plans alone ticked. */
export async function tickPlans(workbench: Workbench): Promise<void> {
  const pick = workbench.page.locator('.quick-input-widget:visible');
  await eventually('the list of filters', async () => {
    await workbench.runCommand('C3: Filter buckets');
    await tick(workbench, 'reasoner');
    await pick.getByText('Filter buckets: 10 of 30').waitFor({ timeout: 10_000 });
    return true;
  });
}

/** The section of the buckets, with its title. */
export function bucketsPane(workbench: Workbench): Locator {
  return workbench.page
    .locator('.part.sidebar .pane')
    .filter({ has: workbench.page.locator('.pane-header h3.title:text-is("Buckets")') });
}

/** What the rows of a view say, from above. */
export const rows = (view: Locator): Promise<string[]> =>
  view.getByRole('treeitem').evaluateAll((items) => items.map((item) => item.getAttribute('aria-label') ?? ''));

/** Makes the runs and shows the buckets of the first. */
export async function showBuckets(workbench: Workbench): Promise<Locator> {
  fill(workbench);
  await workbench.runCommand('C3: Refresh');
  const view = await workbench.openView('C3');
  await workbench.treeItem(view, `Run ${RUN}`).click();
  const buckets = await workbench.openView('C3', 'Buckets');
  await workbench.treeItem(buckets, 'reasoner +0.90').waitFor();
  return buckets;
}

/** Gives the keyboard back to a list once the transcript that was opened from it has taken it. */
export async function backTo(workbench: Workbench, list: Locator): Promise<void> {
  const transcript = await workbench.webview(/^Question 9/u);
  await eventually('the keyboard in the transcript', () => hasFocus(transcript.getByRole('tree')));
  await list.locator('.monaco-list').first().focus();
}
