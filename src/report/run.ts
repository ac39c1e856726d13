/** Builds the report of a run from the store. The same store always gives the same report. */

import { meanInterval } from '../credit/interval.ts';
import type { Interval } from '../domain/credit.ts';
import type { Episode } from '../domain/episode.ts';
import { evaluationCurve, listEvaluations } from '../domain/evaluation.ts';
import type { Ledger } from '../domain/run.ts';
import type { Step } from '../domain/step.ts';
import { readRegionFacts } from '../domain/stepRows.ts';
import type { MessageHeadline, StoreReader } from '../store/types.ts';
import { Allowance } from './allowance.ts';
import { emptiedEffects } from './emptied.ts';
import { measuredCredit, reportedCredit } from './estimates.ts';
import { readJsonKey, toReportedRun } from './finding.ts';
import { removalReport } from './removal.ts';
import {
  REPORT_VERSION,
  type Cost,
  type CreditedMessage,
  type ReportedStep,
  type RoleCredits,
  type RunReport,
} from './types.ts';

const PAGE = 5_000;
/** The most points of the learning curve, and episodes that are read for their intervals. */
const STEPS = 200;
const EPISODES = 200_000;
/** The most credits that are read, of the newest buckets, and the number in one reading. */
const CREDITS = 1_000_000;
const CREDIT_PAGE = 250_000;
const CREDITED = 20;
const CREDITED_CHARACTERS = 1_000;
const CONFIGURATION_CHARACTERS = 50_000;

/**
 * Reads the report of one run.
 * @throws C3Error('input') if the store does not hold it; C3Error('store') if it cannot be read
 */
export function buildRunReport(store: StoreReader, id: string): RunReport {
  const allowance = new Allowance();
  const record = store.run(id);
  const steps = readReportedSteps(store, id, allowance);
  const verified = store.verdictsOfRun(id);
  const configuration = readJsonKey(store.runConfig(id), 'config');
  const removal = removalReport(store, id);
  const emptied = emptiedEffects(store, id);
  const region = readRegionFacts(store.runConfig(id));
  const { store: _, ...summary } = record.summary ?? { store: '' };
  return {
    report: 'run',
    version: REPORT_VERSION,
    run: toReportedRun(store, id),
    summary: 'run' in summary ? summary : null,
    steps,
    evaluations: readEvaluations(store, id, allowance),
    cost: readRunCost(store, id),
    creditByRole: readCredits(store, id, allowance),
    replays: {
      requests: store.countBuckets({ run: id, origin: 'request' }),
      replays: verified.identical + verified.different + verified.notComparable + verified.unverified,
      verified,
    },
    credited: store
      .clearestMessages(id, CREDITED)
      .map((found) => creditedMessage(store, found, allowance))
      .filter((one) => one !== null),
    ...(removal !== null && { removal }),
    ...(emptied.length > 0 && { emptied }),
    ...((region.delta !== null || region.replacement !== null) && { region }),
    configuration: allowance.excerpt(
      configuration === undefined ? '' : JSON.stringify(configuration, null, 2),
      CONFIGURATION_CHARACTERS,
    ),
    leftOut: allowance.leftOut,
  };
}

function readReportedSteps(store: StoreReader, run: string, allowance: Allowance): readonly ReportedStep[] {
  const total = store.countSteps(run);
  const all: Step[] = [];
  for (let offset = 0; offset < total; offset += PAGE) {
    all.push(...store.steps(run, offset, PAGE));
  }
  const kept = pickEvenly(all);
  allowance.omit('steps between those of the learning curve', all.length - kept.length);
  let left = EPISODES;
  return kept.map(({ iteration, metrics, ledger, episodes }) => {
    left -= episodes;
    if (left < 0) {
      allowance.omit('intervals of steps', 1);
    }
    const value = metrics?.meanReturn ?? null;
    const meanReturn =
      value === null ? null : withInterval(value, left < 0 ? [] : readTrainingEpisodes(store, run, iteration));
    return {
      step: iteration,
      meanReturn,
      episodes,
      evaluatorCalls: ledger.evaluatorCalls,
      tokens: ledger.tokens,
      metrics,
    };
  });
}

function readEvaluations(store: StoreReader, run: string, allowance: Allowance): RunReport['evaluations'] {
  const all = evaluationCurve(listEvaluations(store.run(run), store.evaluations(run)));
  const kept = pickEvenly(all);
  allowance.omit('evaluations between those of the curve', all.length - kept.length);
  return kept;
}

/** Returns items spread evenly over a curve, including the first and the last. */
function pickEvenly<Item>(all: readonly Item[]): readonly Item[] {
  if (all.length <= STEPS) {
    return all;
  }
  return Array.from({ length: STEPS }, (_, index) => all[Math.round((index * (all.length - 1)) / (STEPS - 1))]).filter(
    (item) => item !== undefined,
  );
}

function readTrainingEpisodes(store: StoreReader, run: string, iteration: number): readonly Episode[] {
  const found: Episode[] = [];
  for (let offset = 0; ; offset += PAGE) {
    const page = store.episodes({ run, phase: 'train', iteration, offset, limit: PAGE });
    found.push(...page);
    if (page.length < PAGE) {
      return found;
    }
  }
}

/**
 * Returns the stored mean with an interval over problems, because the episodes of a problem are
 * correlated. There is no interval if their mean differs from the stored one, as with masked
 * episodes.
 */
function withInterval(value: number, episodes: readonly Episode[]): Interval {
  const means = [...Map.groupBy(episodes, ({ problem }) => problem).values()].flatMap((own) => {
    const returns = own.flatMap((episode) => episode.return ?? []);
    return returns.length === 0 ? [] : returns.reduce((sum, one) => sum + one, 0) / returns.length;
  });
  const interval = meanInterval(means);
  const same = interval !== null && Math.abs(interval.value - value) < 1e-6;
  return { value, low: same ? interval.low : null, high: same ? interval.high : null, n: means.length };
}

/** Returns the cost of the run so far, without its replays. */
function readRunCost(store: StoreReader, run: string): RunReport['cost'] {
  const { summary } = store.run(run);
  if (summary !== null) {
    return pickCost(summary, summary.seconds);
  }
  const last = store.steps(run, Math.max(0, store.countSteps(run) - 1), 1)[0];
  return pickCost(
    last?.ledger ?? { evaluatorCalls: 0, tokens: { prompt: 0, reused: 0, completion: 0 }, decisions: {} },
    store.account(run)?.trainingSeconds ?? null,
  );
}

const pickCost = (
  {
    evaluatorCalls,
    reusedEvaluations = 0,
    tokens,
    decisions,
  }: Pick<Ledger, 'evaluatorCalls' | 'reusedEvaluations' | 'tokens' | 'decisions'>,
  seconds: number | null,
): Cost & { readonly seconds: number | null } => ({ evaluatorCalls, reusedEvaluations, tokens, decisions, seconds });

/** Returns the stored credits of the training messages, by role. */
function readCredits(store: StoreReader, run: string, allowance: Allowance): readonly RoleCredits[] {
  const credits = new Map<string, number[]>();
  for (let offset = 0; ; offset += CREDIT_PAGE) {
    const page = store.creditsOfRun(run, offset, CREDIT_PAGE);
    for (const { origin, role, value } of page) {
      if (origin !== 'training') {
        continue;
      }
      const own = credits.get(role) ?? [];
      own.push(value);
      credits.set(role, own);
    }
    if (page.length < CREDIT_PAGE) {
      break;
    }
    if (offset + CREDIT_PAGE >= CREDITS) {
      allowance.omit('credits of older buckets, at least', store.creditsOfRun(run, CREDITS, CREDIT_PAGE).length);
      break;
    }
  }
  return [...credits].sort(([a], [b]) => (a < b ? -1 : 1)).map(([role, values]) => summarizeCredits(role, values));
}

function summarizeCredits(role: string, values: readonly number[]): RoleCredits {
  const sorted = values.toSorted((a, b) => a - b);
  const [low, lowerQuartile, median, upperQuartile, high] = [0, 0.25, 0.5, 0.75, 1].map((share) =>
    quantile(sorted, share),
  );
  return {
    role,
    n: sorted.length,
    low: low ?? 0,
    lowerQuartile: lowerQuartile ?? 0,
    median: median ?? 0,
    upperQuartile: upperQuartile ?? 0,
    high: high ?? 0,
  };
}

/**
 * Interpolates linearly between order statistics.
 * @param sorted ascending, at least one number
 */
export function quantile(sorted: readonly number[], share: number): number {
  const place = share * (sorted.length - 1);
  const below = sorted[Math.floor(place)] ?? 0;
  return below + (place - Math.floor(place)) * ((sorted[Math.ceil(place)] ?? below) - below);
}

function creditedMessage(
  store: StoreReader,
  { message, credit }: MessageHeadline,
  allowance: Allowance,
): CreditedMessage | null {
  const { role, problem } = store.message(message);
  const found = store
    .bucketsFor(message)
    .findLast(
      ({ continuation, alternatives }) =>
        continuation === null && alternatives.some(({ message: one }) => one === message),
    );
  const alternative = found?.alternatives.find(({ message: one }) => one === message);
  if (found === undefined || alternative === undefined) {
    return null;
  }
  const reported = measuredCredit(reportedCredit(credit));
  if (reported === null) {
    return null;
  }
  return {
    message,
    bucket: found.id,
    origin: found.origin,
    iteration: found.iteration,
    role,
    text: allowance.excerpt(alternative.text, CREDITED_CHARACTERS),
    question: allowance.excerpt(store.problem(problem).question, CREDITED_CHARACTERS),
    returns: alternative.returns,
    credit: reported,
    verification: alternative.verification,
  };
}
