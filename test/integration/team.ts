/** What the interface tests share: a tiny run and the command line that makes one. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Frame, FrameLocator, Locator } from 'playwright-core';
import { isRecord } from '../../src/shared/guard.ts';
import { openStoreForReading } from '../../src/store/read/reader.ts';
import type { StoreReader } from '../../src/store/types.ts';
import { eventually, type Workbench } from './harness/workbench.ts';

export { TINY } from '../support/recordings.ts';

const ROOT = join(import.meta.dirname, '..', '..');

/** Reloads the window as its user would, so that the editor saves what it keeps before it goes. */
export async function reloadWindow(workbench: Workbench): Promise<void> {
  const loaded = workbench.page.waitForEvent('load', { timeout: 300_000 });
  await workbench.runCommand('Developer: Reload Window');
  await loaded;
  await workbench.page.locator('.monaco-workbench .part.statusbar').waitFor({ timeout: 240_000 });
}

/** A panel's document, for what is evaluated in it: through the debugging protocol, past the page's content policy. */
export async function frameOf(panel: FrameLocator): Promise<Frame> {
  const frame = await (await panel.locator('body').elementHandle()).ownerFrame();
  assert.ok(frame);
  return frame;
}

/** No page of ours may do what its content policy forbids, nor throw. */
export function assertQuiet(workbench: Workbench): void {
  assert.deepEqual(
    workbench.console.filter((line) => /Content Security Policy|^uncaught:/u.test(line) && line.includes('c3-replay')),
    [],
  );
}

/** Where a workspace's store lies. */
export function storeOf(folder: string): string {
  return join(folder, '.c3', 'c3.sqlite');
}

/** Runs the command line on a workspace's store; what it printed as JSON. */
export async function c3(folder: string, ...args: readonly string[]): Promise<Readonly<Record<string, unknown>>> {
  const command = [join(ROOT, 'dist', 'cli.js'), ...args, '--store', storeOf(folder), '--json'];
  const { stdout } = await promisify(execFile)(process.execPath, command, { cwd: folder, maxBuffer: 1 << 26 });
  const parsed: unknown = JSON.parse(stdout);
  assert.ok(isRecord(parsed));
  return parsed;
}

/** For a list that a late focus may have closed: then it is opened again. */
const LIST_TIMEOUT = 15_000;

/**
 * Chooses an entry of a panel's dropdown, the first of several. The editor gives the keyboard back to what had it
 * before a command, at times only after the list was opened, and a list that loses the keyboard closes: it is then
 * opened again.
 */
export async function chooseOption(
  panel: FrameLocator,
  dropdown: string,
  option: string,
  { exact = false }: { readonly exact?: boolean } = {},
): Promise<void> {
  const list = panel.getByRole('combobox', { name: dropdown, exact: true });
  await eventually(`"${option}" to be chosen of "${dropdown}"`, async () => {
    if ((await list.getAttribute('aria-expanded')) !== 'true') {
      await list.click({ timeout: LIST_TIMEOUT });
    }
    await panel.getByRole('option', { name: option, exact }).first().click({ timeout: LIST_TIMEOUT });
    return true;
  });
}

/** The value of a panel's dropdown. */
export function chosenValue(panel: FrameLocator, dropdown: string): Promise<string> {
  return panel
    .getByRole('combobox', { name: dropdown, exact: true })
    .evaluate((element: HTMLSelectElement) => element.value);
}

/**
 * Checks a checkbox of the toolkit. The toolkit sets `aria-checked` in the next frame, which `check` of
 * Playwright does not wait for.
 */
export async function tick(box: Locator): Promise<void> {
  await box.click();
  await eventually('the checked box', async () => (await box.getAttribute('aria-checked')) === 'true');
}

/** What `work` reads in a workspace's store. */
export function reading<Result>(workbench: Workbench, work: (store: StoreReader) => Result): Result {
  const store = openStoreForReading(storeOf(workbench.folder));
  try {
    return work(store);
  } finally {
    store.close();
  }
}

/** Unfolds a row of the side bar where it is folded; a click on one that is unfolded would fold it. */
export async function unfold(row: Locator): Promise<void> {
  await eventually('the unfolded row', async () => {
    if ((await row.getAttribute('aria-expanded')) === 'true') {
      return true;
    }
    await row.click({ timeout: 5_000 });
    // Its children are loaded before it unfolds.
    await row.and(row.page().locator('[aria-expanded="true"]')).waitFor({ timeout: 20_000 });
    return true;
  });
}

/** The transcript of a question of the tiny run's first step: the tab that shows it, or else by way of the side bar. */
export async function transcriptOf(workbench: Workbench, question: string): Promise<FrameLocator> {
  const title = question.replaceAll(/\s+/gu, ' ').slice(0, 40);
  const tab = workbench.tab(title);
  if ((await tab.count()) > 0) {
    // Where its page has the keyboard already, a click takes it away and gives it back at once: the editor, which looks
    // every 250 ms where the keyboard is, then leaves it at times in the frame around the page.
    const front = (await tab.getAttribute('aria-selected')) === 'true';
    if (!front || !(await workbench.pageHasFocus())) {
      await tab.click();
    }
  } else {
    const view = await workbench.openView('C3');
    await unfold(workbench.treeItem(view, 'Tiny'));
    await unfold(workbench.treeItem(view, 'Step 1'));
    await workbench.treeItem(view, question.slice(0, 30)).click();
  }
  return workbench.webview(title);
}

/**
 * Opens the transcript of a problem by way of the episodes panel: at the clearest message, or at a lost episode.
 * @param search finds this problem alone
 * @param run a part of the run's title; the run that is shown where it is left out
 */
export async function openFromEpisodes(workbench: Workbench, search: string, run?: string): Promise<void> {
  await workbench.runCommand('C3: Open transcript');
  const panel = await workbench.webview('Episodes');
  if (run !== undefined) {
    await chooseOption(panel, 'Run', run);
  }
  const field = panel.getByRole('searchbox', { name: 'Search questions, messages and metadata' });
  await field.fill(search);
  await eventually(`one problem for "${search}"`, async () =>
    /^1 (?:of [\d,]+ )?problems?$/u.test(await panel.locator('.listed').innerText()),
  );
  await panel.locator('.canvas .row:not([aria-busy])').waitFor();
  await field.press('Enter');
  await panel.getByRole('grid').press('Enter');
}

/** Waits until the pane of a transcript shows the message that was chosen last. */
export async function paneReady(transcript: FrameLocator): Promise<void> {
  await transcript.locator('.detail:not([aria-busy="true"])').waitFor();
}

/** Chooses the first message of a role and waits until the pane shows it; the tree may be growing just then. */
export async function choose(transcript: FrameLocator, role: string): Promise<void> {
  await transcript.locator(`[role="treeitem"][aria-label^="${role} 1 of"]`).first().click();
  await paneReady(transcript);
  await transcript.getByRole('heading', { name: role }).waitFor();
}

/** Whether an element has the keyboard; the inner part of a control has it with its control. */
export function hasFocus(target: Locator): Promise<boolean> {
  return target.evaluate((element) => element.matches(':focus'), undefined, { timeout: 10_000 });
}

/** Presses Tab, or another key, until an element has the keyboard. */
export async function tabTo(workbench: Workbench, target: Locator, key = 'Tab'): Promise<void> {
  await target.waitFor();
  for (let presses = 0; presses < 60; presses++) {
    if (await hasFocus(target)) {
      return;
    }
    await workbench.page.keyboard.press(key);
  }
  assert.fail(`60 times ${key} did not reach ${String(target)}`);
}

/**
 * The question and the first plan of the first training episode; the run is made from `tiny.c3.yaml` where there is
 * none.
 */
export async function firstPlan(
  workbench: Workbench,
): Promise<{ readonly question: string; readonly message: number }> {
  const present = existsSync(storeOf(workbench.folder))
    ? reading(workbench, (store) => store.runs(0, 1)[0]?.id)
    : undefined;
  const run = present ?? String((await c3(workbench.folder, 'run', 'tiny.c3.yaml'))['run']);
  return reading(workbench, (store) => {
    const [episode] = store.episodes({ run, phase: 'train', iteration: 1, offset: 0, limit: 1 });
    assert.ok(episode);
    return { question: episode.question, message: store.chain(episode.leaf)[0]?.id ?? 0 };
  });
}

/** Opens the lane with the replays of the first message of a role; what the lane says. */
export async function openLane(transcript: FrameLocator, role: string): Promise<string> {
  const lane = transcript.locator(`[role="treeitem"].lane[aria-label*=" of ${role}:"]`).first();
  await lane.waitFor();
  const open = transcript.locator(`[role="treeitem"].lane[aria-expanded="true"][aria-label*=" of ${role}:"]`).first();
  // A row that moves while the button is down, as another lane unfolds above it, takes no click.
  await eventually('the open lane', async () => {
    if (!(await open.isVisible())) {
      await lane.click();
    }
    await open.waitFor({ timeout: 5_000 });
    return true;
  });
  return lane.innerText();
}

/**
 * Types a value in place of the line in a field that has the keyboard. Ctrl+A is a command of the editor, which selects
 * late where the machine is busy: what was typed by then would go.
 */
export async function retype(workbench: Workbench, value: string): Promise<void> {
  await workbench.page.keyboard.press('End');
  await workbench.page.keyboard.press('Shift+Home');
  await workbench.page.keyboard.type(value);
}
