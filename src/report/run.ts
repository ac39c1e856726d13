/** The report of a run, read from the store: pure but for the reading, and the same for the same store. */
import { meanInterval } from '../credit/interval.ts';
import type { BucketView, Credit, Episode, Interval, Ledger, Step } from '../shared/records.ts';
import type { StoreReader } from '../store/types.ts';
import { Allowance } from './allowance.ts';
import { keyOf, reportedRun, tally } from './finding.ts';
import { REPORT_VERSION, type Cost, type CreditedMessage, type ReportedStep, type RoleCredits, type RunReport, type Verified } from './types.ts';

const PAGE = 500;
/** Points of the learning curve, and episodes that are read for their intervals. */
const STEPS = 200;
const EPISODES = 200_000;
/** The newest so many buckets are read. */
const BUCKETS = 10_000;
const CREDITED = 20;
const CREDITED_CHARACTERS = 1_000;
const CONFIGURATION_CHARACTERS = 50_000;

/**
 * Reads what is known of one run.
 * @throws C3Error('input') where the store does not hold it; C3Error('store') where it cannot be read
 */
export function runReport(store: StoreReader, id: string): RunReport {
  const allowance = new Allowance();
  const record = store.run(id);
  const steps = stepsOf(store, id, allowance);
  const buckets = readBuckets(store, id, allowance);
  const configuration = keyOf(store.runConfig(id), 'config');
  const { store: _, ...summary } = record.summary ?? { store: '' };
  return {
    report: 'run', version: REPORT_VERSION, run: reportedRun(store, id),
    summary: 'run' in summary ? summary : null,
    steps, cost: costOf(store, id), replays: buckets.replays, creditByRole: buckets.byRole,
    credited: buckets.credited.map(([bucket, index, question]) => creditedMessage(bucket, index, question, allowance)).filter((one) => one !== null),
    configuration: allowance.excerpt(configuration === undefined ? '' : JSON.stringify(configuration, null, 2), CONFIGURATION_CHARACTERS),
    leftOut: allowance.leftOut,
  };
}

function stepsOf(store: StoreReader, run: string, allowance: Allowance): readonly ReportedStep[] {
  const total = store.countSteps(run);
  const all: Step[] = [];
  for (let offset = 0; offset < total; offset += PAGE) all.push(...store.steps(run, offset, PAGE));
  // Spread evenly, the first and the last among them.
  const kept = all.length <= STEPS ? all : Array.from({ length: STEPS }, (_, index) => all[Math.round((index * (all.length - 1)) / (STEPS - 1))]).filter((step) => step !== undefined);
  allowance.omit('steps between those of the learning curve', all.length - kept.length);
  let left = EPISODES;
  return kept.map(({ iteration, metrics, ledger, episodes }) => {
    left -= episodes;
    if (left < 0) allowance.omit('intervals of steps', 1);
    const meanReturn = metrics === null ? null : withInterval(metrics.meanReturn, left < 0 ? [] : episodesOf(store, run, iteration));
    return { step: iteration, meanReturn, episodes, evaluatorCalls: ledger.evaluatorCalls, tokens: ledger.tokens, metrics };
  });
}

function episodesOf(store: StoreReader, run: string, iteration: number): readonly Episode[] {
  const found: Episode[] = [];
  for (let offset = 0; ; offset += PAGE) {
    const page = store.episodes({ run, phase: 'train', iteration, offset, limit: PAGE });
    found.push(...page);
    if (page.length < PAGE) return found;
  }
}

/** The stored mean with an interval over instances, whose episodes hang together; none where their mean is another, as it is when episodes are masked. */
function withInterval(value: number, episodes: readonly Episode[]): Interval {
  const means = [...Map.groupBy(episodes, ({ instance }) => instance).values()].flatMap((own) => {
    const returns = own.flatMap((episode) => episode.return ?? []);
    return returns.length === 0 ? [] : returns.reduce((sum, one) => sum + one, 0) / returns.length;
  });
  const interval = meanInterval(means);
  const same = interval !== null && Math.abs(interval.value - value) < 1e-6;
  return { value, low: same ? interval.low : null, high: same ? interval.high : null, n: means.length };
}

/** What the run cost so far; its replays are not counted. */
function costOf(store: StoreReader, run: string): RunReport['cost'] {
  const { summary } = store.run(run);
  if (summary !== null) return pickCost(summary, summary.seconds);
  const last = store.steps(run, Math.max(0, store.countSteps(run) - 1), 1)[0];
  return pickCost(last?.ledger ?? { evaluatorCalls: 0, tokens: { prompt: 0, reused: 0, completion: 0 }, decisions: {} }, store.account(run)?.trainingSeconds ?? null);
}

const pickCost = ({ evaluatorCalls, tokens, decisions }: Pick<Ledger, 'evaluatorCalls' | 'tokens' | 'decisions'>, seconds: number | null): Cost & { readonly seconds: number | null } => ({ evaluatorCalls, tokens, decisions, seconds });

type Credited = readonly [bucket: BucketView, index: number, question: string];

interface ReadBuckets {
  readonly replays: RunReport['replays'];
  readonly byRole: readonly RoleCredits[];
  /** The alternatives whose credit is clearest, each message once. */
  readonly credited: readonly Credited[];
}

function readBuckets(store: StoreReader, run: string, allowance: Allowance): ReadBuckets {
  const total = store.countBuckets({ run });
  const from = Math.max(0, total - BUCKETS);
  allowance.omit('older buckets', from);
  const credits = new Map<string, number[]>();
  let best: { readonly clear: number; readonly size: number; readonly bucket: BucketView; readonly index: number; readonly message: number }[] = [];
  let verified: Verified = { identical: 0, different: 0, notComparable: 0, unverified: 0 };
  let [requests, replays] = [0, 0];
  for (let offset = from; offset < total; offset += PAGE) {
    for (const bucket of store.bucketsOfRun({ run, offset, limit: PAGE })) {
      const found = store.verdictsOfBucket(bucket.id);
      verified = sum(verified, tally(found));
      replays += found.length;
      if (bucket.origin === 'request') requests++;
      for (const [index, { credit, decision }] of bucket.alternatives.entries()) {
        if (credit === null) continue;
        if (bucket.origin === 'training') {
          const own = credits.get(bucket.eventType) ?? [];
          own.push(credit.value);
          credits.set(bucket.eventType, own);
        }
        best.push({ clear: clearOf(credit), size: Math.abs(credit.value), bucket, index, message: decision });
      }
    }
    best = clearest(best);
  }
  const byRole = [...credits].map(([role, values]) => rolesCredits(role, values));
  return { replays: { requests, replays, verified }, byRole, credited: best.map(({ bucket, index }) => [bucket, index, store.instance(bucket.instance).question]) };
}

/** How far the interval stays from 0; 0 where it holds it, or is not known. */
function clearOf({ low, high }: Credit): number {
  return low === null || high === null ? 0 : Math.max(0, low, -high);
}

/** The clearest, then the largest in size; of equals the message that was said first. */
function clearest<Item extends { readonly clear: number; readonly size: number; readonly message: number }>(all: readonly Item[]): Item[] {
  const once = new Set<number>();
  return all.toSorted((a, b) => b.clear - a.clear || b.size - a.size || a.message - b.message).filter(({ message }) => !once.has(message) && once.add(message)).slice(0, CREDITED);
}

const sum = (a: Verified, b: Verified): Verified => ({ identical: a.identical + b.identical, different: a.different + b.different, notComparable: a.notComparable + b.notComparable, unverified: a.unverified + b.unverified });

function rolesCredits(role: string, values: readonly number[]): RoleCredits {
  const sorted = values.toSorted((a, b) => a - b);
  const [low, lowerQuartile, median, upperQuartile, high] = [0, 0.25, 0.5, 0.75, 1].map((share) => quantile(sorted, share));
  return { role, n: sorted.length, low: low ?? 0, lowerQuartile: lowerQuartile ?? 0, median: median ?? 0, upperQuartile: upperQuartile ?? 0, high: high ?? 0 };
}

/** Linear between order statistics. @param sorted ascending, at least one */
export function quantile(sorted: readonly number[], share: number): number {
  const place = share * (sorted.length - 1);
  const below = sorted[Math.floor(place)] ?? 0;
  return below + (place - Math.floor(place)) * ((sorted[Math.ceil(place)] ?? below) - below);
}

function creditedMessage({ id, origin, iteration, eventType, alternatives }: BucketView, index: number, question: string, allowance: Allowance): CreditedMessage | null {
  const alternative = alternatives[index];
  if (alternative === undefined || alternative.credit === null) return null;
  const { decision, text, returns, credit, verification } = alternative;
  return {
    message: decision, bucket: id, origin, iteration, role: eventType, text: allowance.excerpt(text, CREDITED_CHARACTERS), question: allowance.excerpt(question, CREDITED_CHARACTERS),
    returns, credit, verification,
  };
}
