import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { findLeaves } from '../../../src/replay/tree.ts';
import { CancelledError } from '../../../src/shared/errors.ts';
import { renderPlain } from '../../../src/team/render.ts';
import { evaluate, listSolvedOnce, type EvaluationSettings } from '../../../src/training/measure/evaluation.ts';
import { makeSignalAbortedWhen } from '../../support/signals.ts';
import { CHECKPOINTS, CountingEvaluator, problems, PAIR, SAMPLING, ScriptedPolicy } from '../replay/helpers.ts';

const ALL = problems(7);
const NOTHING = { signal: new AbortController().signal, onBegin: () => undefined, onBatch: () => undefined };

/** The actor says its question's number and the check; what is right is a matter of the number. */
const numberIn = (text: string): number => Number(/Question (\d+)/.exec(text)?.[1]);
const settings = (changes: Partial<EvaluationSettings> = {}): EvaluationSettings => ({
  protocol: PAIR,
  render: renderPlain,
  policy: new ScriptedPolicy(({ context }) => (context.startsWith('Plan') ? 'a plan' : String(numberIn(context)))),
  evaluator: new CountingEvaluator((text) => (text === '4' ? null : Number(text) % 3 === 0 ? 1 : 0)),
  sampling: SAMPLING,
  seed: 3,
  kind: 'greedy',
  samples: 1,
  batch: 3,
  ...changes,
});

describe('evaluate', () => {
  it('gives 1, 0 or null for each problem, in order, whatever the batch', async () => {
    for (const batch of [1, 3, 7, 100]) {
      const evaluator = new CountingEvaluator((text) => (text === '4' ? null : Number(text) % 3 === 0 ? 1 : 0));
      assert.deepEqual(await evaluate(settings({ batch, evaluator }), ALL, NOTHING), [1, 0, 0, 1, null, 0, 1]);
      assert.equal(evaluator.calls, 7);
    }
    assert.deepEqual(await evaluate(settings(), [], NOTHING), []);
  });

  it('reports each batch with one episode per problem, and its evaluator calls before they are made', async () => {
    const batches: (readonly [number, string[], number])[] = [];
    const evaluator = new CountingEvaluator(() => 1);
    const begun: (readonly [number, number])[] = [];
    await evaluate(settings({ evaluator, protocol: CHECKPOINTS }), ALL, {
      signal: new AbortController().signal,
      onBegin: (calls) => begun.push([evaluator.calls, calls]),
      onBatch: (done, roots) =>
        batches.push([done, roots.map(({ problem }) => problem.uid), roots.flatMap(findLeaves).length]),
    });
    // Two scored messages for each problem.
    assert.deepEqual(begun, [
      [0, 6],
      [6, 6],
      [12, 2],
    ]);
    assert.deepEqual(batches, [
      [3, ['q-0', 'q-1', 'q-2'], 3],
      [6, ['q-3', 'q-4', 'q-5'], 3],
      [7, ['q-6'], 1],
    ]);
  });

  it('asks greedily or at the given temperature', async () => {
    for (const [kind, temperature] of [
      ['greedy', 0],
      ['sampled', SAMPLING.temperature],
    ] as const) {
      const policy = new ScriptedPolicy();
      await evaluate(settings({ kind, policy }), ALL, NOTHING);
      assert.equal(policy.requests.length, 14);
      for (const { sampling } of policy.requests) {
        assert.equal(sampling.temperature, temperature);
      }
    }
  });

  it('draws numbers that depend on seed and problem, not on batch, order or company', async () => {
    const streams = async (changes: Partial<EvaluationSettings>, of = ALL): Promise<Set<string>> => {
      const policy = new ScriptedPolicy();
      await evaluate(settings({ kind: 'sampled', ...changes, policy }), of, NOTHING);
      return new Set(policy.requests.map(({ streamKey }) => streamKey));
    };
    const all = await streams({});
    assert.equal(all.size, 14);
    assert.deepEqual(await streams({ batch: 100 }, ALL.toReversed()), all);
    assert.ok((await streams({}, ALL.slice(2, 3))).isSubsetOf(all));
    assert.ok((await streams({ seed: 4 })).isDisjointFrom(all));
  });

  it('takes several samples of a problem as its mean, with numbers of their own for each, whatever the batch', async () => {
    const streams: Set<string>[] = [];
    for (const batch of [1, 8, 100]) {
      const policy = new ScriptedPolicy(({ context, streamKey }) =>
        context.startsWith('Plan') ? 'a plan' : `${numberIn(context)} ${streamKey}`,
      );
      const keys: string[] = [];
      const evaluator = new CountingEvaluator((text) => {
        if (text.startsWith('2 ')) {
          return null;
        }
        keys.push(text);
        return text.startsWith('3 ')
          ? 1
          : keys.filter((key) => key.startsWith(text.slice(0, 2))).length % 4 === 0
            ? 1
            : 0;
      });
      assert.deepEqual(
        await evaluate(settings({ kind: 'sampled', samples: 4, batch, policy, evaluator }), ALL.slice(0, 4), NOTHING),
        [0.25, 0.25, null, 1],
        String(batch),
      );
      assert.equal(evaluator.calls, 16);
      const drawn = new Set(policy.requests.map(({ streamKey }) => streamKey));
      assert.equal(drawn.size, 32);
      streams.push(drawn);
    }
    assert.deepEqual(streams[1], streams[0]);
    assert.deepEqual(streams[2], streams[0]);
    const greedy = new CountingEvaluator(() => 1);
    await evaluate(settings({ samples: 4, evaluator: greedy }), ALL, NOTHING);
    assert.equal(greedy.calls, 7);
  });

  it('counts a problem as solved only where every scored message is right', async () => {
    const policy = new ScriptedPolicy(
      ({ context }) => `${context.startsWith('Draft') ? 'draft' : 'final'} ${numberIn(context)}`,
    );
    const evaluator = new CountingEvaluator((text) => (text === 'draft 1' || text === 'final 2' ? 0 : 1));
    assert.deepEqual(
      await evaluate(settings({ protocol: CHECKPOINTS, policy, evaluator }), ALL.slice(0, 4), NOTHING),
      [1, 0, 0, 1],
    );
  });

  it('hands on a cancel after the batches that ended', async () => {
    let ended = 0;
    await assert.rejects(
      evaluate(settings(), ALL, {
        signal: makeSignalAbortedWhen(() => ended > 0),
        onBegin: () => undefined,
        onBatch: () => ended++,
      }),
      CancelledError,
    );
    assert.equal(ended, 1);
  });

  it('counts a problem as solved once by any of its samples, and knows nothing where one of the others is masked', () => {
    assert.deepEqual(listSolvedOnce([0, 1, 0, 0, null, 1, null, 0, null, null], 2), [1, 0, 1, null, null]);
    assert.deepEqual(listSolvedOnce([], 2), []);
  });
});
