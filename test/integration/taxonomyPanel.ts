/** A run of which every class of failure comes up, and the panel of its taxonomy. */

import assert from 'node:assert/strict';
import type { FrameLocator, Locator } from 'playwright-core';
import { openStoreForWriting, type StoreWriter } from '../../src/store/write/writer.ts';
import { addTree, problem } from '../unit/extension/storeFixture.ts';
import type { Workbench } from './harness/workbench.ts';
import { chooseOption, reading, storeOf } from './team.ts';

const SNAPSHOT = 'a'.repeat(64);
const HOSTILE = '<img src=x onerror=alert(1)> \u202eevil [x](command:c3.startRun)';
/**
 * Returns of the trees that are beside those of the real run: every class comes up, at several distances from its
 * threshold.
 */
const TREES = [
  [
    [0, 0, 0],
    [0, 0, 0],
  ],
  [
    [0, 1, 0],
    [0, 0, 1],
  ],
  [
    [1, 1, 1],
    [1, 1, 1],
  ],
  [
    [0, 0, 1],
    [1, 1, 1],
  ],
  [
    [0.5, 0.5, 0.5],
    [0.75, 0.75, 0.75],
  ],
  [
    [1, 0, 1],
    [0, 1, 1],
  ],
  [
    [1, 1, 1],
    [0, 0, 0],
  ],
  [
    [0.7, 0.7, 0.7],
    [0.98, 0.98, 0.98],
  ],
  [
    [null, null, 1],
    [null, null, null],
  ],
] as const;

let run = '';

/**
 * Adds known trees beside those of the recorded run, once.
 * @returns the run
 */
export function prepare(workbench: Workbench): string {
  if (run !== '') {
    return run;
  }
  run = reading(workbench, (store) => store.runs(0, 1)[0]?.id ?? assert.fail('no run'));
  withWriter(workbench, (writer) => {
    writer.insertSnapshot({ id: SNAPSHOT, run, iteration: 3, base: SNAPSHOT, file: null });
    for (const [index, returns] of TREES.entries()) {
      const words = (plan: number, actor: number | null): string =>
        `${actor === null ? 'plan' : 'answer'} ${index}.${plan}${index === 0 ? ` ${HOSTILE}` : ''}`;
      addTree(writer, { run, iteration: 3, problem: problem(index + 1), returns, words });
    }
  });
  return run;
}

function withWriter(workbench: Workbench, work: (writer: StoreWriter) => void): void {
  const writer = openStoreForWriting(storeOf(workbench.folder));
  try {
    work(writer);
  } finally {
    writer.close();
  }
}

export async function openTaxonomy(workbench: Workbench): Promise<FrameLocator> {
  prepare(workbench);
  const tab = workbench.tab('Failure taxonomy');
  if ((await tab.count()) > 0) {
    await tab.click();
  } else {
    await workbench.runCommand('C3: Inspect failure taxonomy');
  }
  const taxonomy = await workbench.webview('Failure taxonomy');
  await taxonomy.getByRole('heading', { name: 'Cases' }).waitFor();
  return taxonomy;
}

export async function caseOf(taxonomy: FrameLocator, question: string, role: string): Promise<Locator> {
  const item = taxonomy
    .locator('.cases > li')
    .filter({ hasText: question })
    .filter({ has: taxonomy.locator('.role', { hasText: role }) })
    .first();
  await item.waitFor();
  return item;
}

/** Chooses an entry of a dropdown of the panel. */
export async function choose(taxonomy: FrameLocator, chooser: string, choice: string): Promise<void> {
  await chooseOption(taxonomy, chooser, choice, { exact: true });
}
