/** Implements `c3 diagnose`: measures the credit of a run over its buckets, with intervals and costs. */

import { requireEstimator, type CreditEstimator } from '../../credit/estimators.ts';
import type { DiagnosticBucket } from '../../diagnostics/bucket.ts';
import { measureDistinctInfluence } from '../../diagnostics/distinctInfluence.ts';
import { duplicateRates } from '../../diagnostics/duplicates.ts';
import { measureFidelity, measurePublishedFidelity } from '../../diagnostics/fidelity.ts';
import {
  measureAnswerInfluence,
  CODE_INFLUENCE,
  measureContextInfluences,
  measureInfluence,
  PAPER_INFLUENCE,
  measurePublishedInfluence,
} from '../../diagnostics/influence.ts';
import { testNoiseLaw, measureReliability } from '../../diagnostics/reliability.ts';
import {
  findHighInfluence,
  findLowVariance,
  findReturnsWithoutAccuracy,
  type ReviewSignal,
} from '../../diagnostics/review.ts';
import {
  averageAtK,
  averagePassAtK,
  samplingError,
  type Accuracy,
  type Samples,
} from '../../diagnostics/statistics/accuracy.ts';
import { contextVariance, measurePublishedVariance, measureWithinContextVariance } from '../../diagnostics/variance.ts';
import type { Interval } from '../../domain/credit.ts';
import { evaluationCurve, listEvaluations, type EvaluationPoint } from '../../domain/evaluation.ts';
import type { Sampling } from '../../domain/message.ts';
import { OTHER_DISTRIBUTION, classifyDraws, type BucketOrigin } from '../../domain/replay.ts';
import { addLedgers, readVotesCost, type Ledger } from '../../domain/run.ts';
import { extractAnswer } from '../../evaluate/math/extract.ts';
import { computeStoredCost } from '../../replay/storedCost.ts';
import { toHeadlineJson, type HeadlineJson } from '../../shared/credit/headline.ts';
import { C3Error } from '../../shared/errors.ts';
import { takeBeginning } from '../../shared/text/visible.ts';
import type { StoreReader, EpisodeCost } from '../../store/types.ts';
import type { Protocol } from '../../team/protocol.ts';
import { solvedReturn } from '../../team/rounds.ts';
import { toSolved } from '../../training/measure/evaluation.ts';
import { readOriginBuckets, readSampleBuckets, type StoredBucket } from './diagnoseBuckets.ts';
import { listNewestEvaluations } from './newestEvaluations.ts';
import { diagnoseTeam, type TeamDiagnosis } from './teamDiagnosis.ts';
import { listContextSamples } from './trainingCredit.ts';

export interface DiagnoseSettings {
  /** Origin of the buckets; null for the newest sample, or the training buckets if there is no sample. */
  readonly origin: BucketOrigin | null;
  readonly estimator: CreditEstimator;
  readonly protocol: Protocol;
}

/** An interval with further values. */
type Measured = Interval & Readonly<Record<string, unknown>>;

export interface Diagnosis extends TeamDiagnosis {
  readonly run: string;
  readonly origin: BucketOrigin;
  readonly contexts: number;
  readonly estimator: CreditEstimator;
  /** Settings of the sample, including S, J, c and J_V; null without a sample. */
  readonly sample: unknown;
  readonly fidelity: ReturnType<typeof measureFidelity> & {
    readonly published: {
      readonly withValueSamples: ReturnType<typeof measurePublishedFidelity>;
      readonly withoutValueSamples: ReturnType<typeof measurePublishedFidelity>;
    } | null;
  };
  readonly variance: Measured | null;
  /** As published: the smoothed estimate, which is biased above 0 for few samples. */
  readonly influence: Measured | null;
  /** Influence between distinct texts, minus its value by chance; null if `influence` is null. */
  readonly distinctInfluence: Measured | null;
  readonly passAtK: Readonly<Record<string, Measured | null>>;
  readonly ledger: Overhead['ledger'];
  readonly overhead: Overhead['overhead'];
  readonly continuation: Continuation;
  readonly reliability: ReturnType<typeof measureReliability>;
  readonly noise: ReturnType<typeof testNoiseLaw>;
  readonly duplicates: ReturnType<typeof duplicateRates>;
  readonly accuracy: { readonly greedy: Measured | null; readonly average: Measured | null };
  /** Every complete evaluation over training, by step. */
  readonly evaluations: readonly EvaluationPoint[];
  readonly byRole: Readonly<
    Record<
      string,
      {
        readonly contexts: number;
        readonly fidelity: Interval | null;
        readonly variance: Interval | null;
        readonly influence: Interval | null;
      }
    >
  >;
  readonly signals: readonly ReviewSignal[];
  /** The run's own messages with the clearest headline credits, the clearest first. */
  readonly clearest: readonly (HeadlineJson & {
    readonly message: number;
    readonly role: string;
    readonly text: string;
  })[];
  /** Reasons for the values that are null, by key. */
  readonly reasons: Readonly<Record<string, string>>;
}

/** Assumptions of the returns about everything after an alternative. */
export interface Continuation {
  readonly snapshots: readonly string[];
  readonly protocol: string;
  readonly sampling: Sampling | null;
  /** Random numbers of the replays; null if no two can be compared. */
  readonly draws: ReturnType<typeof classifyDraws>;
  readonly assumption: string;
}

/** Values of k for pass@k. */
const PASS_AT = [1, 10];
/** Most buckets that are measured, because more do not fit in memory together. */
const MOST_BUCKETS = 20_000;

/**
 * Measures a run over its stored buckets. Executes nothing.
 * @throws C3Error('input') for a run without buckets of the requested origin
 */
export function diagnose(store: StoreReader, run: string, settings: DiagnoseSettings): Diagnosis {
  const { protocol, estimator } = settings;
  const { origin, buckets, others, sample } = selectBuckets(store, run, settings);
  const reasons: Record<string, string> = others === 0 ? {} : { contexts: describeOtherBuckets(others) };
  const faithful = measureFidelity(buckets, estimator);
  if (faithful.degenerate !== null) {
    reasons['fidelity'] = faithful.degenerate;
  }
  const spread = measureWithinContextVariance(buckets, estimator);
  if (spread.value === null) {
    reasons['variance'] =
      requireEstimator(estimator).diagnosed === 'stored'
        ? 'No context has two alternatives with a stored credit.'
        : 'No context has two credited alternatives with a return.';
  }
  const moved = measureInfluence(buckets, PAPER_INFLUENCE);
  if (moved.value === null) {
    reasons['influence'] = 'No context has two alternatives that another message follows; the last role has none.';
  }
  const corrected = measureDistinctInfluence(buckets, PAPER_INFLUENCE);
  const accuracies = measureAccuracy(store, run, protocol, reasons);
  const { ledger, overhead } = measureCosts(store, run, protocol, buckets);
  const answers = measureAnswerInfluence(buckets, (text) => extractAnswer(text).answer);
  return {
    run,
    origin,
    contexts: buckets.length,
    estimator,
    sample,
    fidelity: {
      ...faithful,
      published:
        buckets.length === 0
          ? null
          : {
              withValueSamples: measurePublishedFidelity(buckets, estimator, true),
              withoutValueSamples: measurePublishedFidelity(buckets, estimator, false),
            },
    },
    variance:
      spread.value === null
        ? null
        : {
            ...spread.value,
            kind: 'population',
            standardDeviation: spread.standardDeviation,
            standardError: spread.standardError,
            leftOut: spread.leftOut,
            sample: measureWithinContextVariance(buckets, estimator, 'sample').value,
            published: measurePublishedVariance(buckets, estimator),
          },
    influence:
      moved.value === null
        ? null
        : {
            ...moved.value,
            units: 'nats',
            canonicalisation: PAPER_INFLUENCE.symbol,
            topK: PAPER_INFLUENCE.topK,
            alpha: PAPER_INFLUENCE.alpha,
            weights: PAPER_INFLUENCE.weights,
            leftOut: moved.leftOut,
            vocabulary: moved.vocabulary,
            warning: moved.warning,
            code: measureInfluence(buckets, CODE_INFLUENCE),
            published: measurePublishedInfluence(buckets),
            answers: { ...answers, correction: 'Miller-Madow' },
          },
    distinctInfluence: corrected.value === null ? null : { ...corrected, ...corrected.value, units: 'nats' },
    passAtK: accuracies.passAtK,
    ledger,
    overhead,
    continuation: readAssumedContinuation(store, buckets, settings),
    reliability: measureReliability(buckets),
    noise: testNoiseLaw(buckets),
    duplicates: duplicateRates(buckets),
    accuracy: { greedy: accuracies.greedy, average: accuracies.average },
    evaluations: evaluationCurve(listEvaluations(store.run(run), store.evaluations(run))),
    ...diagnoseTeam(store, run, protocol, reasons),
    byRole: measureByRole(buckets, estimator),
    signals: findSignals(store, run, buckets, estimator),
    clearest: readClearest(store, run),
    reasons,
  };
}

/** Most messages that are listed, and most characters of each. */
const CLEAREST = 20;
const PREVIEW = 240;

function readClearest(store: StoreReader, run: string): Diagnosis['clearest'] {
  return store.clearestMessages(run, CLEAREST).map(({ message, credit }) => {
    const { role, text } = store.message(message);
    return { message, role, text: takeBeginning(text, PREVIEW), ...toHeadlineJson(credit) };
  });
}

function selectBuckets(
  store: StoreReader,
  run: string,
  { origin, protocol }: DiagnoseSettings,
): {
  readonly origin: BucketOrigin;
  readonly buckets: StoredBucket[];
  readonly others: number;
  readonly sample: unknown;
} {
  const newest = listContextSamples(store, run).findLast(({ id }) => store.diagnosticBuckets(id, 0, 1).length > 0);
  const chosen = origin ?? (newest === undefined ? 'training' : 'diagnostic');
  const found =
    chosen === 'diagnostic' && newest !== undefined
      ? readSampleBuckets(store, newest.id, protocol)
      : readOriginBuckets(store, run, chosen, protocol);
  const buckets: StoredBucket[] = [];
  let others = 0;
  for (const bucket of found) {
    if (buckets.length === MOST_BUCKETS) {
      break;
    }
    // Credits of another continuation distribution are never pooled with the run's.
    if (bucket.view.continuation === null) {
      buckets.push(bucket);
    } else {
      others++;
    }
  }
  if (buckets.length === 0) {
    throw new C3Error(
      'input',
      `Run ${run} has no ${chosen} buckets to measure; sample some with c3 diagnose --run ${run} --sample, or name another --origin.${others === 0 ? '' : ` ${describeOtherBuckets(others)}`}`,
    );
  }
  const settings: unknown = chosen === 'diagnostic' && newest !== undefined ? JSON.parse(newest.settings) : null;
  return { origin: chosen, buckets, others, sample: settings };
}

const describeOtherBuckets = (count: number): string =>
  `${count} ${count === 1 ? 'bucket' : 'buckets'} of ${OTHER_DISTRIBUTION} ${count === 1 ? 'is' : 'are'} left out.`;

function readAssumedContinuation(
  store: StoreReader,
  buckets: readonly StoredBucket[],
  { protocol }: DiagnoseSettings,
): Continuation {
  const snapshots = [...new Set(buckets.map(({ view }) => view.snapshot))];
  const draws =
    buckets
      .map(({ view }) => classifyDraws(store.replaysOfBucket(view.id), (id) => store.fullMessage(id).streamKey))
      .find((one) => one !== null) ?? null;
  // The last alternative was sampled in its bucket. The first may be a greedy message that the user
  // replayed.
  const sampled = buckets[0]?.view.alternatives.at(-1);
  const sampling = sampled === undefined ? null : store.fullMessage(sampled.message).sampling;
  const foreign = buckets.some(({ row }) => row !== null && row.source !== null);
  const decoding =
    sampling === null
      ? 'settings that are not known'
      : `temperature ${sampling.temperature}, top-p ${sampling.topP}, top-k ${sampling.topK}, at most ${sampling.maxNewTokens} new tokens`;
  const own = `The weights of a message also generate what follows it (${snapshots.length} snapshot${snapshots.length === 1 ? '' : 's'}), sampled at ${decoding}, by the protocol ${JSON.stringify(protocol.name)}`;
  const imported = `Weights that the imported file does not name generated what follows a message, sampled at ${decoding} as far as the file says`;
  return {
    snapshots,
    protocol: protocol.name,
    sampling,
    draws,
    assumption: `${foreign ? imported : own}; other weights, decoding or teammates may give other returns, which are not measured.`,
  };
}

function measureAccuracy(
  store: StoreReader,
  run: string,
  protocol: Protocol,
  reasons: Record<string, string>,
): {
  readonly greedy: Measured | null;
  readonly average: Measured | null;
  readonly passAtK: Record<string, Measured | null>;
} {
  const scored = solvedReturn(protocol);
  const last = (kind: 'greedy' | 'sampled'): Samples[] => {
    for (const round of listNewestEvaluations(store, run).filter((one) => one.kind === kind)) {
      const samples = readEvaluationSamples(store, run, round.iteration, scored);
      if (samples.length > 0) {
        return samples;
      }
    }
    return [];
  };
  const sampled = last('sampled');
  const passAtK: Record<string, Measured | null> = {};
  // Include k = all samples: benchmarks report it together with avg@k, which equals pass@1.
  const most = Math.max(0, ...sampled.map(({ length }) => length));
  for (const k of new Set([...PASS_AT, ...(most > 1 ? [most] : [])])) {
    const found = averagePassAtK(sampled, k);
    passAtK[String(k)] = toMeasured(found);
    if (found === null) {
      reasons[`passAtK.${k}`] = `No problem has ${k} sampled episodes in the last evaluation of this run.`;
    }
  }
  const greedy = toMeasured(averageAtK(last('greedy')));
  if (greedy === null) {
    reasons['accuracy.greedy'] = 'This run has no greedy evaluation.';
  }
  const average = toMeasured(averageAtK(sampled));
  return { greedy, average: average === null ? null : { ...average, samplingError: samplingError(sampled) }, passAtK };
}

const toMeasured = (found: Accuracy | null): Measured | null =>
  found === null ? null : { ...found.interval, method: found.method, leftOut: found.leftOut };

const PAGE = 1000;

/**
 * Groups the episodes of one evaluation by problem, in the order of the first episode of each.
 * @param scored number of scored messages of an episode
 */
export function readEvaluationSamples(store: StoreReader, run: string, iteration: number, scored: number): Samples[] {
  const byProblem = new Map<string, (0 | 1 | null)[]>();
  for (let offset = 0; ; offset += PAGE) {
    const episodes = store.episodes({ run, phase: 'evaluate', iteration, offset, limit: PAGE });
    for (const { problem, return: value } of episodes) {
      const samples = byProblem.get(problem) ?? [];
      const one = toSolved(value, scored);
      samples.push(one === null ? null : one === 1 ? 1 : 0);
      byProblem.set(problem, samples);
    }
    if (episodes.length < PAGE) {
      return [...byProblem.values()];
    }
  }
}

function measureByRole(buckets: readonly StoredBucket[], estimator: CreditEstimator): Diagnosis['byRole'] {
  const roles = [...new Set(buckets.map(({ role }) => role))];
  return Object.fromEntries(
    roles.map((role) => {
      const own: readonly DiagnosticBucket[] = buckets.filter(({ role: speaker }) => speaker === role);
      return [
        role,
        {
          contexts: own.length,
          fidelity: measureFidelity(own, estimator).all,
          variance: measureWithinContextVariance(own, estimator).value,
          influence: measureInfluence(own, PAPER_INFLUENCE).value,
        },
      ];
    }),
  );
}

function findSignals(
  store: StoreReader,
  run: string,
  buckets: readonly StoredBucket[],
  estimator: CreditEstimator,
): ReviewSignal[] {
  const influences = measureContextInfluences(buckets, PAPER_INFLUENCE);
  const valuesOf = (
    measure: (bucket: StoredBucket, index: number) => number | null,
  ): Parameters<typeof findHighInfluence>[0] =>
    buckets.flatMap((bucket, index) => {
      const value = measure(bucket, index);
      return value === null ? [] : [{ bucket: bucket.id, role: bucket.role, value }];
    });
  const returns = store.steps(run, 0, store.countSteps(run)).flatMap(({ metrics }) => metrics?.meanReturn ?? []);
  const drift = findReturnsWithoutAccuracy(returns, store.run(run).summary?.accuracy.difference ?? null);
  return [
    ...findHighInfluence(valuesOf((_, index) => influences[index] ?? null)),
    ...findLowVariance(valuesOf((bucket) => contextVariance(bucket, estimator))),
    ...(drift === null ? [] : [drift]),
  ];
}

/** A ledger of replays, whose seconds and joules may be unknown. */
interface ReplayOverhead extends Omit<Ledger, 'seconds'> {
  readonly seconds: number | null;
  readonly joules: number | null;
}

interface Overhead {
  /** Costs of the run's own messages: training and evaluations. */
  readonly ledger: Ledger;
  /** Costs of replays. Seconds and joules are those of the measured buckets, or null if unknown. */
  readonly overhead: Readonly<Record<Exclude<BucketOrigin, 'training'>, ReplayOverhead>>;
}

/** Sums the costs in the store's rows. */
function measureCosts(store: StoreReader, run: string, protocol: Protocol, buckets: readonly StoredBucket[]): Overhead {
  const replays = store.replayCosts(run);
  const episodes = store.episodeCosts(run);
  const replayed = (origin: EpisodeCost['origin']): Ledger =>
    computeStoredCost(
      replays.filter((cost) => cost.origin === origin),
      episodes,
      origin,
      protocol,
    );
  const [newest] = store.steps(run, Math.max(0, store.countSteps(run) - 1), 1);
  const rows = buckets.flatMap(({ row }) => (row === null ? [] : [row]));
  const total = (values: readonly (number | null)[]): number | null =>
    values.length === 0 || values.includes(null) ? null : values.reduce<number>((sum, value) => sum + (value ?? 0), 0);
  return {
    ledger: {
      ...addLedgers(computeStoredCost(store.costs(run), episodes, null, protocol), readVotesCost(newest?.ledger)),
      seconds: store.account(run)?.seconds ?? store.run(run).summary?.seconds ?? 0,
    },
    overhead: {
      request: { ...replayed('request'), seconds: null, joules: null },
      diagnostic: {
        ...replayed('diagnostic'),
        seconds: total(rows.map(({ seconds }) => seconds)),
        joules: total(rows.map(({ joules }) => joules)),
      },
    },
  };
}
