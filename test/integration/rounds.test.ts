/** Teams whose episodes unfold in rounds: events in the transcript, replays of one message, and its credit. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FrameLocator } from 'playwright-core';
import { sentence } from '../../src/shared/credit/headline.ts';
import { eventually, workbenchScenarios, type Workbench } from './harness/workbench.ts';
import {
  assertQuiet,
  c3,
  choose,
  firstPlan,
  openFromEpisodes,
  openLane,
  paneReady,
  reading,
  TINY,
  transcriptOf,
} from './team.ts';

const example = (file: string): string => readFileSync(join(import.meta.dirname, '../../media/examples', file), 'utf8');
/** A helper and a main function that revise after what tests say; with this seed, alternatives differ in worth. */
const TURNS = `title: Functions in turns
method: magrpo
seed: 5
task: {name: functions}
evaluator: ladder
external: {mode: level_feedback}
magrpo: {num_turns: 2, num_generations: 2}
evaluator_budget: 6
steps: 1
instances_per_step: 1
evaluation: {instances: 1}
`;
/** One step, and hardly an evaluation: what the tree shows is the training. */
const SHORT = ['--override', 'steps=1', '--override', 'evaluation.instances=2'];
const scenario = workbenchScenarios({
  files: {
    'feedback.json': example('feedback.json'),
    'turns.c3.yaml': TURNS,
    'tiny.c3.yaml': `${TINY.replace('evaluator_budget: 4', 'evaluator_budget: 12')}protocol: feedback.json\n`,
    ...Object.fromEntries(
      ['calculator.json', 'calculator.c3.yaml', 'voters.json', 'voters.c3.yaml'].map((file) => [file, example(file)]),
    ),
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

    await replayFirst(workbench, transcript, 'reasoner', message);
  },
);

scenario(
  'a tree of functions is started from the palette, its turns and feedback are read, and a message of turn 2 is replayed',
  async (workbench) => {
    await workbench.runCommandAndPick('C3: Start C3 run', 'turns.c3.yaml', 'Default length');
    const { question, message } = await eventually(
      'the end of the run',
      () =>
        reading(workbench, (store) => {
          const run = store
            .runs(0, 10)
            .find(({ title, status }) => title === 'Functions in turns' && status === 'done');
          const [episode] =
            run === undefined ? [] : store.episodes({ run: run.id, phase: 'train', iteration: 1, offset: 0, limit: 1 });
          // Two messages in a turn: the third is the helper's of the second.
          const message = episode === undefined ? undefined : store.chain(episode.leaf)[2];
          return episode === undefined || message === undefined ? undefined : { question: episode.question, message };
        }),
      180_000,
    );
    await openFromEpisodes(workbench, question, 'Functions in turns');
    const transcript = await workbench.webview(question.replaceAll(/\s+/gu, ' ').slice(0, 40));
    await transcript.getByRole('group', { name: 'Protocol', exact: true }).waitFor();
    await transcript.locator('[role="treeitem"][aria-label^="aux 1 of"]').nth(1).click();
    await paneReady(transcript);
    await transcript.getByRole('heading', { name: 'aux round 2' }).waitFor();
    const before = transcript.getByRole('region', { name: 'Before the message' });
    await before
      .getByRole('heading', { name: /^level feedback|feedback/u })
      .first()
      .waitFor();
    for (const theme of ['light', 'highContrast', 'dark'] as const) {
      await workbench.screenshot('turns', theme);
    }
    await replayShown(workbench, transcript, 'aux', message.id);
    const { credit } = reading(workbench, (store) => store.message(message.id));
    assert.ok(credit);
    assert.notEqual(credit.value, 0);
    const shown = transcript.locator('.fact-credit');
    await shown.getByText(sentence(credit), { exact: true }).waitFor();
    assert.ok((await shown.innerText()).includes(Math.abs(credit.value).toFixed(2)), await shown.innerText());
    await workbench.screenshot('turns-replayed');
  },
);

for (const [name, role, event] of [
  ['calculator', 'reasoner', 'calculator'],
  ['voters', 'planner', 'vote'],
] as const) {
  scenario(
    `the example team ${name} shows its events, and a message of it is replayed and credited`,
    async (workbench) => {
      const run = String((await c3(workbench.folder, 'run', `${name}.c3.yaml`, ...SHORT))['run']);
      const { question, message } = reading(workbench, (store) => {
        const [episode] = store.episodes({ run, phase: 'train', iteration: 1, offset: 0, limit: 1 });
        assert.ok(episode);
        return { question: episode.question, message: store.chain(episode.leaf)[0]?.id ?? 0 };
      });
      await openFromEpisodes(workbench, question, name);
      const transcript = await workbench.webview(question.replaceAll(/\s+/gu, ' ').slice(0, 40));
      await transcript
        .getByRole('group', { name: 'Protocol', exact: true })
        .getByRole('img', { name: `${event}, environment` })
        .waitFor();
      await transcript.locator('.event', { hasText: event }).first().waitFor();
      await workbench.screenshot(`example-${name}`);
      if (event === 'vote') {
        await seeVote(workbench, transcript);
      }
      await replayFirst(workbench, transcript, role, message);
    },
  );
}

/** Sees the vote on the episode of its last message: a row for each message that is counted, and what was chosen. */
async function seeVote(workbench: Workbench, transcript: FrameLocator): Promise<void> {
  await choose(transcript, 'voter4');
  const vote = transcript.getByRole('region', { name: 'Vote', exact: true });
  await vote.getByText('of a tie, the reward is the mean over them').waitFor();
  assert.deepEqual(await vote.getByRole('rowheader').allTextContents(), [
    'planner',
    'voter1',
    'voter2',
    'voter3',
    'voter4',
  ]);
  await vote.locator('[aria-current="true"]').getByRole('rowheader', { name: 'voter4' }).waitFor();
  const contributions = await vote.getByRole('row').locator('.number').allTextContents();
  assert.ok(
    contributions.every((text) => /^[+−]?\d\.\d\d$/u.test(text)),
    contributions.join(', '),
  );
  for (const theme of ['light', 'highContrast', 'dark'] as const) {
    await workbench.screenshot('vote', theme);
  }
  await vote.getByRole('button', { name: 'voter1' }).click();
  await transcript.getByRole('heading', { name: 'voter1' }).waitFor();
}

/** Replays the first message of a role by its button, and sees its credit; its run verifies as identical. */
async function replayFirst(
  workbench: Workbench,
  transcript: FrameLocator,
  role: string,
  message: number,
): Promise<void> {
  await choose(transcript, role);
  await replayShown(workbench, transcript, role, message);
}

/** Replays the message in the pane, and sees the credit that the store has for it; its run verifies as identical. */
async function replayShown(
  workbench: Workbench,
  transcript: FrameLocator,
  role: string,
  message: number,
): Promise<void> {
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
  await openLane(transcript, role);
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

  // Of this run alone: what the scenarios before have stored is verified in them.
  const run = reading(workbench, (store) => store.decision(message).run);
  const verified = await c3(workbench.folder, 'verify', '--run', run);
  assert.deepEqual([verified['different'], verified['notComparable']], [0, 0]);
}
