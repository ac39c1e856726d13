/** Windows and the command line share one store: none waits for another that is idle, and replays take turns. */

import assert from 'node:assert/strict';
import { eventually, type Workbench, type WorkbenchOptions } from './harness/workbench.ts';
import { assertQuiet, c3, choose, firstPlan, reading, transcriptOf } from './team.ts';

/** Of a window whose replays are short. */
export const SHORT_REPLAYS: WorkbenchOptions = {
  recording: 'arithmetic',
  settings: { 'c3.replay.alternatives': 1, 'c3.replay.replays': 1 },
};

const running = (workbench: Workbench): number =>
  reading(workbench, (store) => store.runs(0, 10).filter(({ status }) => status !== 'done').length);

/** Two windows replay a message in turn, `rounds` times each, and the command line runs a team beside them. */
export async function takeTurns(workbench: Workbench, second: Workbench, rounds: number): Promise<void> {
  await workbench.openView('C3');
  // The run finds two windows that have replayed before.
  const { question, message } = await firstPlan(workbench);
  const requests = (): number =>
    reading(workbench, (store) => store.bucketsFor(message).filter(({ origin }) => origin === 'request').length);
  const windows = [];
  for (const window of [workbench, second]) {
    const transcript = await transcriptOf(window, question);
    await choose(transcript, 'reasoner');
    windows.push({
      transcript,
      tree: transcript.getByRole('tree'),
      cancel: transcript.getByRole('button', { name: 'Cancel', exact: true }),
    });
  }
  for (let round = 1; round <= rounds; round++) {
    // Both ask before either has its answer: one of them waits for its turn.
    for (const { tree } of windows) {
      await tree.press('r');
    }
    await eventually(`request ${2 * round}`, () => requests() === 2 * round, 120_000);
    // Messages to a page keep their order, so one that shows what was stored also knows of its replay.
    // Until then it would accept a key that its host refuses.
    for (const { transcript } of windows) {
      await transcript
        .getByText(new RegExp(`in ${2 * round} requests`, 'u'))
        .first()
        .waitFor();
    }
    for (const { cancel } of windows) {
      await cancel.waitFor({ state: 'hidden', timeout: 120_000 });
    }
  }
  assert.equal(requests(), 2 * rounds);
  await c3(workbench.folder, 'run', 'tiny.c3.yaml');
  await c3(workbench.folder, 'replay', String(message), '--alternatives', '1', '--replays', '1');
  assert.deepEqual([running(workbench), requests()], [0, 2 * rounds + 1]);
  for (const window of [workbench, second]) {
    assert.equal(await window.page.locator('.notification-toast .codicon-error').count(), 0, 'no refusal');
    assertQuiet(window);
  }
}
