/** Teams of several kinds: events in their transcripts, replays of a message, and its credit. */

import assert from 'node:assert/strict';
import type { FrameLocator } from 'playwright-core';
import type { BucketView } from '../../src/domain/replay.ts';
import { describeHeadline } from '../../src/shared/credit/headline.ts';
import { eventually, type workbenchScenarios, type Workbench } from './harness/workbench.ts';
import { assertQuiet, c3, choose, openFromEpisodes, openLane, paneReady, reading } from './team.ts';

/** Runs of the recording "teams", by their titles. */
const TITLES = {
  feedback: 'Tiny',
  turns: 'Functions in turns',
  calculator: 'Calculator',
  voters: 'Voters',
  policy: 'Another model',
} as const;

type Team = keyof typeof TITLES;

export interface Tried {
  /** Teams whose events and messages are read. */
  readonly shown: readonly Team[];
  /** Whether a message of each is replayed, too, and its whole run re-executed after that by the command line. */
  readonly replayed: boolean;
  /** Takes a picture of what is shown. */
  readonly picture: (workbench: Workbench, name: string) => Promise<unknown>;
}

interface Opened {
  readonly transcript: FrameLocator;
  /** Of the first episode, from the first. */
  readonly messages: readonly number[];
}

/** The transcript of the first episode of a team's run. */
async function open(workbench: Workbench, team: Team): Promise<Opened> {
  const { question, messages } = reading(workbench, (store) => {
    const run = store.runs(0, 10).find(({ title }) => title === TITLES[team]);
    assert.ok(run);
    const [episode] = store.episodes({ run: run.id, phase: 'train', iteration: 1, offset: 0, limit: 1 });
    assert.ok(episode);
    return { question: episode.question, messages: store.chain(episode.leaf).map(({ id }) => id) };
  });
  await openFromEpisodes(workbench, question, TITLES[team]);
  return { transcript: await workbench.webview(question.replaceAll(/\s+/gu, ' ').slice(0, 40)), messages };
}

/** Declares what is shown of each team, on a window with the recording "teams". */
export function teamScenarios(
  scenario: ReturnType<typeof workbenchScenarios>,
  { shown, replayed, picture }: Tried,
): void {
  const show = (team: Team, name: string, body: (workbench: Workbench) => Promise<void>): void => {
    if (shown.includes(team)) {
      scenario(replayed ? name : name.replace(/, and .*$/u, ''), body);
    }
  };

  /** Replays the message in the pane, sees the credit that the store has for it; its run verifies as identical. */
  const replay = async (
    workbench: Workbench,
    { transcript }: Opened,
    role: string,
    message: number,
  ): Promise<BucketView | undefined> => {
    if (!replayed) {
      return undefined;
    }
    await transcript.getByRole('button', { name: 'Replay alternatives' }).click();
    const { id } = await eventually(
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
    const bucket = reading(workbench, (store) => store.bucketView(id));
    assert.ok(bucket.alternatives.every(({ bucketCredit }) => bucketCredit !== null));
    await transcript
      .locator('.facts', { hasText: 'Credit' })
      .getByText(/[+−]?\d\.\d\d/u)
      .first()
      .waitFor();
    // Every replay was executed again at once.
    await eventually(
      'a badge on every alternative',
      async () =>
        (await transcript
          .getByRole('region', { name: 'Replayed alternatives' })
          .first()
          .getByRole('listitem')
          .filter({ hasText: 'identical: re-execution gave the same bytes' })
          .count()) === new Set(bucket.alternatives.map(({ text }) => text)).size,
    );
    assertQuiet(workbench);
    // Of this run alone: what the scenarios before have stored is verified in them.
    const run = reading(workbench, (store) => store.fullMessage(message).run);
    const report = await c3(workbench.folder, 'verify', '--run', run);
    assert.deepEqual([report['different'], report['notComparable']], [0, 0]);
    return bucket;
  };

  show(
    'feedback',
    'a loop with feedback shows its rounds and events, and any message of it can be replayed',
    async (workbench) => {
      const opened = await open(workbench, 'feedback');
      const { transcript, messages } = opened;

      const map = transcript.getByRole('group', { name: 'Protocol', exact: true });
      await map.getByRole('img', { name: 'feedback, environment' }).waitFor();
      await map.getByText('Up to 3 rounds, until the reward of a round is 1').waitFor();

      const second = transcript
        .locator('[role="treeitem"][aria-label*="feedback, round 1: Wrong, try again."]')
        .first();
      await second.locator('.event', { hasText: 'feedback' }).waitFor();
      await second.click();
      await paneReady(transcript);
      await transcript.getByRole('heading', { name: 'reasoner round 2' }).waitFor();
      const before = transcript.getByRole('region', { name: 'Before the message' });
      await before.getByRole('heading', { name: 'feedback, round 1' }).waitFor();
      await before.getByText('Wrong, try again.').waitFor();
      await picture(workbench, 'rounds');

      await choose(transcript, 'reasoner');
      await replay(workbench, opened, 'reasoner', messages[0] ?? 0);
    },
  );

  show(
    'turns',
    'the turns of a tree of functions and their feedback are read, and a message of turn 2 is replayed',
    async (workbench) => {
      const opened = await open(workbench, 'turns');
      const { transcript, messages } = opened;
      // Two messages in a turn: the third is the helper's of the second.
      const message = messages[2] ?? 0;
      await transcript.getByRole('group', { name: 'Protocol', exact: true }).waitFor();
      await transcript.locator('[role="treeitem"][aria-label^="aux 1 of"]').nth(1).click();
      await paneReady(transcript);
      await transcript.getByRole('heading', { name: 'aux round 2' }).waitFor();
      const before = transcript.getByRole('region', { name: 'Before the message' });
      // One `main` follows each `aux`: it has what training learned from it, as that has.
      const main = transcript.locator('[role="treeitem"][aria-label^="main"]').first();
      assert.match(
        (await main.getAttribute('aria-label')) ?? '',
        /; training credit [+\u2212]?\d\.\d\d, n = 2, by magrpo/u,
      );
      await before
        .getByRole('heading', { name: /^level feedback|feedback/u })
        .first()
        .waitFor();
      await picture(workbench, 'turns');
      if ((await replay(workbench, opened, 'aux', message)) === undefined) {
        return;
      }
      const { credit } = reading(workbench, (store) => store.message(message));
      assert.ok(credit);
      assert.notEqual(credit.value, 0);
      const shown = transcript.locator('.fact-credit');
      await shown.getByText(describeHeadline(credit), { exact: true }).waitFor();
      assert.ok((await shown.innerText()).includes(Math.abs(credit.value).toFixed(2)), await shown.innerText());
    },
  );

  for (const [team, role, event] of [
    ['calculator', 'reasoner', 'calculator'],
    ['voters', 'planner', 'vote'],
  ] as const) {
    show(
      team,
      `the example team ${team} shows its events, and a message of it is replayed and credited`,
      async (workbench) => {
        const opened = await open(workbench, team);
        const { transcript, messages } = opened;
        await transcript
          .getByRole('group', { name: 'Protocol', exact: true })
          .getByRole('img', { name: `${event}, environment` })
          .waitFor();
        await transcript.locator('.event', { hasText: event }).first().waitFor();
        await picture(workbench, `example-${team}`);
        if (team === 'voters') {
          await seeVote(workbench, transcript, picture);
        }
        await choose(transcript, role);
        await replay(workbench, opened, role, messages[0] ?? 0);
      },
    );
  }

  show(
    'policy',
    'a message that another model said names it, and a click replays it with that model',
    async (workbench) => {
      const opened = await open(workbench, 'policy');
      const { transcript, messages } = opened;
      await choose(transcript, 'reasoner');
      await transcript
        .locator('.facts')
        .getByText(/Another model, with its own tokenizer and chat template\..* Weights [0-9a-f]{12} of qwen2\./u)
        .waitFor();
      await picture(workbench, 'role-policy');
      const bucket = await replay(workbench, opened, 'reasoner', messages[0] ?? 0);
      reading(workbench, (store) => {
        for (const { message } of bucket?.alternatives ?? []) {
          assert.match(store.fullMessage(message).context, /^<\|im_start\|>system\n/u);
        }
      });
    },
  );
}

/** Sees the vote on the episode of its last message: a row for each message that is counted, and what was chosen. */
async function seeVote(workbench: Workbench, transcript: FrameLocator, picture: Tried['picture']): Promise<void> {
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
  const rows = transcript.locator('[role="treeitem"][aria-label^="voter"]');
  const levels = await rows.evaluateAll((found) => found.map((row) => row.getAttribute('aria-level')));
  assert.deepEqual([...new Set(levels)], ['3'], 'voters are side by side, below the planner whom they see');
  const did = await rows.locator('.voted').allTextContents();
  assert.ok(did.length > 0 && did.every((words) => /^(?:decides|with the vote|not chosen|no answer) /u.test(words)));
  await picture(workbench, 'vote');
  await vote.getByRole('button', { name: 'voter1' }).click();
  await transcript.getByRole('heading', { name: 'voter1' }).waitFor();
}
