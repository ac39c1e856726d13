import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { meanInterval } from '../../../../src/credit/interval.ts';
import { measureFidelity } from '../../../../src/diagnostics/fidelity.ts';
import { spearman } from '../../../../src/diagnostics/statistics/rank.ts';
import { describeUnmeasured } from '../../../../src/domain/taxonomy.ts';
import { formatDiagnosis } from '../../../../src/engine/commandLine/measures.ts';
import { diagnose } from '../../../../src/engine/diagnose/diagnose.ts';
import { readOriginBuckets, readSampleBuckets } from '../../../../src/engine/diagnose/diagnoseBuckets.ts';
import {
  sampleDiagnostics,
  type SampleDependencies,
  type SampleSettings,
} from '../../../../src/engine/diagnose/diagnoseSample.ts';
import { startEnergy } from '../../../../src/engine/machine/energy.ts';
import { createTaxonomyReport, formatTaxonomy } from '../../../../src/engine/taxonomy/taxonomyReport.ts';
import { readBuckets } from '../../../../src/engine/taxonomy/taxonomyView.ts';
import { PolicyGone } from '../../../../src/policy/policy.ts';
import { growEpisodes } from '../../../../src/replay/episodes.ts';
import { recordSubtree, recordTrainingTree } from '../../../../src/replay/recordTree.ts';
import { replayMessage } from '../../../../src/replay/replayMessage.ts';
import { C3Error, CancelledError } from '../../../../src/shared/errors.ts';
import type { StoreWriter } from '../../../../src/store/write/writer.ts';
import type { Protocol } from '../../../../src/team/protocol.ts';
import { renderPlain } from '../../../../src/team/render.ts';
import type { Moment } from '../../../../src/training/state/states.ts';
import { held } from '../../../support/held.ts';
import { makeSignalAbortedWhen } from '../../../support/signals.ts';
import {
  CHECKPOINTS,
  digest,
  errorOfKind,
  problems,
  LOO,
  NEVER,
  PAIR,
  PARALLEL,
  ROUND,
  RUN,
  SAMPLING,
  starts,
  storeFor,
  world,
  type World,
} from '../../replay/helpers.ts';

const SETTINGS: SampleSettings = { contexts: 5, alternatives: 4, replays: 2, valueSamples: 3, role: null, seed: 1 };

interface Scene extends World {
  readonly store: StoreWriter;
  readonly dependencies: SampleDependencies;
}

/** A store with a training iteration of two problems and a sampled evaluation of eight others. */
async function scene(t: TestContext, protocol: Protocol = PAIR, evaluated = 8): Promise<Scene> {
  const all = problems(10);
  const store = storeFor(t, all);
  const made = world(protocol);
  for (const root of starts(all.slice(0, 2))) {
    recordTrainingTree(
      store,
      await growEpisodes(made.settings, [root], [2, 4, 1, 1].slice(0, protocol.occurrences.length), NEVER),
      protocol,
      ROUND,
      LOO,
    );
  }
  store.insertStep({
    run: RUN,
    iteration: 1,
    snapshot: ROUND.snapshot,
    ledger: { evaluatorCalls: 0, tokens: { prompt: 0, reused: 0, completion: 0 }, decisions: {}, seconds: 0 },
  });
  const round = { ...ROUND, phase: 'evaluate' as const, iteration: 4 };
  recordSubtree(
    store,
    await growEpisodes(
      { ...made.settings, scope: 'evaluation:sampled' },
      starts(all.slice(2, 2 + evaluated)),
      [],
      NEVER,
    ),
    protocol,
    round,
  );
  const { policy, evaluator } = made;
  const dependencies: SampleDependencies = {
    store,
    protocol,
    render: renderPlain,
    evaluator,
    sampling: SAMPLING,
    seed: 5,
    samples: () => true,
    returnBound: 10,
    source: () => Promise.resolve(held({ policy })),
  };
  return { ...made, store, dependencies };
}

const sample = ({ dependencies }: Scene, changes: Partial<SampleSettings> = {}): Promise<number> =>
  sampleDiagnostics(RUN, { ...SETTINGS, ...changes }, dependencies, { signal: new AbortController().signal });

describe('sampling buckets', () => {
  it('draws contexts of the last sampled evaluation, each with J credited and J_V value alternatives of c replays', async (t) => {
    const here = await scene(t);
    const before = here.evaluator.calls;
    const number = await sample(here);
    const buckets = [...readSampleBuckets(here.store, number, PAIR)];
    assert.equal(buckets.length, 5);
    assert.equal(new Set(buckets.map(({ view }) => view.contextKey)).size, 5);
    for (const { view, alternatives, credited, valueFrom, valueCount, real, row } of buckets) {
      assert.deepEqual(
        [view.origin, view.role, credited, valueFrom, valueCount, real],
        ['diagnostic', 'reasoner', 4, 4, 3, 0],
      );
      assert.deepEqual(
        alternatives.map(({ returns, next }) => [returns.length, next.length]),
        Array.from({ length: 7 }, () => [2, 2]),
      );
      const message = here.store.message(view.message ?? 0);
      assert.deepEqual([message.phase, message.iteration, view.alternatives[0]?.message], ['evaluate', 4, message.id]);
      assert.ok((row?.seconds ?? -1) > 0);
    }
    assert.equal(here.evaluator.calls - before, 5 * 7 * 2);
    assert.deepEqual(JSON.parse(here.store.diagnosticSamples(RUN)[0]?.settings ?? ''), {
      ...SETTINGS,
      population: 'sampled evaluation after training',
      populationContexts: 8,
      drawn: 5,
    });
  });

  it('draws random numbers of their own for every alternative, so that value samples are independent', async (t) => {
    const here = await scene(t);
    const number = await sample(here, { contexts: 1 });
    const [bucket] = readSampleBuckets(here.store, number, PAIR);
    const replays = here.store.replaysOfBucket(bucket?.view.id ?? 0);
    const streams = replays.map(({ leaf }) => here.store.fullMessage(leaf).streamKey);
    assert.deepEqual([streams.length, new Set(streams).size], [14, 14]);
  });

  it('draws the same contexts for the same seed whatever else was asked, and others for another', async (t) => {
    const here = await scene(t);
    const contexts = async (changes: Partial<SampleSettings>): Promise<string[]> => {
      const number = await sample(here, { alternatives: 2, valueSamples: 0, replays: 1, contexts: 4, ...changes });
      return [...readSampleBuckets(here.store, number, PAIR)].map(({ view }) => view.contextKey);
    };
    const first = await contexts({});
    assert.deepEqual(await contexts({ alternatives: 3 }), first);
    assert.deepEqual(await contexts({ contexts: 2 }), first.slice(0, 2));
    assert.notDeepEqual(await contexts({ seed: 2 }), first);
  });

  it('takes the roles that are asked for; a terminal one has one replay', async (t) => {
    const here = await scene(t);
    const number = await sample(here, { role: 'actor', contexts: 100 });
    const buckets = [...readSampleBuckets(here.store, number, PAIR)];
    assert.deepEqual([buckets.length, new Set(buckets.map(({ role }) => role))], [8, new Set(['actor'])]);
    for (const { alternatives } of buckets) {
      assert.ok(alternatives.every(({ returns, next }) => returns.length === 1 && next.length === 0));
    }
    await assert.rejects(
      sample(here, { role: 'nobody' }),
      errorOfKind('input', /no role "nobody"; it has reasoner, actor/),
    );
  });

  it('takes the last training iteration where nothing was evaluated, and refuses what is out of bounds', async (t) => {
    const here = await scene(t, PAIR, 0);
    const number = await sample(here);
    assert.deepEqual(
      [...readSampleBuckets(here.store, number, PAIR)].map(({ view }) => here.store.message(view.message ?? 0).phase),
      ['train', 'train'],
    );
    for (const changes of [
      { contexts: 0 },
      { alternatives: 1 },
      { replays: 1000 },
      { valueSamples: 254 },
      { valueSamples: 0.5 },
    ]) {
      await assert.rejects(sample(here, changes), errorOfKind('input', /must be a whole number from/));
    }
  });

  it('keeps the complete buckets of a sample that is cancelled, and leaves the begun one out', async (t) => {
    const here = await scene(t);
    let left = 2;
    await assert.rejects(
      sampleDiagnostics(RUN, SETTINGS, here.dependencies, {
        signal: makeSignalAbortedWhen(() => left <= 0),
        onContext: () => {
          left--;
        },
      }),
      CancelledError,
    );
    const [only] = here.store.diagnosticSamples(RUN);
    assert.equal([...readSampleBuckets(here.store, only?.id ?? 0, PAIR)].length, 2);
    const lost = sampleDiagnostics(
      RUN,
      SETTINGS,
      { ...here.dependencies, source: () => Promise.reject(new PolicyGone('The weights are gone.')) },
      { signal: new AbortController().signal },
    );
    await assert.rejects(lost, errorOfKind('model', /weights are gone/));
  });
});

describe('credit against a value head', () => {
  /** What a scripted head says: any number of a state, the same for the same. */
  const says = ({ position, question, messages }: Moment): number =>
    (digest('value', String(position), question, ...[...messages].flat().map(String)) % 1000) / 1000;
  const judging = (here: Scene, asked: Moment[] = []): SampleDependencies => ({
    ...here.dependencies,
    source: () =>
      Promise.resolve(
        held({
          policy: here.policy,
          stateValue: (moment: Moment) => {
            asked.push(moment);
            return Promise.resolve(says(moment));
          },
        }),
      ),
  });
  const mean = (some: readonly number[]): number => some.reduce((sum, value) => sum + value, 0) / some.length;

  it('is stored with every credited alternative, and is what fidelity and variance are measured on', async (t) => {
    const here = await scene(t);
    const asked: Moment[] = [];
    const number = await sampleDiagnostics(RUN, SETTINGS, judging(here, asked), {
      signal: new AbortController().signal,
    });
    const buckets = [...readSampleBuckets(here.store, number, PAIR)];
    const pairs: [number, number][] = [];
    const variances: number[] = [];
    for (const { view } of buckets) {
      const value = says({ position: 0, question: here.store.problem(view.problem).question, messages: new Map() });
      const means = view.alternatives.map(({ returns }) =>
        mean(returns.map((one) => one ?? assert.fail('nothing is masked'))),
      );
      for (const [index, { message, returns }] of view.alternatives.entries()) {
        const own = here.store.credits(view.id).filter((credit) => credit.message === message);
        assert.equal(own.length, index < 4 ? 1 : 0);
        if (index >= 4) {
          continue;
        }
        const [credit] = own;
        const credited = (means[index] ?? NaN) - value;
        assert.ok(Math.abs((credit?.value ?? NaN) - credited) < 1e-12);
        assert.deepEqual([credit?.estimator, credit?.n, credit?.evaluatorCalls], ['mappo', 2, 2]);
        // The interval of the mean return, about the credit.
        const interval = meanInterval(returns.filter((one) => one !== null));
        assert.ok(
          interval !== null && interval.low !== null && Math.abs((credit?.low ?? NaN) - (interval.low - value)) < 1e-12,
        );
        pairs.push([credited, (means[index] ?? NaN) - mean(means.slice(4))]);
      }
      const credited = means.slice(0, 4);
      variances.push(mean(credited.map((one) => (one - mean(credited)) ** 2)));
    }
    assert.deepEqual(
      asked.map(({ position, messages }) => [position, messages.size]),
      Array(5).fill([0, 0]),
    );
    const found = diagnose(here.store, RUN, { origin: null, estimator: 'mappo', protocol: PAIR });
    assert.ok(Math.abs((found.fidelity.all?.value ?? NaN) - (spearman(pairs) ?? NaN)) < 1e-12);
    assert.deepEqual(found.fidelity.pairs, { real: 5, all: 20 });
    assert.ok(Math.abs((found.variance?.value ?? NaN) - mean(variances)) < 1e-12);
    assert.notEqual(
      found.fidelity.all?.value,
      diagnose(here.store, RUN, { origin: null, estimator: 'full_mean', protocol: PAIR }).fidelity.all?.value,
    );
    assert.match(formatDiagnosis(found), /credit by mappo/);
  });

  it('asks of the state that the message answered, and leaves out what was scored before it', async (t) => {
    const here = await scene(t, CHECKPOINTS);
    const asked: Moment[] = [];
    const number = await sampleDiagnostics(RUN, { ...SETTINGS, role: 'final' }, judging(here, asked), {
      signal: new AbortController().signal,
    });
    const buckets = [...readSampleBuckets(here.store, number, CHECKPOINTS)];
    assert.equal(buckets.length, 5);
    const drafts: number[] = [];
    for (const [index, { view }] of buckets.entries()) {
      const [draft] = here.store.chain(view.message ?? 0);
      const moment: Moment = {
        position: 1,
        question: here.store.problem(view.problem).question,
        messages: new Map([[0, draft?.text ?? '']]),
      };
      assert.deepEqual(asked[index], moment);
      const score = (await here.evaluator.evaluate(here.store.problem(view.problem), draft?.text ?? '')).score ?? NaN;
      drafts.push(score);
      for (const { message, returns } of view.alternatives.slice(0, 4)) {
        const credit = here.store.credits(view.id).find((one) => one.message === message);
        assert.ok(Math.abs((credit?.value ?? NaN) - ((returns[0] ?? NaN) - score - says(moment))) < 1e-12);
      }
    }
    assert.equal(new Set(drafts).size, 2, 'some drafts score and some do not');
  });

  it('costs no sampling where the head cannot be had, and is stored with what makes its bucket complete', async (t) => {
    const here = await scene(t);
    const lost: SampleDependencies = {
      ...here.dependencies,
      source: () => {
        const stateValue = (): Promise<number> => Promise.reject(new C3Error('model', 'The head is damaged.'));
        return Promise.resolve(held({ policy: here.policy, stateValue }));
      },
    };
    const before = here.evaluator.calls;
    await assert.rejects(
      sampleDiagnostics(RUN, SETTINGS, lost, { signal: new AbortController().signal }),
      errorOfKind('model', /The head is damaged/),
    );
    assert.deepEqual([here.evaluator.calls, here.store.countBuckets({ run: RUN, origin: 'diagnostic' })], [before, 0]);
    const store: StoreWriter = {
      ...here.store,
      insertDiagnosticBucket: () => {
        throw new C3Error('store', 'The disk is full.');
      },
    };
    await assert.rejects(
      sampleDiagnostics(RUN, SETTINGS, { ...judging(here), store }, { signal: new AbortController().signal }),
      errorOfKind('store', /The disk is full/),
    );
    const [half] = here.store.bucketsOfRun({ run: RUN, origin: 'diagnostic', offset: 0, limit: 1 });
    assert.deepEqual(here.store.credits(half?.id ?? 0), []);
    assert.equal(here.store.replaysOfBucket(half?.id ?? 0).length, 14);
  });

  it('is not measured, and says why, on a sample that was made without it', async (t) => {
    const here = await scene(t);
    await sample(here);
    const found = diagnose(here.store, RUN, { origin: null, estimator: 'mappo', protocol: PAIR });
    assert.deepEqual([found.fidelity.all, found.variance], [null, null]);
    assert.match(found.reasons['fidelity'] ?? '', /No alternative has its credit stored/);
    assert.match(found.reasons['variance'] ?? '', /two alternatives with a stored credit/);
    // Its training buckets hold credits by leave-one-out, which are not this one's.
    assert.ok(
      [...readOriginBuckets(here.store, RUN, 'training', PAIR)].some(({ view }) =>
        view.alternatives.some(({ credit }) => credit?.estimator === 'loo'),
      ),
    );
    assert.equal(diagnose(here.store, RUN, { origin: 'training', estimator: 'mappo', protocol: PAIR }).variance, null);
    assert.match(formatDiagnosis(found), /fidelity, all {5}not measured: No alternative has its credit stored/);
  });
});

describe('a diagnosis', () => {
  it('of training buckets says what was not measured, and why', async (t) => {
    const here = await scene(t);
    const found = diagnose(here.store, RUN, { origin: null, estimator: 'loo', protocol: PAIR });
    assert.deepEqual(
      [found.origin, found.contexts, found.sample, found.fidelity.real, found.fidelity.all],
      ['training', 6, null, null, null],
    );
    assert.match(found.fidelity.degenerate ?? '', /value samples of its own/);
    assert.equal(found.reasons['fidelity'], found.fidelity.degenerate);
    assert.deepEqual([found.variance?.n, found.influence?.n], [6, 2]);
    assert.deepEqual([found.distinctInfluence?.n, found.distinctInfluence?.['leftOut']], [2, 4]);
    // Two plans with four actors each: every next message once.
    assert.deepEqual(Reflect.get(found.influence ?? {}, 'vocabulary'), {
      ...(found.influence?.['vocabulary'] as object),
      samples: 16,
    });
    assert.deepEqual([found.passAtK['1']?.n, found.passAtK['10'], found.accuracy.greedy], [8, null, null]);
    assert.match(found.reasons['passAtK.10'] ?? '', /No problem has 10/);
    assert.deepEqual(
      [found.ledger.evaluatorCalls, found.ledger.decisions],
      [2 * 8 + 8, { reasoner: 2 * 2 + 8, actor: 2 * 8 + 8 }],
    );
    assert.deepEqual(
      [found.overhead.request.evaluatorCalls, found.overhead.request.seconds, found.overhead.diagnostic.seconds],
      [0, null, null],
    );
    assert.match(formatDiagnosis(found), /fidelity, real {4}not measured: No context/);
  });

  it('of a sample measures fidelity on its value samples, names the continuation and counts what it cost', async (t) => {
    const here = await scene(t);
    const number = await sample(here);
    const found = diagnose(here.store, RUN, { origin: null, estimator: 'loo', protocol: PAIR });
    assert.deepEqual([found.origin, found.contexts, found.fidelity.pairs], ['diagnostic', 5, { real: 5, all: 20 }]);
    assert.equal(
      found.fidelity.all?.value,
      measureFidelity([...readSampleBuckets(here.store, number, PAIR)], 'loo').all?.value,
    );
    assert.deepEqual(
      [found.continuation.draws, found.continuation.snapshots, found.continuation.sampling],
      ['independent', [ROUND.snapshot], { ...SAMPLING, maxNewTokens: 7 }],
    );
    assert.match(found.continuation.assumption, /sampled at temperature 1, .* by the protocol "pair"; other weights/);
    const { decisions, evaluatorCalls, seconds, joules } = found.overhead.diagnostic;
    assert.deepEqual([decisions, evaluatorCalls], [{ reasoner: 5 * 6, actor: 5 * 7 * 2 }, 5 * 7 * 2]);
    assert.ok((seconds ?? 0) > 0 && (joules === null || joules >= 0));
    assert.deepEqual(Object.keys(found.byRole), ['reasoner']);
    assert.deepEqual(diagnose(here.store, RUN, { origin: 'training', estimator: 'loo', protocol: PAIR }).contexts, 6);
    assert.throws(
      () => diagnose(here.store, RUN, { origin: 'request', estimator: 'loo', protocol: PAIR }),
      errorOfKind('input', /no request buckets to measure/),
    );
  });

  it('takes for the next message that of one who sees it, not of a parallel role', async (t) => {
    const here = await scene(t, PARALLEL);
    const number = await sample(here, { role: 'left', contexts: 2, replays: 2 });
    for (const bucket of readSampleBuckets(here.store, number, PARALLEL)) {
      const [replay] = here.store.replaysOfBucket(bucket.view.id);
      // The integrator speaks last and hears left; right speaks between them and does not.
      assert.equal(bucket.alternatives[0]?.next[0], here.store.message(replay?.leaf ?? 0).text);
    }
    const planner = await sample(here, { role: 'planner', contexts: 1 });
    const [first] = readSampleBuckets(here.store, planner, PARALLEL);
    const [replay] = here.store.replaysOfBucket(first?.view.id ?? 0);
    assert.equal(
      first?.alternatives[0]?.next[0],
      here.store.chain(replay?.leaf ?? 0).find(({ role }) => role === 'left')?.text,
    );
  });
});

describe('the taxonomy', () => {
  it('counts what fits no class and finds what can be said of the episodes', async (t) => {
    const here = await scene(t);
    const report = await createTaxonomyReport(
      here.store,
      RUN,
      await readBuckets(here.store, RUN, here.dependencies.protocol),
    );
    assert.deepEqual(
      [
        report.buckets,
        report.unclassified + report.allSucceeded.count + report.classes.reduce((sum, { count }) => sum + count, 0),
        report.episodes,
        report.precedence[0],
        report.thresholds.shift,
      ],
      [6, 6, 8, 'Misleading Plan', 0.2],
    );
    const by = (name: string) => report.detectors.find((one) => one.name === name) ?? assert.fail(name);
    // The scripted team states no answer in any form.
    assert.deepEqual([by('no final answer').count, by('no final answer').measured], [8, 8]);
    assert.deepEqual(
      [by('plan ignored').count, by('plan ignored').measured, by('plan ignored').notMeasured],
      [0, 0, 8],
    );
    const lines = formatTaxonomy(report);
    assert.ok(
      lines.some((line) => /^ {5}\? {2}plan ignored: Not measured: replay the plan/.test(line)),
      lines.join('\n'),
    );
    // A class that nothing could decide has no count, not even 0.
    const never = formatTaxonomy({ ...report, unmeasured: { alone: 2, classes: ['Over-Coupling'] } });
    assert.deepEqual(
      never.filter((line) => line.includes('Over-Coupling')),
      [
        '     ?  Over-Coupling: not measured',
        `        ${describeUnmeasured({ alone: 2, classes: ['Over-Coupling'] }) ?? ''}`,
      ],
    );
  });

  it('sees from a stored replay of an empty plan whether the plan matters', async (t) => {
    const here = await scene(t);
    const [leaf] = here.store.episodes({ run: RUN, phase: 'evaluate', iteration: 4, offset: 0, limit: 1 });
    const plan = here.store.chain(leaf?.leaf ?? 0)[0]?.id ?? 0;
    const ignored = async () =>
      (
        await createTaxonomyReport(here.store, RUN, {
          buckets: [],
          leftOut: { requested: 0, otherDistribution: 0 },
          isVote: false,
        })
      ).detectors.find(({ name }) => name === 'plan ignored');
    // Another plan says nothing of no plan.
    await replayMessage(
      { message: plan, alternatives: 1, replays: 3, text: 'other' },
      { ...here.dependencies, policy: here.policy, credit: LOO },
      { signal: new AbortController().signal, onProgress: () => undefined },
    );
    assert.equal((await ignored())?.measured, 0);
    await replayMessage(
      { message: plan, alternatives: 1, replays: 3, text: '' },
      { ...here.dependencies, policy: here.policy, credit: LOO },
      { signal: new AbortController().signal, onProgress: () => undefined },
    );
    const found = await ignored();
    // The scripted actor's words depend on its context, so on the plan.
    assert.deepEqual([found?.count, found?.measured, found?.notMeasured], [0, 1, 7]);
  });
});

describe('energy', () => {
  it('adds up the packages, over a counter that starts again, and is null where the system does not say', (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'c3-rapl-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    const write = (name: string, energy: number): void => {
      mkdirSync(join(folder, name), { recursive: true });
      writeFileSync(join(folder, name, 'energy_uj'), `${energy}\n`);
      writeFileSync(join(folder, name, 'max_energy_range_uj'), '10000000\n');
    };
    write('intel-rapl:0', 1_000_000);
    write('intel-rapl:1', 9_000_000);
    write('intel-rapl:0:0', 5);
    const stop = startEnergy(folder);
    write('intel-rapl:0', 3_500_000);
    write('intel-rapl:1', 500_000);
    write('intel-rapl:0:0', 9_000_000);
    assert.equal(stop(), 2.5 + 1.5);
    rmSync(join(folder, 'intel-rapl:1'), { recursive: true });
    assert.equal(stop(), null);
    assert.equal(startEnergy(join(folder, 'absent'))(), null);
  });
});
