import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { creditGroup } from '../../../src/credit/estimators.ts';
import type { FullMessage } from '../../../src/domain/message.ts';
import { AS_RECORDED, classifyDraws, type ContinuationChoice, type BucketView } from '../../../src/domain/replay.ts';
import type { Policy } from '../../../src/policy/policy.ts';
import { growEpisodes } from '../../../src/replay/episodes.ts';
import { replayMessage } from '../../../src/replay/replayMessage.ts';
import type { ReplayDependencies, ReplayRequest } from '../../../src/replay/request.ts';
import type { TreeMessage } from '../../../src/replay/tree.ts';
import { CancelledError } from '../../../src/shared/errors.ts';
import type { StoreWriter } from '../../../src/store/write/writer.ts';
import { hashContext } from '../../../src/team/contextKey.ts';
import { parseProtocol } from '../../../src/team/parseProtocol.ts';
import type { Protocol } from '../../../src/team/protocol.ts';
import { renderPlain } from '../../../src/team/render.ts';
import { makeSignalAbortedWhen } from '../../support/signals.ts';
import {
  CHAIN,
  CHECKPOINTS,
  errorOfKind,
  problems,
  LOO,
  NEVER,
  PAIR,
  PARALLEL,
  RUN,
  SAMPLING,
  ScriptedPolicy,
  starts,
  storeFor,
  storePath,
  TWICE,
  world,
  type CountingEvaluator,
} from './helpers.ts';

const ALL = problems(1);

interface Scene {
  readonly store: StoreWriter;
  readonly dependencies: ReplayDependencies;
  readonly policy: ScriptedPolicy;
  readonly evaluator: CountingEvaluator;
  /** Ids of the messages of one episode, in order. */
  readonly messages: number[];
}

/** One stored episode of a protocol. */
async function scene(
  t: TestContext,
  protocol: Protocol,
  changes: { readonly policy?: ScriptedPolicy; readonly temperature?: number } = {},
): Promise<Scene> {
  const sampling = { ...SAMPLING, temperature: changes.temperature ?? 1 };
  const made = world(protocol, { sampling, ...(changes.policy && { policy: changes.policy }) });
  const store = storeFor(t, ALL);
  const messages: number[] = [];
  let message: TreeMessage | undefined = (await growEpisodes(made.settings, starts(ALL), [], NEVER))[0];
  for (; message !== undefined; message = message.children[0]) {
    storePath(store, protocol, message);
    messages.push(message.stored ?? 0);
  }
  made.policy.requests.length = 0;
  made.evaluator.calls = 0;
  return {
    store,
    messages,
    policy: made.policy,
    evaluator: made.evaluator,
    dependencies: {
      store,
      protocol,
      render: renderPlain,
      policy: made.policy,
      evaluator: made.evaluator,
      sampling: SAMPLING,
      seed: 5,
      returnBound: 10,
      credit: LOO,
    },
  };
}

interface Told {
  readonly bucket: BucketView;
  readonly done: number;
  readonly total: number;
}

function ask(
  { dependencies, messages }: Scene,
  position: number,
  changes: Partial<ReplayRequest> = {},
  told: Told[] = [],
): Promise<BucketView> {
  const request = { message: messages[position] ?? 0, alternatives: 3, replays: 2, text: null, ...changes };
  return replayMessage(request, dependencies, {
    signal: new AbortController().signal,
    onProgress: (bucket, done, total) => told.push({ bucket, done, total }),
  });
}

/** The messages below an alternative in a bucket's request, by replay index. */
function continuations(store: StoreWriter, bucket: BucketView, alternative: number): FullMessage[][] {
  return store
    .replaysOfBucket(bucket.id)
    .filter((replay) => replay.alternative === alternative)
    .map(({ leaf }) => {
      const path: FullMessage[] = [];
      for (let id: number | null = leaf; id !== null && id !== alternative; id = path[0]?.parent ?? null) {
        path.unshift(store.fullMessage(id));
      }
      return path;
    });
}

describe('replayMessage', () => {
  it('samples alternatives in the frozen context and continues each to the end, the message itself first', async (t) => {
    const here = await scene(t, PAIR);
    const { store, messages, evaluator } = here;
    const bucket = await ask(here, 0);
    const original = store.fullMessage(messages[0] ?? 0);
    assert.deepEqual(
      bucket.alternatives.map((one) => [one.index, one.original, one.returns.length]),
      [
        [0, true, 2],
        [1, false, 2],
        [2, false, 2],
        [3, false, 2],
      ],
    );
    assert.equal(bucket.alternatives[0]?.message, messages[0]);
    assert.deepEqual(
      [bucket.origin, bucket.message, bucket.contextKey, bucket.snapshot],
      ['request', messages[0], original.contextKey, original.snapshot],
    );
    for (const { message } of bucket.alternatives) {
      assert.equal(store.fullMessage(message).context, original.context);
    }
    assert.equal(evaluator.calls, 8);
    assert.equal(
      store.replaysOfBucket(bucket.id).reduce((total, replay) => total + replay.evaluatorCalls, 0),
      8,
    );
  });

  it('scores a terminal message once, whatever number of replays was asked for', async (t) => {
    const here = await scene(t, PAIR);
    const bucket = await ask(here, 1, { replays: 5 });
    assert.deepEqual(
      bucket.alternatives.map((one) => [one.returns.length, one.evaluatorCalls]),
      [
        [1, 1],
        [1, 1],
        [1, 1],
        [1, 1],
      ],
    );
    assert.equal(here.policy.requests.length, 3);
    assert.equal(here.evaluator.calls, 4);
    for (const { alternative, leaf } of here.store.replaysOfBucket(bucket.id)) {
      assert.equal(leaf, alternative);
    }
  });

  it('credits what the store then says the returns are', async (t) => {
    for (const position of [0, 1]) {
      const here = await scene(t, PAIR);
      const bucket = await ask(here, position, { alternatives: 6, replays: 3 });
      assert.deepEqual(
        bucket.alternatives.map(({ bucketCredit }) => bucketCredit),
        creditGroup({ alternatives: bucket.alternatives }, 'loo'),
      );
      assert.ok(bucket.alternatives.some(({ credit }) => credit !== null && credit.value !== 0));
      assert.deepEqual(
        here.store.message(bucket.message ?? 0).credit,
        bucket.alternatives[0]?.credit,
        'the message shows what its bucket pools to',
      );
      assert.deepEqual(here.store.bucketView(bucket.id), bucket);
      assert.equal(here.store.credits(bucket.id).length, 7);
    }
  });

  it('stores every continuation under its alternative, with the context that it really had', async (t) => {
    const here = await scene(t, PARALLEL);
    const bucket = await ask(here, 1);
    for (const { message, text } of bucket.alternatives) {
      const paths = continuations(here.store, bucket, message);
      assert.deepEqual(
        paths.map((path) => path.map(({ role }) => role)),
        [
          ['right', 'integrator'],
          ['right', 'integrator'],
        ],
      );
      for (const [right, integrator] of paths) {
        assert.ok(right && integrator);
        assert.ok(
          !right.context.includes(text) && integrator.context.includes(text) && integrator.context.includes(right.text),
        );
      }
    }
  });

  it('lets replay m of every alternative draw the same numbers, and no two replays of one the same', async (t) => {
    for (const protocol of [PAIR, CHAIN, PARALLEL, TWICE]) {
      const here = await scene(t, protocol);
      const bucket = await ask(here, 0, { replays: 3 });
      const streams = bucket.alternatives.map(({ message }) =>
        continuations(here.store, bucket, message).map((path) => path.map(({ streamKey }) => streamKey)),
      );
      for (const replays of streams) {
        assert.deepEqual(replays, streams[0]);
      }
      const keys = streams[0]?.flat() ?? [];
      assert.equal(keys.length, 3 * (protocol.occurrences.length - 1));
      const alternatives = bucket.alternatives.map(({ message }) => here.store.fullMessage(message).streamKey);
      assert.equal(new Set([...keys, ...alternatives]).size, keys.length + 4, protocol.name);
    }
  });

  it('lets every alternative draw numbers of its own where it is asked to', async (t) => {
    for (const protocol of [PAIR, CHAIN, PARALLEL, TWICE]) {
      const here = await scene(t, protocol);
      // The clicked message comes first in the bucket, whatever its place in the run.
      const clicked = here.store.fullMessage(here.messages[0] ?? 0);
      here.messages[0] = here.store.insertMessage({ ...clicked, siblingIndex: 1 });
      const bucket = await ask(here, 0, { replays: 3, text: 'typed', independent: true });
      const keys = bucket.alternatives.flatMap(({ message }) =>
        continuations(here.store, bucket, message).flatMap((path) => path.map(({ streamKey }) => streamKey)),
      );
      assert.equal(keys.length, 5 * 3 * (protocol.occurrences.length - 1));
      assert.equal(new Set(keys).size, keys.length, protocol.name);
      // What is sampled stays the same: only what continues it draws otherwise.
      const shared = await scene(t, protocol);
      assert.deepEqual(
        (await ask(shared, 0, { replays: 3 })).alternatives.map(({ text }) => text),
        bucket.alternatives.slice(0, 4).map(({ text }) => text),
      );
    }
  });

  it('says that a policy takes no seeds, and names no stream', async (t) => {
    const here = await scene(t, PAIR);
    here.policy.seeded = false;
    const remarks: string[] = [];
    const request = { message: here.messages[0] ?? 0, alternatives: 2, replays: 2, text: null };
    const bucket = await replayMessage(request, here.dependencies, {
      signal: new AbortController().signal,
      onProgress: () => undefined,
      onRemark: (remark) => remarks.push(remark),
    });
    assert.deepEqual(remarks, ['The endpoint takes no seeds: common random numbers and exact verification are off.']);
    assert.equal(
      classifyDraws(here.store.replaysOfBucket(bucket.id), (id) => here.store.fullMessage(id).streamKey),
      'unseeded',
    );
    const told: string[] = [];
    await replayMessage(
      request,
      { ...here.dependencies, policy: new ScriptedPolicy() },
      { signal: new AbortController().signal, onProgress: () => undefined, onRemark: (remark) => told.push(remark) },
    );
    assert.deepEqual(told, []);
  });

  it('draws other numbers for a second request, also one for the message after', async (t) => {
    const here = await scene(t, CHAIN);
    const requests = [await ask(here, 0), await ask(here, 0), await ask(here, 2)];
    assert.deepEqual(
      requests.map(({ iteration }) => iteration),
      [1, 2, 3],
    );
    const keys = here.policy.requests.map(({ streamKey }) => streamKey);
    // Alternatives have numbers of their own; continuations share theirs by replay index.
    assert.equal(new Set(keys).size, 3 + 2 * 3 + (3 + 2 * 3) + (3 + 2));
    assert.deepEqual(
      here.store.bucketsFor(here.messages[0] ?? 0).map(({ id }) => id),
      requests.slice(0, 2).map(({ id }) => id),
    );
  });

  it('gives the same bucket for the same request on the same store', async (t) => {
    const [one, other] = [await ask(await scene(t, CHAIN), 1), await ask(await scene(t, CHAIN), 1)];
    assert.deepEqual(one, other);
  });

  it('takes a typed message beside the sampled ones', async (t) => {
    const here = await scene(t, PAIR);
    const bucket = await ask(here, 0, { alternatives: 2, text: 'my own plan \ud800' });
    assert.deepEqual(
      bucket.alternatives.map((one) => [one.index, one.original, one.finish]),
      [
        [0, true, 'end'],
        [1, false, 'end'],
        [2, false, 'end'],
        [3, false, 'typed'],
      ],
    );
    const typed = bucket.alternatives[3];
    assert.equal(typed?.text, 'my own plan \ufffd');
    for (const [actor] of continuations(here.store, bucket, typed.message)) {
      assert.ok(actor);
      assert.ok(actor.context.includes('Context:\nmy own plan \ufffd\n'));
      assert.equal(actor.contextKey, hashContext(actor.context).key, 'the key is that of the bytes that are stored');
    }
    const alone = await ask(here, 1, { alternatives: 0, text: '#### 4' });
    assert.deepEqual(
      alone.alternatives.map(({ text, returns }) => [text === '#### 4', returns.length]),
      [
        [false, 1],
        [true, 1],
      ],
    );
  });

  it('reports k of n as alternatives are complete, with all that is known so far', async (t) => {
    for (const [position, text] of [
      [0, null],
      [1, null],
      [0, 'typed'],
    ] as const) {
      const here = await scene(t, PAIR);
      const told: Told[] = [];
      const bucket = await ask(here, position, { alternatives: 3, text }, told);
      const total = text === null ? 3 : 4;
      assert.deepEqual(new Set(told.map((one) => one.total)), new Set([total]));
      assert.deepEqual(
        [...new Set(told.map(({ done }) => done))],
        Array.from({ length: total + 1 }, (_, k) => k),
      );
      assert.deepEqual(
        told.map(({ done }) => done),
        told.map(({ done }) => done).toSorted((a, b) => a - b),
      );
      assert.deepEqual(told.at(-1)?.bucket, bucket);
      for (const one of told) {
        const complete = one.bucket.alternatives.filter(
          (alternative) => !alternative.original && alternative.returns.length === (position === 0 ? 2 : 1),
        );
        assert.equal(complete.length, one.done);
        const measured = one.bucket.alternatives.filter(({ returns }) => returns.length > 0).length;
        if (measured < 2) {
          assert.ok(
            one.bucket.alternatives.every(({ bucketCredit }) => bucketCredit === null),
            'one alone is not compared with anything',
          );
        } else {
          assert.deepEqual(
            one.bucket.alternatives.map(({ bucketCredit }) => bucketCredit),
            creditGroup({ alternatives: one.bucket.alternatives }, 'loo'),
          );
        }
      }
    }
  });

  it('bounds its reports however much is asked for', async (t) => {
    const here = await scene(t, PAIR);
    here.policy.shuffled = true;
    const told: Told[] = [];
    await ask(here, 0, { alternatives: 9, replays: 59 }, told);
    assert.ok(told.length < 330, String(told.length));
    assert.deepEqual(
      [...new Set(told.map(({ done }) => done))],
      Array.from({ length: 10 }, (_, k) => k),
    );
  });

  it('keeps what arrived when it is cancelled, and can be asked again', async (t) => {
    const here = await scene(t, PAIR);
    const messages = here.store.counts().messages;
    here.policy.answersLeft = 5;
    await assert.rejects(ask(here, 0), CancelledError);
    const [bucket] = here.store.bucketsFor(here.messages[0] ?? 0);
    assert.ok(bucket);
    assert.deepEqual(
      bucket.alternatives.map(({ index }) => index),
      [0, 1, 2, 3],
    );
    assert.equal(here.store.counts().messages, messages + 5);
    assert.equal(here.store.replaysOfBucket(bucket.id).length, 2);
    assert.deepEqual(
      bucket.alternatives.map(({ returns }) => returns.length),
      [0, 0, 0, 2],
    );
    assert.equal(here.store.credits(bucket.id).length, 0);
    here.policy.answersLeft = Infinity;
    assert.deepEqual(
      [(await ask(here, 0)).iteration, here.store.countBuckets({ run: RUN, origin: 'request' })],
      [2, 2],
    );
  });

  it('starts no evaluation after a cancel, and keeps what was scored before', async (t) => {
    for (const position of [0, 1]) {
      const here = await scene(t, PAIR);
      const { evaluator, store, messages } = here;
      // Everything is answered in one go, as the last decode step of a batch does: the cancel comes while the fourth
      // call continues.
      const deaf: Policy = {
        snapshot: here.policy.snapshot,
        environment: here.policy.environment,
        seeded: true,
        typed: (request) => here.policy.typed(request),
        answer: (requests, control) =>
          here.policy.answer(requests, { ...control, signal: new AbortController().signal }),
      };
      const request = { message: messages[position] ?? 0, alternatives: 8, replays: 4, text: null };
      await assert.rejects(
        replayMessage(
          request,
          { ...here.dependencies, policy: deaf },
          { signal: makeSignalAbortedWhen(() => evaluator.calls >= 4), onProgress: () => undefined },
        ),
        CancelledError,
      );
      assert.equal(evaluator.calls, 4);
      const bucket = store.bucketsFor(messages[position] ?? 0).at(-1);
      assert.ok(bucket && store.replaysOfBucket(bucket.id).length > 0 && store.replaysOfBucket(bucket.id).length <= 4);
    }
  });

  it("continues with the weights and the temperature that it is given, and the store distinguishes them from the message's", async (t) => {
    const here = await scene(t, PAIR);
    const { store } = here;
    const later = 'cd'.repeat(32);
    store.insertSnapshot({ id: later, run: RUN, iteration: 1, base: 'nowhere', file: null });
    const policy: Policy = {
      snapshot: later,
      environment: here.policy.environment,
      seeded: true,
      typed: (request) => here.policy.typed(request),
      answer: (requests, control) => here.policy.answer(requests, control),
    };
    const changed = {
      ...here,
      dependencies: { ...here.dependencies, policy, sampling: { ...SAMPLING, temperature: 0.5 } },
    };
    const bucket = await ask(changed, 0, { text: 'typed' });
    assert.deepEqual(
      [bucket.continuation?.differs, bucket.continuation?.step, bucket.continuation?.temperature],
      [{ snapshot: true, temperature: true, model: false }, 1, 0.5],
    );
    for (const { message, original } of bucket.alternatives) {
      assert.equal(store.fullMessage(message).context, store.fullMessage(here.messages[0] ?? 0).context);
      assert.deepEqual(
        [store.fullMessage(message).snapshot, store.fullMessage(message).sampling.temperature],
        original ? [here.policy.snapshot, 1] : [later, 0.5],
      );
    }
    assert.equal((await ask(here, 0)).continuation, null);
  });

  it('refuses a choice out of bounds before anything is stored', async (t) => {
    const here = await scene(t, PAIR);
    const refused = async (choice: Partial<ContinuationChoice>, pattern: RegExp): Promise<void> => {
      await assert.rejects(
        ask(here, 0, { continuation: { ...AS_RECORDED, ...choice } }),
        errorOfKind('input', pattern),
      );
    };
    for (const temperature of [0, -1, 10.5, NaN]) {
      await refused({ temperature }, /temperature must be a number from 0\.01 to 10/);
    }
    await refused({ snapshot: 'none' }, /"none" is not a snapshot/);
    await refused({ snapshot: 'abc' }, /is not a snapshot/);
    await refused({ snapshot: '1', model: '/models/other' }, /not both/);
    await refused({ model: ' ' }, /must be the path of a folder/);
    assert.equal(here.store.countBuckets({ run: RUN, origin: 'request' }), 0);
  });

  it('samples alternatives of a message that was picked greedily', async (t) => {
    const here = await scene(t, PAIR, { temperature: 0 });
    assert.equal(here.store.fullMessage(here.messages[0] ?? 0).sampling.temperature, 0);
    const bucket = await ask(here, 0);
    assert.deepEqual(
      here.policy.requests.map(({ sampling }) => sampling.temperature),
      here.policy.requests.map(() => 1),
    );
    assert.ok(new Set(bucket.alternatives.map(({ text }) => text)).size > 1);
  });

  it("gives every role of a continuation its own cap on new tokens, not the replayed message's", async (t) => {
    const here = await scene(t, PAIR);
    await ask(here, 0, { text: 'typed' });
    const caps = Map.groupBy(here.policy.requests, ({ context }) => context.slice(0, 4));
    assert.deepEqual(new Set(caps.get('Plan')?.map(({ sampling }) => sampling.maxNewTokens)), new Set([7]));
    assert.deepEqual(
      new Set(caps.get('Solv')?.map(({ sampling }) => sampling.maxNewTokens)),
      new Set([SAMPLING.maxNewTokens]),
    );
  });

  it('adds up checkpoints and counts their calls once', async (t) => {
    const here = await scene(t, CHECKPOINTS);
    const bucket = await ask(here, 0);
    const score = async (text: string): Promise<number> =>
      (await here.evaluator.evaluate(ALL[0] ?? assert.fail(), text)).score ?? 0;
    for (const { message, text, returns, evaluatorCalls } of bucket.alternatives) {
      const paths = continuations(here.store, bucket, message);
      assert.deepEqual(
        returns,
        await Promise.all(paths.map(async ([last]) => (await score(text)) + (await score(last?.text ?? '')))),
      );
      assert.equal(evaluatorCalls, 1 + 2);
    }
  });

  it('refuses what is out of bounds and changes nothing', async (t) => {
    const here = await scene(t, PAIR);
    const before = here.store.counts();
    const wrong: readonly (readonly [Partial<ReplayRequest>, RegExp])[] = [
      [{ alternatives: -1 }, /alternatives must be a whole number from 0 to 256/],
      [{ alternatives: 257 }, /alternatives/],
      [{ alternatives: 1.5 }, /alternatives/],
      [{ replays: 0 }, /replays must be a whole number from 1 to 256/],
      [{ replays: 257 }, /replays/],
      [{ alternatives: 0 }, /Nothing to replay/],
      [{ text: 'x'.repeat(16_385) }, /longer than 16384 characters/],
      [{ message: 999 }, /no message 999/],
    ];
    for (const [changes, pattern] of wrong) {
      await assert.rejects(ask(here, 0, changes), errorOfKind('input', pattern));
    }
    const renamed = parseProtocol(
      JSON.stringify([
        { role: 'reasoner', prompt: 'Plan well.' },
        { role: 'actor', prompt: 'Solve.', depends_on: ['reasoner'] },
      ]),
      'other.json',
    );
    await assert.rejects(
      ask({ ...here, dependencies: { ...here.dependencies, protocol: renamed } }, 0),
      errorOfKind('engine', /renders to other bytes/),
    );
    assert.deepEqual(here.store.counts(), before);
    assert.equal(here.policy.requests.length, 0);
  });
});
