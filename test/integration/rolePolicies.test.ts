/** A team in which another model answers for a role: the transcript says so, and its message is replayed with it. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { eventually, workbenchScenarios } from './harness/workbench.ts';
import { assertQuiet, c3, choose, firstPlan, openLane, reading, TINY, transcriptOf } from './team.ts';

const OTHER = join(import.meta.dirname, '../fixtures/golden/qwen2');
const scenario = workbenchScenarios({
  files: { 'tiny.c3.yaml': `${TINY}policies:\n  reasoner: {model: ${JSON.stringify(OTHER)}}\n` },
  settings: { 'c3.replay.alternatives': 3, 'c3.replay.replays': 2 },
});

scenario('a message that another model said names it, and a click replays it with that model', async (workbench) => {
  const { question, message } = await firstPlan(workbench);
  const transcript = await transcriptOf(workbench, question);
  await choose(transcript, 'reasoner');
  await transcript
    .locator('.facts')
    .getByText(/Another model, with its own tokenizer and chat template\..* Weights [0-9a-f]{12} of qwen2\./u)
    .waitFor();
  for (const theme of ['light', 'highContrast', 'dark'] as const) {
    await workbench.screenshot('role-policy', theme);
  }

  await transcript.getByRole('button', { name: 'Replay alternatives' }).click();
  const bucket = await eventually(
    'the replays',
    () =>
      reading(workbench, (store) =>
        store
          .bucketsFor(message)
          .find(
            ({ origin, alternatives }) =>
              origin === 'request' &&
              alternatives.length === 4 &&
              alternatives.every(({ returns }) => returns.length === 2),
          ),
      ),
    180_000,
  );
  await transcript.getByRole('button', { name: 'Cancel' }).waitFor({ state: 'hidden', timeout: 180_000 });
  await openLane(transcript, 'reasoner');
  reading(workbench, (store) => {
    for (const { decision, bucketCredit } of store.bucketView(bucket.id).alternatives) {
      assert.match(store.decision(decision).context, /^<\|im_start\|>system\n/u);
      assert.ok(bucketCredit !== null);
    }
  });
  assertQuiet(workbench);

  const verified = await c3(workbench.folder, 'verify');
  assert.deepEqual([verified['different'], verified['notComparable']], [0, 0]);
});
