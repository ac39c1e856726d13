/** Two runs of several, chosen in the runs table. */

import assert from 'node:assert/strict';
import type { Locator } from 'playwright-core';
import { findings } from './axe.ts';
import { eventually, type Workbench } from './harness/workbench.ts';
import { frameOf } from './team.ts';

/** Opens the table of the runs that are compared, searches, sorts, and ticks the two that were found. */
export async function chooseTwoRuns(workbench: Workbench): Promise<void> {
  await workbench.runCommand('C3: Open runs table');
  const table = await workbench.webview('Runs table');
  await table.getByText(/^5 runs, \d+ settings differ$/u).waitFor();
  const head = (name: string): Locator => table.getByRole('columnheader', { name, exact: true });
  await head('learning_rate').waitFor();
  assert.equal(await head('sampling.temperature').count(), 1, 'set in two runs of five');
  await table.getByRole('searchbox').fill('rate');
  await table.getByText(/^2 of 5 runs/u).waitFor();
  await head('Accuracy after').getByRole('button').click();
  const titles = (): Promise<string[]> => table.locator('tbody .column-title').allInnerTexts();
  await eventually('the more accurate first', async () => (await titles())[0]?.startsWith('A high rate <img') ?? false);
  await head('Accuracy after').getByRole('button').click();
  await eventually('the less accurate first', async () => (await titles())[0] === 'A low rate');
  await table.getByRole('checkbox', { name: 'Compare A low rate' }).check();
  await table.getByRole('checkbox', { name: /^Compare A high rate/u }).press(' ');
  await table.getByText('2 selected', { exact: true }).waitFor();
  await workbench.screenshot('runs-table');
  assert.deepEqual(await findings(table), []);
  const frame = await frameOf(table);
  assert.equal(await frame.evaluate('document.querySelectorAll("#app :is(img, script, a[href], iframe)").length'), 0);
}
