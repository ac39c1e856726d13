/** Windows and the command line share one store: none waits for another that is idle, and replays take turns. */
import assert from 'node:assert/strict';
import { eventually, workbenchScenarios, type Workbench } from './harness/workbench.ts';
import { assertQuiet, c3, choose, firstPlan, reading, TINY, transcriptOf } from './team.ts';
import { scaled } from '../support/scale.ts';

const ROUNDS = scaled(25, 8);

const scenario = workbenchScenarios({
  server: {},
  files: { 'tiny.c3.yaml': TINY },
  settings: { 'c3.replay.alternatives': 1, 'c3.replay.replays': 1 },
});

const running = (workbench: Workbench): number =>
  reading(workbench, (store) => store.runs(0, 10).filter(({ status }) => status !== 'done').length);

scenario(
  'two idle windows do not hold up a run of the command line, and replays asked for in turn by both all come',
  async (workbench) => {
    await workbench.openView('C3');
    // The first run finds one window open, the second one two that have replayed before.
    const { question, message } = await firstPlan(workbench);
    await workbench.runCommand('C3: Refresh');
    const second = await workbench.openSecondWindow();
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
    for (let round = 1; round <= ROUNDS; round++) {
      // Both ask before either has its answer: one of them waits for its turn.
      for (const { tree } of windows) {
        await tree.press('r');
      }
      await eventually(`request ${String(2 * round)}`, () => requests() === 2 * round, 120_000);
      // Messages to a page keep their order, so one that shows what was stored also knows of its replay.
      // Until then it would accept a key that its host refuses.
      for (const { transcript } of windows) {
        await transcript
          .getByText(new RegExp(`in ${String(2 * round)} requests`, 'u'))
          .first()
          .waitFor();
      }
      for (const { cancel } of windows) {
        await cancel.waitFor({ state: 'hidden', timeout: 120_000 });
      }
    }
    assert.equal(requests(), 2 * ROUNDS);
    await c3(workbench.folder, 'run', 'tiny.c3.yaml');
    await c3(workbench.folder, 'replay', String(message), '--alternatives', '1', '--replays', '1');
    assert.deepEqual([running(workbench), requests()], [0, 2 * ROUNDS + 1]);
    for (const window of [workbench, second]) {
      assert.equal(await window.page.locator('.notification-toast .codicon-error').count(), 0, 'no refusal');
      assertQuiet(window);
    }
  },
);
