/** A team whose episodes unfold in rounds: its events in the transcript, replays of one message, and its credit. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually, workbenchScenarios } from './harness/workbench.ts';
import { assertQuiet, c3, choose, firstPlan, openLane, paneReady, reading, TINY, transcriptOf } from './team.ts';

const PROTOCOL = readFileSync(join(import.meta.dirname, '../../media/examples/feedback.json'), 'utf8');
const scenario = workbenchScenarios({
  files: {
    'feedback.json': PROTOCOL,
    'tiny.c3.yaml': `${TINY.replace('evaluator_budget: 4', 'evaluator_budget: 12')}protocol: feedback.json\n`,
  },
  settings: { 'c3.replay.alternatives': 3, 'c3.replay.replays': 2 },
});

scenario(
  'a loop with feedback shows its rounds and events, and any message of it can be replayed',
  async (workbench) => {
    const { question, message } = await firstPlan(workbench);
    const transcript = await transcriptOf(workbench, question);

    const map = transcript.getByRole('group', { name: 'Protocol', exact: true });
    await map.getByRole('img', { name: 'feedback, environment' }).waitFor();
    await map.getByText('Up to 3 rounds, until the reward of a round is 1').waitFor();

    const second = transcript.locator('[role="treeitem"][aria-label*="feedback, round 1: Wrong, try again."]').first();
    await second.locator('.event', { hasText: 'feedback' }).waitFor();
    await second.click();
    await paneReady(transcript);
    await transcript.getByRole('heading', { name: 'reasoner round 2' }).waitFor();
    const before = transcript.getByRole('region', { name: 'Before the message' });
    await before.getByRole('heading', { name: 'feedback, round 1' }).waitFor();
    await before.getByText('Wrong, try again.').waitFor();
    for (const theme of ['light', 'highContrast', 'dark'] as const) {
      await workbench.screenshot('rounds', theme);
    }

    await choose(transcript, 'reasoner');
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
    await eventually(
      'the end of the replay',
      async () => !(await transcript.getByRole('button', { name: 'Cancel' }).isVisible()),
      180_000,
    );
    await openLane(transcript, 'reasoner');
    const credits = reading(workbench, (store) =>
      store.bucketView(bucket.id).alternatives.map(({ bucketCredit }) => bucketCredit),
    );
    assert.ok(credits.every((credit) => credit !== null));
    await transcript
      .locator('.facts', { hasText: 'Credit' })
      .getByText(/[+−]?\d\.\d\d/u)
      .first()
      .waitFor();
    assertQuiet(workbench);

    const verified = await c3(workbench.folder, 'verify');
    assert.deepEqual([verified['different'], verified['notComparable']], [0, 0]);
  },
);
