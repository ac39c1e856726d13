import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { FullMessage } from '../../../src/domain/message.ts';
import {
  classifyDraws,
  countAffordablePairs,
  SETTLE_LIMITS,
  settleFault,
  settleReplays,
  type BucketView,
  type Replay,
  type ReplayResult,
} from '../../../src/domain/replay.ts';
import { isDecidedIn } from '../../../src/engine/replay/settling.ts';
import { growEpisodes } from '../../../src/replay/episodes.ts';
import { replayMessage } from '../../../src/replay/replayMessage.ts';
import type { ReplayDependencies, ReplayRequest } from '../../../src/replay/request.ts';
import { isReusedAnswer } from '../../../src/replay/reuse.ts';
import { findLeaves } from '../../../src/replay/tree.ts';
import { CancelledError } from '../../../src/shared/errors.ts';
import type { StoreWriter } from '../../../src/store/types.ts';
import type { Protocol } from '../../../src/team/protocol.ts';
import { renderPlain } from '../../../src/team/render.ts';
import {
  CHAIN,
  CHECKPOINTS,
  CountingEvaluator,
  digest,
  errorOfKind,
  problems,
  LOO,
  NEVER,
  PAIR,
  PARALLEL,
  SAMPLING,
  ScriptedPolicy,
  starts,
  storeFor,
  storePath,
  world,
  type World,
} from './helpers.ts';

const ALL = problems(1);

interface Scene {
  readonly store: StoreWriter;
  readonly made: World;
  /** Ids of the messages of one episode, in order. */
  readonly messages: readonly number[];
  readonly ask: (
    position: number,
    pairs: number,
    changes?: Partial<ReplayDependencies & ReplayRequest>,
    signal?: AbortSignal,
  ) => Promise<ReplayResult>;
  /** Done of total, as it was reported. */
  readonly reported: string[];
}

async function scene(
  t: TestContext,
  protocol: Protocol,
  policy = new ScriptedPolicy(),
  evaluator = new CountingEvaluator(),
): Promise<Scene> {
  const made = world(protocol, { policy, evaluator });
  const store = storeFor(t, ALL);
  const [root] = await growEpisodes(made.settings, starts(ALL), [], NEVER);
  const [leaf] = root === undefined ? [] : findLeaves(root);
  assert.ok(leaf);
  storePath(store, protocol, leaf);
  made.policy.requests.length = 0;
  made.evaluator.calls = 0;
  const messages = store.chain(leaf.stored ?? 0).map(({ id }) => id);
  const reported: string[] = [];
  const dependencies = {
    store,
    protocol,
    render: renderPlain,
    policy: made.policy,
    evaluator: made.evaluator,
    sampling: SAMPLING,
    seed: 5,
    returnBound: 10,
    credit: LOO,
  };
  const ask: Scene['ask'] = (position, pairs, changes = {}, signal = new AbortController().signal) =>
    replayMessage(
      { message: messages[position] ?? 0, alternatives: pairs, replays: 1, text: null, design: 'paired', ...changes },
      { ...dependencies, ...changes },
      { signal, onProgress: (_, done, total) => reported.push(`${done} of ${total}`) },
    );
  return { store, made, messages, ask, reported };
}

const numbersOf = (replays: readonly Replay[]): number[] =>
  replays.map(({ replayIndex }) => replayIndex).sort((a, b) => a - b);
const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

/** The streams of every message below an alternative, on the way to a leaf. */
function streamsOf(store: StoreWriter, { alternative, leaf }: Replay): string[] {
  const streams: string[] = [];
  for (
    let one: FullMessage = store.fullMessage(leaf);
    one.id !== alternative;
    one = store.fullMessage(one.parent ?? 0)
  ) {
    streams.unshift(one.streamKey);
  }
  return streams;
}

describe('paired replays', () => {
  it('continue each alternative once, and the message itself once on the numbers of each', async (t) => {
    for (const protocol of [PAIR, CHAIN, PARALLEL, CHECKPOINTS]) {
      const here = await scene(t, protocol);
      const bucket = await here.ask(0, 11);
      const byAlternative = Map.groupBy(here.store.replaysOfBucket(bucket.id), ({ alternative }) => alternative);
      const own = byAlternative.get(here.messages[0] ?? 0) ?? [];
      assert.deepEqual(numbersOf(own), upTo(11), protocol.name);
      const taken: string[] = [];
      for (const { message, index, original } of bucket.alternatives) {
        if (original) {
          continue;
        }
        const [only, ...more] = byAlternative.get(message) ?? [];
        assert.ok(only !== undefined && more.length === 0);
        assert.equal(only.replayIndex, index - 1);
        const mate = own.find(({ replayIndex }) => replayIndex === only.replayIndex);
        assert.ok(mate);
        assert.deepEqual(streamsOf(here.store, only), streamsOf(here.store, mate), 'a pair shares its numbers');
        taken.push(here.store.fullMessage(message).streamKey, ...streamsOf(here.store, only));
      }
      assert.equal(taken.length, 11 * protocol.occurrences.length);
      assert.equal(new Set(taken).size, taken.length, `${protocol.name}: no two pairs share a number`);
      assert.equal(bucket.spent, 22);
      assert.equal(here.reported.at(-1), '22 of 22');
      assert.equal(
        classifyDraws(here.store.replaysOfBucket(bucket.id), (id) => here.store.fullMessage(id).streamKey),
        'paired',
      );
    }
  });

  it('draw the numbers that replay i draws in a crossed request, and go on with them from chunk to chunk', async (t) => {
    const [paired, crossed] = [await scene(t, CHAIN), await scene(t, CHAIN)];
    const [some, all] = [await paired.ask(0, 19), await crossed.ask(0, 19, { design: 'crossed', replays: 19 })];
    const outcome = ({ store }: Scene, bucket: BucketView): Map<string, unknown> => {
      const indices = new Map(bucket.alternatives.map(({ message, index }) => [message, index]));
      return new Map(
        store
          .replaysOfBucket(bucket.id)
          .map(({ alternative, replayIndex, leaf, return: value }) => [
            `${String(indices.get(alternative))} ${replayIndex}`,
            [store.chain(leaf).map(({ text }) => text), value],
          ]),
      );
    };
    const whole = outcome(crossed, all);
    const pairs = outcome(paired, some);
    assert.equal(pairs.size, 38);
    for (const [name, value] of pairs) {
      assert.deepEqual(value, whole.get(name), name);
    }
  });

  it('take one replay a pair where the text of the message determines its return', async (t) => {
    const here = await scene(t, PAIR);
    const bucket = await here.ask(1, 9);
    assert.deepEqual(
      bucket.alternatives.map(({ returns }) => returns.length),
      Array.from({ length: 10 }, () => 1),
    );
    assert.deepEqual([bucket.spent, here.reported.at(-1), here.made.policy.requests.length], [9, '9 of 9', 9]);
  });

  it('stop after the chunk that decides, and say how many they took', async (t) => {
    for (const [position, perPair] of [
      [0, 2],
      [1, 1],
    ] as const) {
      const here = await scene(t, PAIR);
      const looked: number[] = [];
      const decided = (bucket: BucketView): boolean => {
        looked.push(bucket.alternatives.length - 1);
        assert.ok(
          bucket.alternatives.every(({ returns }) => returns.length > 0),
          'what is looked at is complete',
        );
        return bucket.alternatives.length > 16;
      };
      const bucket = await here.ask(position, 500, { decided });
      assert.deepEqual([looked, bucket.spent], [[8, 16], 16 * perPair]);
      assert.equal(here.store.replaysOfBucket(bucket.id).length, position === 0 ? 32 : 17);
      assert.equal(here.store.credits(bucket.id).length, 17);
    }
  });

  it('count what each call cost once, also where alternatives are scored themselves', async (t) => {
    const policy = new ScriptedPolicy(({ context, streamKey }) =>
      digest(context, streamKey) % 2 === 0 ? 'one' : 'other',
    );
    const here = await scene(t, CHECKPOINTS, policy);
    const bucket = await here.ask(0, 12);
    assert.equal(
      bucket.alternatives.reduce((sum, { evaluatorCalls }) => sum + evaluatorCalls, 0),
      here.made.evaluator.calls,
    );
    // Twelve drafts and the message itself, of two texts; a message equal to its alternative is continued alike.
    const equal = bucket.alternatives.filter(
      ({ text, original }) => !original && text === bucket.alternatives[0]?.text,
    ).length;
    assert.ok(equal > 0 && equal < 12);
    assert.equal(here.made.policy.requests.length, 12 + 24 - equal);
    const leaves = here.store.replaysOfBucket(bucket.id).map(({ leaf }) => here.store.fullMessage(leaf));
    assert.equal(
      leaves.filter(({ promptTokens, reusedTokens }) =>
        isReusedAnswer({ prompt: new Int32Array(promptTokens), reusedTokens }),
      ).length,
      equal,
    );
    assert.equal(bucket.spent, 24);
  });

  it('keep what arrived when they are cancelled half-way, and can go on in another request', async (t) => {
    const here = await scene(t, PAIR);
    // The second chunk: eight alternatives, then five of sixteen continuations.
    here.made.policy.answersLeft = 8 + 16 + 8 + 5;
    await assert.rejects(here.ask(0, 20), CancelledError);
    const [bucket] = here.store.bucketsFor(here.messages[0] ?? 0);
    assert.ok(bucket);
    assert.equal(bucket.alternatives.length, 1 + 16);
    assert.equal(here.store.replaysOfBucket(bucket.id).length, 16 + 5);
    assert.ok(here.store.replaysOfBucket(bucket.id).every(({ return: value }) => value !== null));
    here.made.policy.answersLeft = Infinity;
    const next = await here.ask(0, 4);
    assert.equal(next.spent, 8);
    const streams = (id: number): string[] =>
      here.store.replaysOfBucket(id).map(({ leaf }) => here.store.fullMessage(leaf).streamKey);
    assert.equal(
      streams(next.id).filter((key) => streams(bucket.id).includes(key)).length,
      0,
      'another request draws fresh numbers',
    );
  });

  it('give the same rows in whatever order answers arrive', async (t) => {
    const rows = async (shuffled: boolean): Promise<unknown> => {
      const policy = new ScriptedPolicy();
      policy.shuffled = shuffled;
      const here = await scene(t, CHAIN, policy);
      const bucket = await here.ask(1, 10);
      return bucket.alternatives.map(({ index, text, returns }) => [index, text, returns.toSorted()]);
    };
    assert.deepEqual(await rows(true), await rows(false));
  });

  it('are refused with a text, further replays or numbers out of bounds, before anything is stored', async (t) => {
    const here = await scene(t, PAIR);
    const before = here.store.counts();
    for (const changes of [{ text: 'mine' }, { replays: 2 }]) {
      await assert.rejects(() => here.ask(0, 4, changes), errorOfKind('input', /In pairs/));
    }
    for (const pairs of [0, 1001, 1.5]) {
      await assert.rejects(() => here.ask(0, pairs), errorOfKind('input', /pairs must be/));
    }
    assert.deepEqual(here.store.counts(), before);
  });
});

describe('paired replays and the headline', () => {
  /** A plan is good or bad by its stream, and the solution after it right nine or one times in ten, by its own. */
  const team = (): ScriptedPolicy =>
    new ScriptedPolicy(({ context, streamKey }) => {
      const u = (digest(streamKey, 'u') % 1000) / 1000;
      if (context.startsWith('Plan')) {
        return u < 0.5 ? 'good' : 'bad';
      }
      return u < (context.includes('good') ? 0.9 : 0.1) ? 'right' : 'wrong';
    });
  const begin = async (t: TestContext): Promise<Scene> =>
    scene(t, PAIR, team(), new CountingEvaluator((text) => (text === 'right' ? 1 : 0)));

  /** Differences between the message and each alternative on the stream that they share, from the rows. */
  const differences = (store: StoreWriter, bucket: BucketView): number[] => {
    const replays = store.replaysOfBucket(bucket.id);
    const own = new Map(
      replays
        .filter(({ alternative }) => alternative === bucket.message)
        .map(({ replayIndex, return: value }) => [replayIndex, value]),
    );
    return replays.flatMap(({ alternative, replayIndex, return: value }) => {
      const mate = own.get(replayIndex) ?? null;
      return alternative === bucket.message || value === null || mate === null ? [] : [mate - value];
    });
  };
  const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

  it('stop once its interval leaves 0, on the side of what the message is worth', async (t) => {
    const here = await begin(t);
    const bucket = await here.ask(0, 500, { decided: isDecidedIn });
    const credit = here.store.message(here.messages[0] ?? 0).credit;
    const good = here.store.message(here.messages[0] ?? 0).text === 'good';
    assert.ok(credit);
    assert.equal(credit.verdict, good ? 'helped' : 'hurt');
    assert.deepEqual(bucket.alternatives[0]?.credit, credit);
    const found = differences(here.store, bucket);
    assert.ok(found.length % 8 === 0 && found.length < 500, 'it stopped after a chunk, long before the end');
    assert.deepEqual([bucket.spent, credit.effectiveN, credit.more], [2 * found.length, found.length, 0]);
    assert.ok(Math.abs(credit.value - mean(found)) < 1e-12);
  });

  it('count for it what arrived before a cancel', async (t) => {
    const here = await begin(t);
    const looked = (bucket: BucketView): boolean => {
      // Two chunks are whole; of the third, five alternatives arrive.
      if (bucket.alternatives.length > 16) {
        here.made.policy.answersLeft = 5;
      }
      return false;
    };
    await assert.rejects(here.ask(0, 400, { decided: looked }), CancelledError);
    const [bucket] = here.store.bucketsFor(here.messages[0] ?? 0);
    assert.ok(bucket);
    const found = differences(here.store, bucket);
    assert.equal(found.length, 16);
    assert.equal(bucket.alternatives.length, 1 + 16 + 5, 'the alternatives of the third chunk that arrived are kept');
    const credit = here.store.message(here.messages[0] ?? 0).credit;
    assert.equal(credit?.effectiveN, 16);
    assert.ok(Math.abs(credit.value - mean(found)) < 1e-12);
    const before = here.store.replaysOfBucket(bucket.id).length;
    here.made.policy.answersLeft = Infinity;
    await here.ask(0, 8);
    assert.equal(here.store.replaysOfBucket(bucket.id).length, before);
    assert.equal(here.store.message(here.messages[0] ?? 0).credit?.effectiveN, 24);
  });
});

describe('settling', () => {
  it('takes what a headline expects, within its limits, and turns it into pairs', () => {
    assert.deepEqual(
      [settleReplays(null), settleReplays(0), settleReplays(12), settleReplays(5000)],
      [1000, 4, 12, 1000],
    );
    assert.deepEqual(
      [countAffordablePairs(4, false), countAffordablePairs(5, false), countAffordablePairs(5, true)],
      [2, 2, 5],
    );
  });

  it('is refused in one sentence where it makes no sense', () => {
    const settle = { replays: 12 };
    assert.equal(settleFault({ settle, text: null }), null);
    assert.equal(settleFault({ text: 'mine', independent: true }), null);
    assert.match(settleFault({ settle, text: 'mine' }) ?? '', /replay the text first/);
    assert.match(settleFault({ settle, text: null, independent: true }) ?? '', /leave out the independent/);
    for (const replays of [SETTLE_LIMITS.least - 1, SETTLE_LIMITS.most + 1, 4.5, Number.NaN]) {
      assert.match(settleFault({ settle: { replays }, text: null }) ?? '', /from 4 to 1,000/);
    }
  });
});
