/** Lost episodes beside those of a recorded run, and how far each is decided. */

import type { FrameLocator } from 'playwright-core';
import type { Message } from '../../src/domain/message.ts';
import { openStoreForReading } from '../../src/store/read/reader.ts';
import { openStoreForWriting } from '../../src/store/write/writer.ts';
import { UNIT_RULE } from '../support/headlines.ts';
import { addComparison, addTree, problem, LEDGER, METRICS } from '../unit/extension/storeFixture.ts';
import type { Workbench } from './harness/workbench.ts';
import { openFromEpisodes, reading, storeOf } from './team.ts';

/** What was said, lost, and what most others said. */
const LOST = 'The total is 10*4-10 = 30 <b>x</b>';
const WON = 'The total is 10*4+10 = 50 <b>x</b>';

/** Beginnings of the questions: decided by many replays, with few, and without any. */
export const LOST_QUESTIONS = { decided: 'Question 40', undecided: 'Question 41', never: 'Question 42' } as const;

/** Adds three lost episodes, as a third step of the newest run of a folder's store. */
export function addLostEpisodes(folder: string): void {
  const reader = openStoreForReading(storeOf(folder));
  const run = reader.runs(0, 1)[0]?.id ?? '';
  reader.close();
  const writer = openStoreForWriting(storeOf(folder), { headlines: UNIT_RULE });
  try {
    writer.insertSnapshot({ id: 'a'.repeat(64), run, iteration: 3, base: 'a'.repeat(64), file: null });
    writer.insertStep({ run, iteration: 3, snapshot: 'a'.repeat(64), ledger: LEDGER });
    writer.finishStep(run, 3, METRICS, LEDGER);
    for (const [index, won] of [16, 2, 0].entries()) {
      const words = (_: number, actor: number | null): string => (actor === null ? 'plan' : actor === 0 ? LOST : WON);
      const [tree] = addTree(writer, { run, iteration: 3, problem: problem(40 + index), returns: [[0, 1]], words });
      const others = Array.from({ length: won }, (_, other) => `${WON}${'.'.repeat(other)}`);
      if (won > 0) {
        addComparison(
          writer,
          tree?.actors[0] ?? 0,
          0,
          others,
          others.map(() => 1),
        );
      }
    }
  } finally {
    writer.close();
  }
}

/** The transcript of one of their questions, by way of the episodes. */
export async function openLost(workbench: Workbench, question: string): Promise<FrameLocator> {
  await workbench.runCommand('C3: Refresh');
  await openFromEpisodes(workbench, question, 'Tiny');
  const transcript = await workbench.webview(new RegExp(`^${question}`, 'u'));
  await transcript.locator('[role="treeitem"][aria-selected="true"]').waitFor();
  return transcript;
}

/** The message that lost, as the store has it, of the question with this number. */
export function lostMessage(workbench: Workbench, number: number): Message | undefined {
  return reading(workbench, (store) =>
    store
      .transcript({
        run: store.runs(0, 1)[0]?.id ?? '',
        phase: 'train',
        iteration: 3,
        problem: problem(number).uidSha,
        offset: 0,
        limit: 10,
      })
      .messages.find(({ text }) => text === LOST),
  );
}
