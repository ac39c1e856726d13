/** Reading a transcript and replaying a message, with the real engine. */
import assert from 'node:assert/strict';
import type { FrameLocator } from 'playwright-core';
import { sentence } from '../../src/shared/credit/headline.ts';
import type { BucketView } from '../../src/shared/records/records.ts';
import { openStoreForReading } from '../../src/store/read/reader.ts';
import { loadSqlite } from '../../src/store/files/sqlite.ts';
import { tamper } from '../support/tamper.ts';
import { eventually, workbenchScenarios, type Workbench } from './harness/workbench.ts';
import { assertQuiet, choose, openLane, storeOf, transcriptOf } from './team.ts';

const scenario = workbenchScenarios({
  recording: 'arithmetic',
  settings: { 'c3.replay.alternatives': 3, 'c3.replay.replays': 2 },
});
const MINUS = '\u2212';

/** The first training episode of the tiny run, as the store has it. */
function firstEpisode(folder: string): {
  readonly question: string;
  readonly leaf: number;
  readonly actor: string;
  readonly plan: string;
  readonly planId: number;
} {
  const store = openStoreForReading(storeOf(folder));
  try {
    const [newest] = store.runs(0, 1);
    assert.ok(newest);
    const [episode] = store.episodes({ run: newest.id, phase: 'train', iteration: 1, offset: 0, limit: 1 });
    assert.ok(episode);
    const [plan, actor] = store.chain(episode.leaf);
    assert.ok(plan && actor);
    return { question: episode.question, leaf: episode.leaf, actor: actor.text, plan: plan.text, planId: plan.id };
  } finally {
    store.close();
  }
}

function newestRequest(folder: string, message: number): BucketView | undefined {
  const store = openStoreForReading(storeOf(folder));
  try {
    return store.bucketsFor(message).findLast((bucket) => bucket.origin === 'request');
  } finally {
    store.close();
  }
}

/**
 * Changes the first token of a continuation in the oldest request about a message, as another program could; the
 * message's id.
 */
function changeFirstToken(folder: string, message: number): number {
  const store = openStoreForReading(storeOf(folder));
  const bucket = store.bucketsFor(message).find(({ origin }) => origin === 'request');
  const victim = store.replaysOfBucket(bucket?.id ?? 0).find(({ alternative }) => alternative !== message)?.leaf;
  store.close();
  assert.ok(victim);
  const db = new (loadSqlite())(storeOf(folder));
  tamper(
    db,
    `UPDATE decision SET tokens = CAST(x'01000000' || substr(tokens, 5) AS BLOB) WHERE id = ${String(victim)}`,
  );
  db.close();
  return victim;
}

/** The streams that replay 0 of each alternative in the newest request about a message drew from. */
function continuationStreams(folder: string, message: number): readonly string[] {
  const bucket = newestRequest(folder, message);
  const store = openStoreForReading(storeOf(folder));
  try {
    return store
      .replaysOfBucket(bucket?.id ?? 0)
      .filter(({ replayIndex }) => replayIndex === 0)
      .map(({ leaf }) => store.decision(leaf).streamKey);
  } finally {
    store.close();
  }
}

function titleOf(question: string): string {
  return question.replaceAll(/\s+/gu, ' ').slice(0, 40);
}

async function openFirst(
  workbench: Workbench,
): Promise<{ readonly transcript: FrameLocator; readonly episode: ReturnType<typeof firstEpisode> }> {
  const episode = firstEpisode(workbench.folder);
  return { transcript: await transcriptOf(workbench, episode.question), episode };
}

function signed(value: number): string {
  return value > 0 ? `+${value.toFixed(2)}` : value.toFixed(2).replace('-', MINUS);
}

scenario(
  'an episode of a run from the command line opens its transcript at the message that was scored',
  async (workbench) => {
    const { transcript, episode } = await openFirst(workbench);
    const selected = transcript.locator('[role="treeitem"][aria-selected="true"]');
    await selected.waitFor();
    assert.match(
      (await selected.getAttribute('aria-label')) ?? '',
      new RegExp(`^actor 1 of 2: ${episode.actor.replaceAll(/[.*+?^${}()|[\]\\]/gu, '\\$&')}; return [01];`, 'u'),
    );
    // The question, two plans and two actors under each.
    await eventually('every row', async () => (await transcript.getByRole('treeitem').count()) === 7);
    await transcript.getByRole('heading', { name: 'actor' }).waitFor();
  },
);

scenario('the tree is one tab stop that the arrow keys walk, fold and unfold', async (workbench) => {
  const { transcript } = await openFirst(workbench);
  const tree = transcript.getByRole('tree');
  const active = async (): Promise<string> =>
    (await transcript
      .locator(`[id="${(await tree.getAttribute('aria-activedescendant')) ?? ''}"]`)
      .getAttribute('aria-label')) ?? '';
  const becomes = (start: string): Promise<true> =>
    eventually(`${start} active`, async () => (await active()).startsWith(start) || undefined).then(() => true);
  await tree.press('Home');
  await becomes('Question');
  await tree.press('ArrowDown');
  await becomes('reasoner 1 of 2');
  await tree.press('ArrowLeft');
  await eventually('two rows fewer', async () => (await transcript.getByRole('treeitem').count()) === 5);
  await tree.press('ArrowDown');
  await becomes('reasoner 2 of 2');
  await tree.press('ArrowUp');
  await tree.press('ArrowRight');
  await eventually('all rows again', async () => (await transcript.getByRole('treeitem').count()) === 7);
  await tree.press('ArrowRight');
  await becomes('actor 1 of 2');
  await tree.press('ArrowLeft');
  await becomes('reasoner 1 of 2');
  await tree.press('Enter');
  await transcript.getByRole('heading', { name: 'reasoner' }).waitFor();
});

scenario(
  'a replay shows the alternatives that the engine stored, with their returns, credit, interval and cost',
  async (workbench) => {
    const { transcript, episode } = await openFirst(workbench);
    const tree = transcript.getByRole('tree');
    await choose(transcript, 'actor');
    await tree.press('Home');
    await tree.press('ArrowDown');
    // The pane still shows the actor: the key replays the row that has the keyboard.
    await tree.press('r');
    await transcript.getByRole('heading', { name: 'reasoner' }).waitFor();
    const replayed = transcript.getByRole('region', { name: 'Replayed alternatives' });
    // The settings ask for 3 alternatives with 2 replays each; the original is among them.
    await eventually(
      'the end of the replay',
      async () =>
        newestRequest(workbench.folder, episode.planId)?.alternatives.length === 4 &&
        !(await transcript.getByRole('button', { name: 'Cancel' }).isVisible()),
      120_000,
    );
    const bucket = newestRequest(workbench.folder, episode.planId);
    assert.ok(bucket);
    assert.equal(bucket.alternatives.length, 4);
    // Equal ones are one.
    const different = [...Map.groupBy(bucket.alternatives, ({ text }) => text).values()];
    await eventually(
      'an item for each',
      async () => (await replayed.getByRole('listitem').count()) === different.length,
    );
    // Their figures are those of the store once the pane has read it after the last replay.
    const compare = async (index: number, all: (typeof different)[number]): Promise<true> => {
      const [alternative] = all;
      assert.ok(alternative);
      assert.ok(all.every(({ returns }) => returns.length === 2));
      const item = replayed.getByRole('listitem').nth(index);
      const words = (await item.innerText()).replaceAll(/\s+/gu, ' ');
      assert.ok(alternative.credit);
      assert.ok(words.includes(alternative.text.trim().replaceAll(/\s+/gu, ' ')), `${words} shows ${alternative.text}`);
      const { credit } = alternative;
      const here = all.reduce((sum, { evaluatorCalls }) => sum + evaluatorCalls, 0);
      assert.ok(words.includes(sentence(credit)), words);
      if (credit.verdict === 'alone') {
        assert.ok(words.includes(`${String(here)} evaluator call`), words);
      } else {
        assert.ok(words.includes(signed(credit.value)), `${words} shows ${signed(credit.value)}`);
        const behind = `· n ${String(credit.n)} · effective n ${String(credit.effectiveN)} · ${String(credit.evaluatorCalls)} evaluator call`;
        assert.ok(words.includes(behind) && words.includes(`, ${String(here)} here`), words);
      }
      return true;
    };
    for (const [index, all] of different.entries()) {
      await eventually(`the figures of alternative ${String(index)}`, () => compare(index, all));
    }
    await replayed.getByText('common random numbers').waitFor();
    // Every replay was executed again at once.
    await eventually(
      'a badge on every alternative',
      async () =>
        (await replayed
          .getByRole('listitem')
          .filter({ hasText: 'identical: re-execution gave the same bytes' })
          .count()) === different.length,
    );
    // The run's own messages stay as they were; the replays are a lane below theirs.
    const items = transcript.getByRole('treeitem');
    await eventually('the lane in the tree', async () => (await items.count()) === 7 + 1);
    await transcript.getByText('6 messages · 8 replays in 1 request').waitFor();
    assert.equal(await transcript.locator('[role="treeitem"][aria-label^="reasoner 1 of 2:"]').count(), 1);
    assert.equal(await openLane(transcript, 'reasoner'), '8 replays in 1 request');
    // Three plans, and two continuations of each of the four.
    await eventually('the branches in the lane', async () => (await items.count()) === 7 + 1 + 3 + 8);
    await transcript.getByRole('combobox', { name: 'Run or replays' }).selectOption('Run only');
    await eventually('the run alone', async () => (await items.count()) === 7);
    await transcript.getByText('6 of 6 messages, 0 of 11 replayed').waitFor();
    await transcript.getByRole('combobox', { name: 'Run or replays' }).selectOption('Replays only');
    // The question, the plan and its lane are above them.
    await eventually('the replays alone', async () => (await items.count()) === 3 + 3 + 8);
    await transcript.getByRole('button', { name: 'Clear filters' }).click();
    await eventually('both again', async () => (await items.count()) === 7 + 1 + 3 + 8);
    await workbench.screenshot('transcript');
  },
);

scenario('a message of the user is among the alternatives', async (workbench) => {
  const { transcript, episode } = await openFirst(workbench);
  await choose(transcript, 'actor');
  await transcript.getByText('Try your own message').click();
  await transcript.getByRole('textbox', { name: 'Your own message' }).fill('no answer at all');
  await transcript.getByRole('textbox', { name: 'Alternatives' }).fill('0');
  await transcript.getByRole('button', { name: 'Replay alternatives' }).click();
  const item = transcript
    .getByRole('region', { name: 'Replayed alternatives' })
    .getByRole('listitem')
    .filter({ hasText: 'no answer at all' });
  await item.waitFor();
  await item.getByText('typed').waitFor();
  await eventually('its return', () =>
    newestRequest(workbench.folder, episode.leaf)?.alternatives.some(
      (alternative) => alternative.finish === 'typed' && alternative.returns[0] === 0,
    ),
  );
  await transcript.getByRole('button', { name: 'Cancel' }).waitFor({ state: 'hidden', timeout: 120_000 });
});

scenario(
  'every branch says what re-execution showed, and a row that was changed says so when it is verified',
  async (workbench) => {
    const { transcript, episode } = await openFirst(workbench);
    await openLane(transcript, 'reasoner');
    await openLane(transcript, 'actor');
    const branches = transcript.locator('[role="treeitem"][aria-label*=", replayed"]');
    await branches.first().waitFor();
    await eventually(
      'every branch, and nothing else, to say where it stands',
      async () =>
        (await branches.count()) === (await transcript.locator('[role="treeitem"][aria-label*="; replay "]').count()),
    );
    await eventually(
      'a mark on three plans and eight continuations',
      async () =>
        (await transcript
          .locator('[role="treeitem"][aria-label*="; replay identical: re-execution gave the same bytes"]')
          .count()) >= 11,
    );
    const victim = changeFirstToken(workbench.folder, episode.planId);
    await choose(transcript, 'reasoner');
    await workbench.runCommand('C3: Verify replay');
    await workbench.notification(/replays of this message re-executed: \d+ identical, 1 different/u).waitFor();
    const row = transcript.locator(
      `[role="treeitem"][aria-label*="; replay differs at token 0: message ${String(victim)} differs at token 0"]`,
    );
    await row.first().getByText('differs at token 0', { exact: true }).waitFor();
    const item = transcript.getByRole('listitem').filter({ hasText: 'the row was changed' });
    await item.first().getByText('differs at token 0', { exact: true }).waitFor();
    await workbench.screenshot('verification');
    // From the context menu of a branch that nobody touched.
    await transcript
      .locator('[role="treeitem"][aria-label^="actor"][aria-label*="; replay identical"]')
      .first()
      .click({ button: 'right' });
    await workbench.chooseFromMenu('Verify replay');
    await workbench
      .notification('1 replay of this message re-executed: 1 identical, 0 different, 0 not comparable')
      .waitFor();
    assertQuiet(workbench);
  },
);

scenario('a message is found by its words and by its context menu replayed', async (workbench) => {
  await eventually('the message in the list', async () => {
    await workbench.runCommand('C3: Find message');
    const list = workbench.page.locator('.quick-input-widget:visible');
    await list.locator('input.input').fill('no answer', { timeout: 10_000 });
    await list.locator('.monaco-list-row', { hasText: 'no answer at all' }).click({ timeout: 10_000 });
    return true;
  });
  const { question } = firstEpisode(workbench.folder);
  const transcript = await workbench.webview(titleOf(question));
  const row = transcript.locator('[role="treeitem"][aria-selected="true"][aria-label*="no answer at all"]');
  await row.waitFor();
  await row.click({ button: 'right' });
  await workbench.chooseFromMenu('Replay alternatives');
  const replayed = transcript.getByRole('region', { name: 'Replayed alternatives' }).first();
  await replayed.getByText('this message').waitFor();
  await eventually('three alternatives more', async () =>
    / of 4 · |^4 · /u.test(await replayed.locator('.bucket-note').innerText()),
  );
  await transcript.getByRole('button', { name: 'Cancel' }).waitFor({ state: 'hidden', timeout: 120_000 });
});

scenario('alternatives draw numbers of their own when common random numbers are off', async (workbench) => {
  const { transcript, episode } = await openFirst(workbench);
  await choose(transcript, 'reasoner');
  await transcript.getByRole('textbox', { name: 'Alternatives' }).fill('1');
  const box = transcript.getByRole('checkbox', { name: 'Common random numbers' });
  await box.click();
  await eventually('the box without its mark', async () => (await box.getAttribute('aria-checked')) === 'false');
  const before = newestRequest(workbench.folder, episode.planId)?.id;
  await transcript.getByRole('button', { name: 'Replay alternatives' }).click();
  await transcript
    .getByRole('region', { name: 'Replayed alternatives' })
    .filter({ hasText: 'independent random numbers' })
    .first()
    .waitFor();
  const [first, second] = await eventually('both continuations of this request', () => {
    const streams = continuationStreams(workbench.folder, episode.planId);
    const isNew = newestRequest(workbench.folder, episode.planId)?.id !== before;
    return isNew && streams[0] !== undefined && streams[1] !== undefined ? streams : undefined;
  });
  assert.ok(first !== second);
  await transcript.getByRole('button', { name: 'Cancel' }).waitFor({ state: 'hidden', timeout: 120_000 });
});

scenario('fields that hold no number say so and start nothing', async (workbench) => {
  const { transcript } = await openFirst(workbench);
  await choose(transcript, 'actor');
  await transcript.getByRole('textbox', { name: 'Replays each' }).fill('many');
  await transcript.getByRole('button', { name: 'Replay alternatives' }).click();
  await transcript.getByText('Replays each: a whole number from 1 to 64.').waitFor();
  assert.equal(await transcript.getByRole('button', { name: 'Cancel' }).count(), 0);
});
