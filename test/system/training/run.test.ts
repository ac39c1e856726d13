import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { existsSync } from 'node:fs';
import { after, before, describe, it, type TestContext } from 'node:test';
import { wilsonInterval } from '../../../src/credit/interval.ts';
import type { Episode } from '../../../src/domain/episode.ts';
import type { Message } from '../../../src/domain/message.ts';
import { shownStatus, type RunSummary } from '../../../src/domain/run.ts';
import { STEP_MEASURE_NAMES, STEP_MEASURES, type StepMetrics } from '../../../src/domain/step.ts';
import { EvaluatorLost, type Evaluator, type Graded } from '../../../src/evaluate/evaluator.ts';
import type { ModelRuntime } from '../../../src/runtime/modelRuntime.ts';
import { C3Error, CancelledError } from '../../../src/shared/errors.ts';
import type { StoreReader } from '../../../src/store/read/reader.ts';
import { isTerminal, type Protocol } from '../../../src/team/protocol.ts';
import { makeSignalAbortedWhen } from '../../support/signals.ts';
import { teamFolder, tinyWorld, type TinyRun } from '../../unit/training/tinyRun.ts';
import { FOUR, PAIR, sums } from '../../unit/training/tinyTeam.ts';
import { bound, watchingSteps } from '../../unit/training/watched.ts';

let team: Awaited<ReturnType<typeof teamFolder>>;
before(async () => {
  team = await teamFolder();
});
after(() => team.remove());

const begin = (t: TestContext): Promise<TinyRun> => tinyWorld(t, team.folder);
const EVALUATIONS = [1, 2, 3, 4];

/** Every message of a run, rounds in order. */
function messagesOf(
  store: StoreReader,
  steps: number,
  problems: readonly { readonly uidSha: string }[],
  run = 'run-1',
): Message[] {
  const rounds = [
    ...EVALUATIONS.map((iteration) => ({ phase: 'evaluate' as const, iteration })),
    ...Array.from({ length: steps }, (_, index) => ({ phase: 'train' as const, iteration: index + 1 })),
  ];
  return rounds.flatMap((round) =>
    problems.flatMap(
      ({ uidSha }) => store.transcript({ run, ...round, problem: uidSha, offset: 0, limit: 1000 }).messages,
    ),
  );
}

const episodesOf = (store: StoreReader, phase: 'train' | 'evaluate', iteration: number, run = 'run-1'): Episode[] =>
  store.episodes({ run, phase, iteration, offset: 0, limit: 1000 });
const ALL = [...sums(6), ...sums(6, 100)];
/** What a message is, apart from its number in the store. */
const said = (store: StoreReader, { id }: Message): unknown[] => {
  const { text, tokens, logprobs, streamKey, contextKey, phase, iteration, siblingIndex } = store.fullMessage(id);
  return [text, [...tokens], [...logprobs], streamKey, contextKey, phase, iteration, siblingIndex];
};

const PROTOCOLS: readonly {
  readonly protocol: Protocol;
  readonly overrides: readonly string[];
  readonly perProblem: Readonly<Record<string, number>>;
  readonly calls: number;
}[] = [
  { protocol: PAIR, overrides: [], perProblem: { reasoner: 2, actor: 8 }, calls: 8 },
  {
    protocol: FOUR,
    overrides: ['fanout=[2,1,1,2]'],
    perProblem: { planner: 2, left: 2, right: 2, integrator: 4 },
    calls: 4,
  },
];

describe('runTraining', () => {
  for (const { protocol, overrides, perProblem, calls } of PROTOCOLS) {
    it(`stores what its summary says, with the protocol ${protocol.name}`, async (t) => {
      const { store, start } = await begin(t);
      const summary = await start({ protocol, overrides });
      const run = store.run('run-1');
      assert.deepEqual([run.status, run.steps, run.plannedSteps, run.summary], ['done', 2, 2, summary]);
      // Two steps of three problems, and four evaluations of six.
      const expected = Object.fromEntries(
        Object.entries(perProblem).map(([role, count]) => [role, 2 * 3 * count + 4 * 6]),
      );
      assert.deepEqual(summary.decisions, expected);
      const reused = summary.reusedEvaluations ?? 0;
      assert.equal(summary.evaluatorCalls + reused, 2 * 3 * calls + 4 * 6);
      // A tiny team repeats itself, the more the shorter its contexts are.
      assert.ok(reused > 0 || protocol === FOUR);
      const messages = messagesOf(store, 2, ALL);
      assert.equal(messages.length, store.counts().messages);
      for (const [role, count] of Object.entries(expected)) {
        assert.equal(messages.filter(({ role: speaker }) => speaker === role).length, count);
      }
      const all = messages.map(({ id }) => store.fullMessage(id));
      const [taken, computed] = [
        all.filter((one) => one.reusedTokens > one.promptTokens),
        all.filter((one) => one.reusedTokens <= one.promptTokens),
      ];
      const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0);
      assert.deepEqual(summary.tokens, {
        prompt: sum(computed.map((one) => one.promptTokens)),
        reused: sum(computed.map((one) => one.reusedTokens)),
        completion: sum(computed.map((one) => one.tokens.length)),
        reusedCompletion: sum(taken.map((one) => one.tokens.length)),
      });
      const episodes = [
        ...EVALUATIONS.flatMap((iteration) => episodesOf(store, 'evaluate', iteration)),
        ...[1, 2].flatMap((iteration) => episodesOf(store, 'train', iteration)),
      ];
      assert.equal(sum(episodes.map(({ evaluatorCalls }) => evaluatorCalls)), summary.evaluatorCalls);
      const last = store.steps('run-1', 0, 10)[1]?.ledger;
      assert.equal(
        (last?.evaluatorCalls ?? 0) + (last?.reusedEvaluations ?? 0),
        summary.evaluatorCalls + reused - 2 * 6,
      );
      assert.deepEqual(store.latestLedger('run-1'), last);
      for (const { role, position, leaves, phase } of messages) {
        assert.equal(protocol.occurrences[position]?.role, role);
        if (phase === 'train') {
          assert.equal(leaves === 1, isTerminal(protocol, position), role);
        }
      }
    });
  }

  it('measures accuracy as the share of solved held-out problems', async (t) => {
    const { store, start } = await begin(t);
    const { accuracy, passAt1 } = await start();
    for (const [interval, iteration] of [
      [accuracy.before, 1],
      [passAt1.before, 2],
      [accuracy.after, 3],
      [passAt1.after, 4],
    ] as const) {
      const episodes = episodesOf(store, 'evaluate', iteration);
      assert.deepEqual(
        new Set(episodes.map(({ problem }) => problem)),
        new Set(sums(6, 100).map(({ uidSha }) => uidSha)),
      );
      assert.deepEqual(interval, wilsonInterval(episodes.filter((one) => one.return === 1).length, 6));
      const greedy = iteration % 2 === 1;
      for (const { leaf } of episodes) {
        assert.equal(store.fullMessage(leaf).sampling.temperature, greedy ? 0 : 1);
      }
    }
    assert.ok(
      Math.abs(
        (accuracy.difference?.value ?? NaN) - ((accuracy.after?.value ?? NaN) - (accuracy.before?.value ?? NaN)),
      ) < 1e-12,
    );
  });

  it('begins at its reference: no divergence, and sampler and trainer agree', async (t) => {
    for (const overrides of [[], ['ppo.kl_coefficient=0'], ['ppo.kl_estimator=k1'], ['ppo.epochs=2']]) {
      const { store, start } = await begin(t);
      await start({ overrides: [...overrides, 'evaluation.instances=0'], evaluation: [] });
      const [first, second] = store.steps('run-1', 0, 10).map(({ metrics }) => metrics ?? assert.fail());
      assert.ok(first && second);
      if (overrides[0] !== 'ppo.epochs=2') {
        assert.ok(Math.abs(first.kl) < 1e-8, `${String(overrides)}: ${first.kl}`);
      }
      assert.ok(second.kl > 1e-6 && second.kl < 10, `${String(overrides)}: ${second.kl}`);
      for (const { ratioDeviation } of [first, second]) {
        assert.ok(ratioDeviation < 1e-4, String(ratioDeviation));
      }
    }
  });

  it('moves the weights, more with more steps of the optimiser', async (t) => {
    const { store, start, base, host } = await begin(t);
    const rates: number[] = [];
    const wrap = watchingSteps((_, { learningRate }) => rates.push(learningRate));
    await start({
      overrides: ['ppo.epochs=2', 'ppo.warmup_fraction=0.25', 'evaluation.instances=0'],
      evaluation: [],
      wrap,
    });
    const snapshots = store.snapshotsOfRun('run-1');
    assert.deepEqual(
      snapshots.map(({ iteration, file }) => [iteration, file !== null && existsSync(file)]),
      [
        [0, false],
        [1, true],
        [2, true],
      ],
    );
    assert.equal(snapshots[0]?.id, base);
    assert.equal(new Set(snapshots.map(({ id }) => id)).size, 3);
    assert.deepEqual(
      store.steps('run-1', 0, 10).map(({ snapshot }) => snapshot),
      snapshots.slice(0, 2).map(({ id }) => id),
    );
    assert.equal(await host.loadSnapshot(snapshots[2]?.file ?? ''), snapshots[2]?.id);
    // Four optimiser steps: one of warm-up, then the cosine from its top.
    assert.equal(rates.length, 4);
    assert.ok(Math.abs((rates[0] ?? 0) - 0.002) < 1e-12 && Math.abs((rates[1] ?? 0) - 0.002) < 1e-12);
    assert.ok((rates[2] ?? 1) < 0.002 && (rates[3] ?? 1) < (rates[2] ?? 0));
  });

  it('takes its optimiser steps in the memory that it was given', async (t) => {
    const { start } = await begin(t);
    const asked: unknown[] = [];
    const wrap = watchingSteps((_, { recompute, microBatchTokens }) => asked.push([recompute, microBatchTokens]));
    await start({
      overrides: ['memory.recompute=true', 'memory.micro_batch_tokens=96', 'evaluation.instances=0'],
      evaluation: [],
      wrap,
    });
    assert.deepEqual(asked, [
      [true, 96],
      [true, 96],
    ]);
  });

  it('says and learns the same again with the same seed, and something else with another', async (t) => {
    const results: {
      readonly final: string;
      readonly said: unknown[][];
      readonly summary: RunSummary;
      readonly metrics: (StepMetrics | null)[];
    }[] = [];
    for (const seed of [1, 1, 2]) {
      const { store, start } = await begin(t);
      const summary = await start({ overrides: [`seed=${seed}`] });
      const metrics = store.steps('run-1', 0, 10).map((step) => step.metrics);
      results.push({
        final: store.snapshotsOfRun('run-1').at(-1)?.id ?? '',
        said: messagesOf(store, 2, ALL).map((message) => said(store, message)),
        summary: { ...summary, store: '' },
        metrics,
      });
    }
    const [first, again, other] = results;
    assert.ok(first && again && other);
    assert.deepEqual(again, first);
    assert.notEqual(other.final, first.final);
    assert.notDeepEqual(other.said, first.said);
  });

  it('says what it does as it happens', async (t) => {
    const { start, progress } = await begin(t);
    const { signal } = new AbortController();
    await start({ control: { signal } });
    assert.equal(getEventListeners(signal, 'abort').length, 0, 'nothing listens to the signal any more');
    const stages = [...new Set(progress.map(({ stage }) => stage))];
    assert.deepEqual(stages, ['load', 'evaluate-before', 'train', 'evaluate-after']);
    const train = progress.filter(({ stage }) => stage === 'train');
    assert.deepEqual(
      train.map(({ done, total, metrics }) => [done, total, metrics === null]),
      [
        [0, 2, true],
        [1, 2, false],
        [2, 2, false],
      ],
    );
    assert.ok(progress.every(({ run, done, total, message }) => run === 'run-1' && done <= total && message !== ''));
  });

  it('ends as cancelled where it is cancelled, and keeps whole rounds', async (t) => {
    const { start, store, progress } = await begin(t);
    const signal = makeSignalAbortedWhen(() => progress.some(({ stage, done }) => stage === 'train' && done > 0));
    await assert.rejects(start({ overrides: ['steps=5'], control: { signal } }), CancelledError);
    const run = store.run('run-1');
    assert.deepEqual(
      [run.status, run.steps, run.summary, run.finishedAt],
      ['cancelled', 1, null, '2026-01-01T00:00:00.000Z'],
    );
    assert.equal(episodesOf(store, 'train', 1).length, 3 * 8);
    assert.deepEqual(
      [2, 3].map((iteration) => episodesOf(store, 'train', iteration).length),
      [0, 0],
    );
    // What is stored can be read, replays and all.
    assert.equal(messagesOf(store, 5, ALL).length, store.counts().messages);
    assert.equal(store.countReplays('run-1'), 3 * (8 + 8));
    assert.equal((await start({ id: 'run-2' })).steps, 2);
  });

  it('ends as failed where something fails, with the error as it was', async (t) => {
    const { start, store } = await begin(t);
    const wrap = (runtime: ModelRuntime): ModelRuntime =>
      new Proxy(runtime, {
        get: (target, name) =>
          name === 'step' ? () => Promise.reject(new C3Error('model', 'The graph broke.')) : bound(target, name),
      });
    await assert.rejects(start({ wrap }), /^C3Error: The graph broke\.$/);
    assert.deepEqual([store.run('run-1').status, store.run('run-1').steps], ['failed', 0]);
    assert.equal(episodesOf(store, 'evaluate', 1).length, 6);
  });

  it('continues where a step has nothing to learn from', async (t) => {
    const { start, store, progress } = await begin(t);
    let calls = 0;
    const breaking: Evaluator = {
      name: 'breaking',
      evaluate: () => {
        calls++;
        return Promise.resolve(
          calls > 8
            ? { score: null, rule: 'broken', masked: 'It is broken.' }
            : { score: calls % 2 === 0 ? 1 : 0, rule: 'fixed' },
        );
      },
    };
    const summary = await start({
      overrides: ['steps=3', 'instances_per_step=1', 'evaluation.instances=0'],
      evaluation: [],
      evaluator: breaking,
      reuse: false,
    });
    const snapshots = store.snapshotsOfRun('run-1').map(({ id }) => id);
    // The first step learned; the masked ones changed nothing.
    assert.equal(snapshots.length, 2);
    assert.deepEqual(
      store.steps('run-1', 0, 10).map(({ snapshot }) => snapshot),
      [snapshots[0], snapshots[1], snapshots[1]],
    );
    assert.deepEqual([summary.accuracy.before, summary.accuracy.after, summary.evaluatorCalls], [null, null, 24]);
    assert.ok(episodesOf(store, 'train', 2).every((episode) => episode.return === null));
    assert.equal(summary.maskedEpisodes, 16);
    // What was not measured is no mean of 0.
    assert.deepEqual(
      store.steps('run-1', 0, 10).map(({ metrics }) => metrics?.meanReturn),
      [0.5, null, null],
    );
    for (const { metrics } of store.steps('run-1', 0, 10)) {
      const stored = new Set(Object.keys(metrics ?? {}));
      assert.deepEqual(
        STEP_MEASURE_NAMES.filter((name) => STEP_MEASURES[name].everyStep && !stored.has(name)),
        [],
        'a step holds what its table says',
      );
      assert.equal(
        [...stored].every((key) => Object.hasOwn(STEP_MEASURES, key)),
        true,
        'and nothing else',
      );
    }
    assert.deepEqual(
      progress
        .filter(({ stage, message }) => stage === 'train' && message.includes('mean return'))
        .map(({ message }) => / 8 episodes not scored$/.test(message)),
      [false, true, true],
    );
  });

  it('is interrupted where most of a step was kept from being measured, or no evaluator is left, and can be resumed', async (t) => {
    for (const [failing, words] of [
      [
        5,
        /was interrupted at step 1 of 2: The sandbox was ended from outside for 5 of 8 episodes\. What is stored stays/,
      ],
      [-1, /was interrupted at step 1 of 2: No sandbox\. /],
    ] as const) {
      const { start, store } = await begin(t);
      let calls = 0;
      const evaluate = (): Promise<Graded> => {
        calls++;
        const score = calls % 2 === 0 ? 1 : 0;
        if (calls <= 8) {
          return Promise.resolve({ score, rule: 'fixed' });
        }
        if (failing < 0) {
          return Promise.reject(new EvaluatorLost('No sandbox.'));
        }
        return Promise.resolve(
          calls - 8 <= failing ? { score: null, rule: 'killed', masked: 'It was killed.' } : { score, rule: 'fixed' },
        );
      };
      const failed = start({
        overrides: ['steps=2', 'instances_per_step=1', 'evaluation.instances=0'],
        evaluation: [],
        evaluator: { name: 'killed', evaluate },
        reuse: false,
      });
      await assert.rejects(failed, (error) => error instanceof EvaluatorLost && words.test(error.message));
      assert.equal(shownStatus(store.run('run-1'), true), 'interrupted');
      // Nothing of the step is stored: a resumed run samples it again.
      assert.equal(episodesOf(store, 'train', 2).length, 0);
    }
    const { start, store } = await begin(t);
    let calls = 0;
    const half: Evaluator = {
      name: 'half',
      evaluate: () =>
        Promise.resolve(
          calls++ % 2 === 0 ? { score: null, rule: 'killed', masked: 'It was killed.' } : { score: 1, rule: 'fixed' },
        ),
    };
    assert.equal(
      (
        await start({
          overrides: ['steps=1', 'instances_per_step=1', 'evaluation.instances=0'],
          evaluation: [],
          evaluator: half,
          reuse: false,
        })
      ).maskedEpisodes,
      4,
    );
    assert.deepEqual(
      store.steps('run-1', 0, 10).map(({ metrics }) => metrics?.meanReturn),
      [1],
    );
  });

  it('evaluates only with no steps', async (t) => {
    const { start, store } = await begin(t);
    const { accuracy, passAt1, steps } = await start({ overrides: ['steps=0'], protocol: FOUR });
    assert.deepEqual(
      [steps, accuracy.after, accuracy.difference, passAt1.after, accuracy.before?.n, passAt1.before?.n],
      [0, null, null, null, 6, 6],
    );
    assert.deepEqual([store.counts().episodes, store.counts().buckets], [12, 0]);
  });

  it('takes every question once in a step, however few there are', async (t) => {
    const { start, store } = await begin(t);
    await start({ overrides: ['instances_per_step=5', 'evaluation.instances=0'], evaluation: [], train: sums(2) });
    for (const iteration of [1, 2]) {
      const groups = Map.groupBy(episodesOf(store, 'train', iteration), ({ problem }) => problem);
      assert.deepEqual(
        Array.from(groups.values(), (some) => some.length),
        [8, 8],
      );
    }
    // The same questions again in the second step, with other random numbers.
    const streams = [1, 2].map(
      (iteration) =>
        new Set(episodesOf(store, 'train', iteration).map(({ leaf }) => store.fullMessage(leaf).streamKey)),
    );
    assert.equal(streams[0]?.size, 16);
    assert.ok(streams[0].isDisjointFrom(streams[1] ?? new Set()));
  });

  it('goes round the training questions in order', async (t) => {
    const { start, store } = await begin(t);
    await start({
      overrides: ['steps=3', 'instances_per_step=2', 'evaluation.instances=0'],
      evaluation: [],
      train: sums(3),
    });
    const asked = [1, 2, 3].map((iteration) => [
      ...new Set(episodesOf(store, 'train', iteration).map(({ question }) => Number(/\d+/.exec(question)?.[0]))),
    ]);
    assert.deepEqual(asked, [
      [0, 1],
      [2, 0],
      [1, 2],
    ]);
  });

  it('refuses a fan-out that does not fit before anything is stored', async (t) => {
    const { start, store } = await begin(t);
    await assert.rejects(start({ protocol: FOUR }), /fanout has 2 numbers where the protocol four has 4 messages/);
    const checkpoints: Protocol = {
      ...PAIR,
      occurrences: PAIR.occurrences.map((occurrence) => ({ ...occurrence, scored: true })),
    };
    await assert.rejects(
      start({ protocol: checkpoints }),
      /\[2, 4\] needs 10 evaluator calls per problem with the protocol pair, more than evaluator_budget \(8\)/,
    );
    assert.equal(store.countRuns(), 0);
  });

  it('refuses a question that the store knows with another answer before anything is stored', async (t) => {
    const { start, store } = await begin(t);
    await start({ overrides: ['steps=0'] });
    const before = store.counts();
    const [known] = sums(1, 100);
    await assert.rejects(
      start({ id: 'run-2', evaluation: [{ ...(known ?? assert.fail()), answer: '99' }] }),
      /another answer/,
    );
    assert.deepEqual(store.counts(), before);
  });
});
