/** A run with results reused is, bit for bit, the run in which every one of them was paid for. */

import assert from 'node:assert/strict';
import { after, before, describe, it, type TestContext } from 'node:test';
import type { RunSummary } from '../../../../src/domain/run.ts';
import { answerEvaluator, type Evaluator } from '../../../../src/evaluate/evaluator.ts';
import { LocalPolicy, type PolicySource } from '../../../../src/policy/policy.ts';
import { loadTokenizer } from '../../../../src/policy/tokenizer.ts';
import { replayMessage } from '../../../../src/replay/replayMessage.ts';
import { verifyReplays } from '../../../../src/replay/verify.ts';
import { renderPlain } from '../../../../src/team/render.ts';
import { getRunSampling } from '../../../../src/training/config/config.ts';
import { readConfig } from '../../../../src/training/config/readConfig.ts';
import { held } from '../../../support/held.ts';
import { LOO } from '../../../unit/replay/helpers.ts';
import { teamFolder, tinyWorld, type TinyRun, type TinyRunOptions } from '../../../unit/training/tinyRun.ts';
import { FOUR, PAIR } from '../../../unit/training/tinyTeam.ts';
import { rowsOf } from '../../../unit/training/watched.ts';

let team: Awaited<ReturnType<typeof teamFolder>>;
before(async () => {
  team = await teamFolder();
});
after(() => team.remove());

/** What says what was paid; the hash of a replay covers its calls. */
const COSTS: Readonly<Record<string, readonly string[]>> = {
  decision: ['reused_tokens'],
  episode: ['evaluator_calls'],
  replay: ['evaluator_calls', 'token_hash'],
  credit: ['evaluator_calls'],
  step: ['ledger'],
  problem: ['evaluator_calls', 'reused_tokens', 'seconds'],
};

/** All rows without clocks and costs. */
function rows(world: TinyRun): unknown {
  return Object.fromEntries(
    Object.entries(rowsOf(world)).map(([table, all]) => [
      table,
      all.map((row) =>
        Object.fromEntries(
          Object.entries(row).flatMap(([column, value]) => {
            if (COSTS[table]?.includes(column) === true) {
              return [];
            }
            if (column !== 'summary' || typeof value !== 'object' || value === null) {
              return [[column, value]];
            }
            const same = Object.entries(value).filter(
              ([key]) => !['evaluatorCalls', 'reusedEvaluations', 'tokens'].includes(key),
            );
            return [[column, Object.fromEntries(same)]];
          }),
        ),
      ),
    ]),
  );
}

interface Counted {
  readonly world: TinyRun;
  readonly summary: RunSummary;
  /** What was really asked of evaluator and model. */
  readonly calls: number;
  readonly tokens: number;
}

async function counted(t: TestContext, options: TinyRunOptions): Promise<Counted> {
  const world = await tinyWorld(t, team.folder);
  let [calls, tokens] = [0, 0];
  const evaluator: Evaluator = {
    name: 'answer',
    evaluate: (problem, text) => (calls++, answerEvaluator.evaluate(problem, text)),
  };
  const summary = await world.start({
    ...options,
    evaluator,
    wrap: (runtime) =>
      new Proxy(runtime, {
        get: (target, name): unknown => {
          const value: unknown = Reflect.get(target, name);
          if (name !== 'generate') {
            return typeof value === 'function' ? value.bind(target) : value;
          }
          return async (...args: Parameters<typeof runtime.generate>) => {
            const completions = await target.generate(...args);
            for (const completion of completions) {
              tokens += completion.tokens.length;
            }
            return completions;
          };
        },
      }),
  });
  return { world, summary, calls, tokens };
}

describe('a run with reused results', () => {
  for (const [name, options] of [
    ['c3 with common random numbers', { overrides: ['credit.common_random_numbers=true'] }],
    ['c3 with numbers of its own', { overrides: ['credit.common_random_numbers=false'] }],
    [
      'four roles with common random numbers',
      { protocol: FOUR, overrides: ['fanout=[2,1,1,2]', 'credit.common_random_numbers=true'] },
    ],
    ['whole episodes', { overrides: ['method=magrpo', 'evaluation.samples=2'] }],
  ] as const) {
    it(`has the messages, returns, credits and weights of one without, and the ledger of what was done: ${name}`, async (t) => {
      const [some, all] = [await counted(t, options), await counted(t, { ...options, reuse: false })];
      assert.deepEqual(
        some.world.store.snapshotsOfRun('run-1').map(({ id }) => id),
        all.world.store.snapshotsOfRun('run-1').map(({ id }) => id),
      );
      assert.deepEqual(rows(some.world), rows(all.world));
      for (const { summary, calls, tokens } of [some, all]) {
        assert.equal(summary.evaluatorCalls, calls);
        assert.equal(summary.tokens.completion, tokens);
      }
      assert.deepEqual([all.summary.reusedEvaluations, all.summary.tokens.reusedCompletion], [0, 0]);
      assert.ok(some.calls < all.calls);
      assert.equal(some.summary.evaluatorCalls + (some.summary.reusedEvaluations ?? 0), all.calls);
      assert.equal(some.summary.tokens.completion + (some.summary.tokens.reusedCompletion ?? 0), all.tokens);
      assert.equal(some.tokens < all.tokens, name.includes('common'));
    });
  }

  it('can be verified: what was reused is executed for itself, and comes out identical', async (t) => {
    const {
      world: { store, host },
    } = await counted(t, {
      overrides: ['credit.common_random_numbers=true', 'evaluation.instances=0'],
      evaluation: [],
    });
    const tokenizer = await loadTokenizer(team.folder);
    const source: PolicySource = async (snapshot) => {
      if (!(await host.snapshots()).includes(snapshot)) {
        await host.loadSnapshot(store.snapshots(snapshot)[0]?.file ?? '');
      }
      return held({ policy: new LocalPolicy(host, tokenizer, snapshot) });
    };
    const message = store.bucketsOfRun({ run: 'run-1', offset: 0, limit: 1 })[0]?.alternatives[0]?.message ?? 0;
    const { policy } = await source(store.message(message).snapshot);
    const dependencies = {
      store,
      protocol: PAIR,
      render: renderPlain,
      policy,
      evaluator: answerEvaluator,
      sampling: { ...getRunSampling(readConfig('', '')), maxNewTokens: 6 },
      seed: 0,
      returnBound: 10,
      credit: LOO,
    };
    const control = { signal: new AbortController().signal, onProgress: () => undefined };
    await replayMessage({ message, alternatives: 6, replays: 2, text: null }, dependencies, control);
    await replayMessage({ message, alternatives: 12, replays: 1, text: null, design: 'paired' }, dependencies, control);
    const replays = store.replaysOfRun('run-1', 0, 1000);
    const reused = replays.filter(
      ({ evaluatorCalls, leaf }) =>
        evaluatorCalls === 0 && store.fullMessage(leaf).reusedTokens > store.fullMessage(leaf).promptTokens,
    );
    const requests = store.bucketsOfRun({ run: 'run-1', origin: 'request', offset: 0, limit: 9 });
    assert.equal(requests.length, 2);
    for (const { id } of requests) {
      assert.ok(reused.some(({ bucket }) => bucket === id));
    }
    let asked = 0;
    const counting: PolicySource = async (snapshot) => {
      const given = (await source(snapshot)).policy;
      return held({
        policy: new Proxy(given, {
          get: (target, name): unknown =>
            name === 'answer'
              ? (...args: Parameters<typeof given.answer>) => ((asked += args[0].length), target.answer(...args))
              : Reflect.get(target, name),
        }),
      });
    };
    const report = await verifyReplays(
      store,
      replays,
      counting,
      { protocol: PAIR, evaluator: answerEvaluator, returnBound: 10 },
      { signal: new AbortController().signal },
    );
    assert.deepEqual([report.identical, report.different, report.notComparable], [replays.length, 0, 0]);
    assert.ok(
      asked >= new Set(replays.flatMap(({ alternative, leaf }) => [alternative, leaf])).size,
      'every message was executed, the reused ones too',
    );
  });
});
