import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { BucketView } from '../../../src/domain/replay.ts';
import { LedgerCounter } from '../../../src/replay/budget.ts';
import { growEpisodes } from '../../../src/replay/episodes.ts';
import { recordSubtree, recordTrainingTree } from '../../../src/replay/recordTree.ts';
import { replayMessage } from '../../../src/replay/replayMessage.ts';
import type { ReplayRequest } from '../../../src/replay/request.ts';
import { isReusedAnswer, countReused } from '../../../src/replay/reuse.ts';
import { countMessageCalls, findLeaves, type TreeMessage } from '../../../src/replay/tree.ts';
import type { StoreWriter } from '../../../src/store/types.ts';
import type { Protocol } from '../../../src/team/protocol.ts';
import { renderPlain } from '../../../src/team/render.ts';
import {
  allNodes,
  CHAIN,
  CHECKPOINTS,
  CountingEvaluator,
  digest,
  problems,
  LOO,
  NEVER,
  PAIR,
  ROUND,
  RUN,
  SAMPLING,
  ScriptedPolicy,
  starts,
  storeFor,
  storePath,
  world,
  type World,
} from './helpers.ts';

const ALL = problems(1);
const [FIRST, SECOND] = problems(2);
assert.ok(FIRST && SECOND);

/** Says one of two things, by context and stream alone: so that much comes twice. */
const repeating = (): ScriptedPolicy =>
  new ScriptedPolicy(({ context, streamKey }) => (digest(context, streamKey) % 2 === 0 ? 'one' : 'other'));
const growAll = (made: World, fanout: readonly number[], reuse?: false): Promise<TreeMessage[]> =>
  growEpisodes({ ...made.settings, ...(reuse === false && { reuse }) }, starts([FIRST, SECOND]), fanout, NEVER);

/** Everything of a node that is no cost. */
const kept = (message: TreeMessage): unknown => ({
  place: [message.problem.uid, message.position, message.sibling, message.alternative, message.replay],
  context: message.context,
  stream: message.streamKey,
  text: message.answer.text,
  tokens: [...message.answer.tokens],
  logprobs: [...message.answer.logprobs],
  finish: message.answer.finish,
  score: message.score?.score,
  rule: message.score?.rule,
});
const CASES: readonly (readonly [Protocol, readonly number[]])[] = [
  [PAIR, [4, 4]],
  [PAIR, [1, 6]],
  [CHAIN, [3, 2, 1, 2]],
  [CHECKPOINTS, [4, 4]],
];

describe('reuse in a tree', () => {
  it('changes no message and no score, only what is paid', async () => {
    for (const [protocol, fanout] of CASES) {
      for (const commonRandomNumbers of [true, false]) {
        const words = `${protocol.name} ${fanout.join(',')} ${String(commonRandomNumbers)}`;
        const [made, whole] = [
          world(protocol, { policy: repeating(), commonRandomNumbers }),
          world(protocol, { policy: repeating(), commonRandomNumbers }),
        ];
        const [reused, all] = [await growAll(made, fanout), await growAll(whole, fanout, false)];
        assert.deepEqual(allNodes(reused).map(kept), allNodes(all).map(kept), words);
        assert.ok(made.evaluator.calls < whole.evaluator.calls, words);
        assert.equal(
          made.policy.requests.length < whole.policy.requests.length,
          commonRandomNumbers && fanout[0] !== 1,
          words,
        );
        assert.equal(made.settings.budget.calls, whole.settings.budget.calls, 'a budget counts what was asked for');
        assert.equal(whole.evaluator.calls, whole.settings.budget.calls);
        assert.ok(allNodes(all).every((message) => !isReusedAnswer(message.answer) && message.score?.reused !== true));
      }
    }
  });

  it('pays for the first in order, whatever arrives first', async () => {
    for (const shuffled of [false, true]) {
      const policy = repeating();
      policy.shuffled = shuffled;
      const made = world(PAIR, { policy });
      const messages = allNodes(await growAll(made, [4, 4])).sort((a, b) => a.position - b.position);
      const [asked, scored] = [new Set<string>(), new Set<string>()];
      for (const grown of messages) {
        const request = JSON.stringify([grown.context, grown.streamKey]);
        assert.equal(isReusedAnswer(grown.answer), asked.has(request));
        asked.add(request);
        if (grown.score === undefined) {
          continue;
        }
        const message = JSON.stringify([grown.problem.uid, grown.context, grown.answer.text]);
        assert.equal(grown.score.reused === true, scored.has(message));
        scored.add(message);
      }
      assert.equal(policy.requests.length, asked.size);
      assert.equal(made.evaluator.calls, scored.size);
    }
  });

  it('takes a greedy answer once for a context, and none where the policy takes no seeds', async () => {
    const greedy = world(PAIR, {
      policy: new ScriptedPolicy(({ context }) => String(digest(context) % 7)),
      sampling: { ...SAMPLING, temperature: 0 },
    });
    await growAll(greedy, [3, 3]);
    assert.equal(greedy.policy.requests.length, 2 + 2);
    const unseeded = world(PAIR, { policy: repeating() });
    unseeded.policy.seeded = false;
    await growAll(unseeded, [3, 3]);
    assert.equal(unseeded.policy.requests.length, 2 * (3 + 9));
  });

  it('evaluates again what was masked: that result is not determined', async () => {
    const made = world(PAIR, {
      policy: new ScriptedPolicy(() => 'same'),
      evaluator: new CountingEvaluator(() => null),
    });
    const roots = await growAll(made, [2, 2]);
    assert.equal(made.evaluator.calls, 8);
    assert.ok(roots.flatMap(findLeaves).every(({ score }) => score?.reused === false));
  });
});

describe('rows of reused results', () => {
  it('add up to what was paid, over replays and over episodes', async (t) => {
    for (const [protocol, fanout] of CASES) {
      const made = world(protocol, { policy: repeating() });
      const roots = await growAll(made, fanout);
      const store = storeFor(t, [FIRST, SECOND]);
      const size = fanout[0] ?? 1;
      const rule = (alternatives: Parameters<typeof LOO>[0]): ReturnType<typeof LOO> => LOO(alternatives);
      for (const start of [0, size]) {
        recordTrainingTree(store, roots.slice(start, start + size), protocol, ROUND, rule);
      }
      const rootBuckets = store
        .bucketsOfRun({ run: RUN, offset: 0, limit: 1000 })
        .filter(({ alternatives }) => alternatives.every(({ message }) => store.message(message).parent === null));
      const replayed = rootBuckets
        .flatMap(({ id }) => store.replaysOfBucket(id))
        .reduce((sum, { evaluatorCalls }) => sum + evaluatorCalls, 0);
      assert.equal(replayed, made.evaluator.calls, protocol.name);
      const requested = made.settings.budget.calls;
      assert.equal(
        requested - countReused(store.episodeCosts(RUN), null, protocol),
        made.evaluator.calls,
        protocol.name,
      );
      checkLedger(store, protocol, roots, made);
    }
  });

  it('of an evaluation do so too', async (t) => {
    const made = world(CHECKPOINTS, { policy: repeating(), commonRandomNumbers: false });
    const roots = await growAll(made, [6, 1]);
    const store = storeFor(t, [FIRST, SECOND]);
    recordSubtree(store, roots, CHECKPOINTS, { ...ROUND, phase: 'evaluate' });
    const { evaluatorCalls } = store.roundCost({ run: RUN, phase: 'evaluate', iteration: 1 });
    assert.equal(evaluatorCalls, made.evaluator.calls);
    assert.equal(
      countReused(store.episodeCosts(RUN), null, CHECKPOINTS),
      made.settings.budget.calls - made.evaluator.calls,
    );
  });

  it('that were stored before count as paid', async (t) => {
    const made = world(CHECKPOINTS, { policy: repeating() });
    const roots = await growAll(made, [4, 4], false);
    const store = storeFor(t, [FIRST, SECOND]);
    recordSubtree(store, roots, CHECKPOINTS, ROUND);
    assert.equal(countReused(store.episodeCosts(RUN), null, CHECKPOINTS), 0);
    assert.deepEqual(
      store.costs(RUN).map(({ reusedCompletionTokens }) => reusedCompletionTokens),
      [0, 0],
    );
  });
});

/** The ledger counted from nodes and from rows. */
function checkLedger(store: StoreWriter, protocol: Protocol, roots: readonly TreeMessage[], made: World): void {
  const counter = new LedgerCounter(() => 0);
  const messages = allNodes(roots);
  for (const message of messages) {
    counter.addMessage('any', message.answer);
    counter.addCalls(countMessageCalls(message));
  }
  const { evaluatorCalls, tokens } = counter.read();
  const costs = store.costs(RUN);
  const total = (of: (cost: (typeof costs)[number]) => number): number =>
    costs.reduce((sum, cost) => sum + of(cost), 0);
  assert.deepEqual(
    tokens,
    {
      prompt: total((one) => one.promptTokens),
      reused: total((one) => one.reusedTokens),
      completion: total((one) => one.completionTokens),
      reusedCompletion: total((one) => one.reusedCompletionTokens),
    },
    protocol.name,
  );
  assert.equal(evaluatorCalls, made.evaluator.calls);
  assert.equal(
    total((one) => one.completionTokens + one.reusedCompletionTokens),
    messages.reduce((sum, { answer }) => sum + answer.tokens.length, 0),
  );
  assert.equal(
    tokens.prompt,
    made.policy.requests.reduce((sum, { context }) => sum + Buffer.byteLength(context), 0),
  );
}

describe('reuse on request', () => {
  async function asked(
    t: TestContext,
    protocol: Protocol,
    position: number,
    changes: Partial<ReplayRequest>,
    reuse = true,
  ): Promise<{ readonly bucket: BucketView; readonly made: World; readonly store: StoreWriter }> {
    const made = world(protocol, { policy: repeating() });
    const store = storeFor(t, ALL);
    const [root] = await growEpisodes(made.settings, starts(ALL), [], NEVER);
    const [leaf] = root === undefined ? [] : findLeaves(root);
    assert.ok(leaf);
    storePath(store, protocol, leaf);
    let message = leaf;
    while (message.position > position) {
      message = message.parent ?? assert.fail();
    }
    made.policy.requests.length = 0;
    made.evaluator.calls = 0;
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
      reuse,
    };
    const bucket = await replayMessage(
      { message: message.stored ?? 0, alternatives: 6, replays: 4, text: null, ...changes },
      dependencies,
      { signal: new AbortController().signal, onProgress: () => undefined },
    );
    return { bucket, made, store };
  }

  it('changes no message, return or credit, only what is paid', async (t) => {
    for (const [protocol, position] of [
      [PAIR, 0],
      [PAIR, 1],
      [CHAIN, 1],
      [CHECKPOINTS, 0],
      [CHECKPOINTS, 1],
    ] as const) {
      for (const changes of [{}, { text: 'one' }, { independent: true }] as const) {
        const words = `${protocol.name} ${position} ${JSON.stringify(changes)}`;
        const [some, all] = [
          await asked(t, protocol, position, changes),
          await asked(t, protocol, position, changes, false),
        ];
        const rows = ({ bucket, store }: typeof some): unknown => ({
          alternatives: bucket.alternatives.map(({ evaluatorCalls: _, credit, bucketCredit, ...one }) => ({
            ...one,
            credit: { ...credit, evaluatorCalls: 0, reused: 0 },
            bucketCredit: { ...bucketCredit, evaluatorCalls: 0 },
          })),
          messages: store
            .replaysOfBucket(bucket.id)
            .flatMap(({ leaf }) => store.chain(leaf))
            .map(({ text, siblingIndex, contextKey, return: value }) => [text, siblingIndex, contextKey, value]),
          streams: store.replaysOfBucket(bucket.id).map(({ leaf }) => store.fullMessage(leaf).streamKey),
        });
        assert.deepEqual(rows(some), rows(all), words);
        assert.ok(some.made.evaluator.calls < all.made.evaluator.calls, words);
        if (!('independent' in changes) && position === 0) {
          assert.ok(some.made.policy.requests.length < all.made.policy.requests.length, words);
        }
        // The message itself and those before it are scored again: no episode, and no part of the alternatives' cost.
        const before = position === 1 && protocol === CHECKPOINTS ? 1 : 0;
        const paid = some.bucket.alternatives.reduce((sum, { evaluatorCalls }) => sum + evaluatorCalls, 0);
        assert.equal(paid, some.made.evaluator.calls - before, words);
        const reused = countReused(some.store.episodeCosts(RUN), 'request', protocol);
        assert.ok(reused > 0 && reused <= all.made.evaluator.calls - some.made.evaluator.calls, words);
        assert.equal(countReused(all.store.episodeCosts(RUN), 'request', protocol), 0, words);
      }
    }
  });

  it('shows a reused result as one that cost nothing', async (t) => {
    const { bucket } = await asked(t, PAIR, 1, { alternatives: 8 });
    const texts = new Set<string>();
    for (const { evaluatorCalls, text } of bucket.alternatives) {
      if (evaluatorCalls === 1) {
        assert.ok(!texts.has(text), 'one of equals is paid');
      }
      texts.add(text);
    }
    assert.deepEqual(bucket.alternatives.filter(({ evaluatorCalls }) => evaluatorCalls === 1).length, texts.size);
  });
});
