/** `c3 taxonomy`: the paper's four classes over a run's buckets, what fits none, and deterministic findings about its episodes. */
import { DETECTORS, detect, type DetectedEpisode, type DetectorName } from '../diagnostics/detectors.ts';
import { TAXONOMY_THRESHOLDS, type TaxonomyThresholds } from '../diagnostics/taxonomy.ts';
import { EVALUATION_ROUNDS } from '../shared/evaluationRounds.ts';
import type { Episode, TaxonomyClass, TaxonomyClassName } from '../shared/records.ts';
import type { StoreReader } from '../store/types.ts';

export interface DetectorReport {
  readonly name: DetectorName;
  /** Episodes in which it is present, of `measured`. */
  readonly count: number;
  readonly measured: number;
  /** Episodes for which it cannot be told. */
  readonly notMeasured: number;
  /** The first of them, with the reason of the first that was not measured last. */
  readonly cases: readonly { readonly message: number; readonly question: string; readonly evidence: string }[];
  readonly reason: string | null;
}

export interface TaxonomyReport {
  readonly classes: readonly TaxonomyClass[];
  /** Buckets that fit no class, or have fewer than two alternatives with a return. */
  readonly unclassified: number;
  readonly buckets: number;
  readonly thresholds: TaxonomyThresholds;
  /** The order in which the rules are tried; the first that holds decides. */
  readonly precedence: readonly TaxonomyClassName[];
  /** Over `episodes` episodes: those of the last evaluation, or of the last training iteration where there is none. */
  readonly detectors: readonly DetectorReport[];
  readonly episodes: number;
}

export const PRECEDENCE: readonly TaxonomyClassName[] = ['Misleading Plan', 'Evaluator Ambiguity', 'Successful Credit Shift', 'Over-Coupling'];

const PAGE = 500;
const LISTED = 50;

/** The report of a run whose classes are known. */
export function taxonomyReport(store: StoreReader, run: string, classes: readonly TaxonomyClass[]): TaxonomyReport {
  const buckets = store.countBuckets({ run });
  const episodes = lastEpisodes(store, run);
  const findings = episodes.map((episode) => ({ episode, found: detect(detected(store, episode)) }));
  const detectors = DETECTORS.map((name): DetectorReport => {
    const own = findings.flatMap(({ episode, found }) => found.filter((finding) => finding.name === name).map((finding) => ({ ...finding, question: episode.question })));
    const present = own.filter((finding) => finding.present === true);
    const unknown = own.filter((finding) => finding.present === null);
    return {
      name,
      count: present.length,
      measured: own.length - unknown.length,
      notMeasured: unknown.length,
      cases: present.slice(0, LISTED).map(({ message, question, evidence }) => ({ message, question, evidence })),
      reason: unknown[0]?.evidence ?? null,
    };
  });
  return { classes, unclassified: buckets - classes.reduce((sum, { count }) => sum + count, 0), buckets, thresholds: TAXONOMY_THRESHOLDS, precedence: PRECEDENCE, detectors, episodes: episodes.length };
}

/** The episodes of the last evaluation, greedy and sampled; of the last training iteration where there is none. */
function lastEpisodes(store: StoreReader, run: string): Episode[] {
  const read = (phase: 'train' | 'evaluate', iteration: number): Episode[] => {
    const episodes: Episode[] = [];
    for (let offset = 0; ; offset += PAGE) {
      const page = store.episodes({ run, phase, iteration, offset, limit: PAGE });
      episodes.push(...page);
      if (page.length < PAGE) return episodes;
    }
  };
  for (const stage of ['after', 'before'] as const) {
    const found = EVALUATION_ROUNDS.filter((round) => round.stage === stage).flatMap(({ iteration }) => read('evaluate', iteration));
    if (found.length > 0) return found;
  }
  return read('train', store.countSteps(run));
}

function detected(store: StoreReader, episode: Episode): DetectedEpisode {
  const chain = store.chain(episode.leaf);
  return {
    question: episode.question,
    gold: episode.answer,
    messages: chain.map(({ id, eventType, text, finish }) => ({ id, eventType, text, finish })),
    return: episode.return,
    rule: episode.rule,
    emptied: emptiedReplays(store, chain[0]?.id),
  };
}

/** Stored replays of a message beside those of an empty one in its place, by replay index; null where it was never replayed empty. */
function emptiedReplays(store: StoreReader, plan: number | undefined): DetectedEpisode['emptied'] {
  if (plan === undefined) return null;
  for (const { id, alternatives } of store.bucketsFor(plan).filter(({ origin, message }) => origin === 'request' && message === plan).reverse()) {
    const empty = alternatives.find(({ finish, text }) => finish === 'typed' && text.trim() === '');
    if (empty === undefined) continue;
    const replays = store.replaysOfBucket(id);
    const leafOf = (alternative: number, index: number): number | undefined => replays.find((replay) => replay.alternative === alternative && replay.replayIndex === index)?.leaf;
    const pairs = replays
      .filter(({ alternative }) => alternative === plan)
      .flatMap(({ replayIndex, leaf }) => {
        const other = leafOf(empty.decision, replayIndex);
        return other === undefined ? [] : [{ kept: store.message(leaf).text, emptied: store.message(other).text }];
      });
    if (pairs.length > 0) return pairs;
  }
  return null;
}

/** The report for people at a terminal, one line each. */
export function taxonomyWords({ classes, detectors, unclassified, buckets, episodes }: TaxonomyReport): string[] {
  const example = (cases: readonly { readonly message: number; readonly evidence: string }[]): string => (cases[0] === undefined ? '' : `, for example message ${String(cases[0].message)}: ${cases[0].evidence}`);
  return [
    ...classes.map(({ name, count, cases }) => `${String(count).padStart(6)}  ${name}${example(cases)}`),
    `${String(unclassified).padStart(6)}  unclassified, of ${String(buckets)} buckets`,
    ...detectors.map(({ name, count, measured, cases, reason }) => (measured === 0 ? `     ?  ${name}: ${reason ?? 'Not measured: there is no episode.'}` : `${String(count).padStart(6)}  ${name}, of ${String(measured)} episodes${example(cases)}`)),
    `        The findings are those of ${String(episodes)} episodes of the last evaluation, or of the last training iteration.`,
  ];
}
