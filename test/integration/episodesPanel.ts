/** What the scenarios of the episodes panel share. */

import type { FrameLocator, Locator } from 'playwright-core';
import { openStoreForWriting, type StoreWriter } from '../../src/store/write/writer.ts';
import { findings } from './axe.ts';
import { eventually, type Workbench } from './harness/workbench.ts';
import { storeOf } from './team.ts';

/** The panel with its list as an earlier scenario left it. */
export async function openPanel(workbench: Workbench): Promise<FrameLocator> {
  const tab = workbench.tab('Episodes');
  if ((await tab.count()) > 0) {
    await tab.click();
  } else {
    await workbench.runCommand('C3: Open episodes');
  }
  const panel = await workbench.webview('Episodes');
  await panel.locator('.listed', { hasText: /problems?$/u }).waitFor();
  return panel;
}

/** The panel with all problems, whatever an earlier scenario searched or filtered. */
export async function openGrid(workbench: Workbench): Promise<FrameLocator> {
  const panel = await openPanel(workbench);
  const clear = panel.getByRole('button', { name: 'Clear', exact: true });
  // What is filtered by is drawn with the list.
  if (await clear.isVisible()) {
    await clear.click();
  }
  await panel.locator('.listed', { hasText: /^\d+ problems$/u }).waitFor();
  return panel;
}

export const rows = (panel: FrameLocator): Locator => panel.locator('.canvas > .row');
export const row = (panel: FrameLocator, place: number): Locator =>
  panel.locator(`.canvas > .row[aria-rowindex="${place + 1}"]`);
export const selected = (panel: FrameLocator): Locator => panel.locator('.canvas > .row[aria-selected="true"]');
export const heading = (panel: FrameLocator, name: string): Locator =>
  panel.getByRole('columnheader', { name, exact: true }).getByRole('button');
export const listed = (panel: FrameLocator, words: string): Promise<void> =>
  panel.locator('.listed').getByText(words, { exact: true }).waitFor();

/**
 * Clicks a run in the side bar until its episodes are listed. The editor loses a click on a row that it is
 * drawing anew ("Actual command not found").
 * @param words what the panel says of the number of problems
 */
export async function openEpisodesOf(workbench: Workbench, run: string, words: string): Promise<FrameLocator> {
  const view = await workbench.openView('C3');
  return await eventually(`the episodes of ${run}`, async () => {
    await workbench.treeItem(view, run).click();
    await workbench.tab('Episodes').waitFor({ timeout: 10_000 });
    const panel = await workbench.webview('Episodes');
    await panel.locator('.listed').getByText(words, { exact: true }).waitFor({ timeout: 10_000 });
    return panel;
  });
}

/** The field in which problems are searched. */
export function searchField(panel: FrameLocator): Locator {
  return panel.getByRole('searchbox', { name: 'Search questions, messages and metadata' });
}

/**
 * What axe-core finds, with the keyboard in the grid and elsewhere.
 * @param at said of what is found
 */
export async function allFindings(panel: FrameLocator, at: string): Promise<string[]> {
  const all: string[] = [];
  // A selected row has another background while the keyboard is elsewhere.
  for (const keyboard of ['grid', 'searchbox'] as const) {
    await panel.getByRole(keyboard).focus();
    const found = await findings(panel);
    all.push(...found.map(({ rule, places }) => `${at}, ${keyboard}: ${rule}\n  ${places.slice(0, 5).join('\n  ')}`));
  }
  return all;
}

/** Makes the store of a window; the window shows it. */
export async function withEpisodes(workbench: Workbench, fill: (writer: StoreWriter) => void): Promise<void> {
  await workbench.openView('C3');
  const writer = openStoreForWriting(storeOf(workbench.folder));
  try {
    fill(writer);
  } finally {
    writer.close();
  }
  await workbench.runCommand('C3: Refresh');
}
