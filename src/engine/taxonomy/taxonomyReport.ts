/**
 * Implements `c3 taxonomy`: the paper's four classes over a run's buckets, unclassified buckets,
 * the user's labels, and deterministic findings about its episodes.
 */

import { setImmediate } from 'node:timers/promises';
import { DETECTORS, detectFindings, type DetectedEpisode, type Finding } from '../../diagnostics/detectors.ts';
import { classifyStudy, findUnmeasured, listCases } from '../../diagnostics/taxonomy.ts';
import { countByChance } from '../../diagnostics/taxonomyChance.ts';
import { measureSavedShares } from '../../diagnostics/taxonomySaved.ts';
import type { Episode } from '../../domain/episode.ts';
import {
  ALL_SUCCEEDED,
  areThresholds,
  CHANCE_MEANING,
  formatChanceCount,
  describeLeftOut,
  describeUnmeasured,
  PRECEDENCE,
  SAVED_MEANING,
  describeSavedShare,
  TAXONOMY_CLASSES,
  TAXONOMY_THRESHOLDS,
  THRESHOLD_LIMITS,
  THRESHOLD_NAMES,
  formatThresholds,
  VERDICT_MEANING,
  type CaseLabel,
  type DetectorReport,
  type LeftOutBuckets,
  type TaxonomyAgreement,
  type TaxonomyCase,
  type TaxonomyClass,
  type TaxonomyClassName,
  type TaxonomyThresholds,
  type UnmeasuredClasses,
  type VerdictName,
} from '../../domain/taxonomy.ts';
import { toHeadlineJson, type HeadlineJson } from '../../shared/credit/headline.ts';
import { C3Error, findNearestName } from '../../shared/errors.ts';
import type { StoreReader } from '../../store/types.ts';
import { listNewestEvaluations } from '../diagnose/newestEvaluations.ts';
import { measureLabelAgreement, studyRun, type RunCases } from './taxonomyView.ts';

/** A stored label with the class of its bucket. */
export interface ReportedLabel extends CaseLabel {
  readonly bucket: number;
  readonly message: number | null;
  readonly automatic: VerdictName;
  /** False if a later label replaces it, or it was removed. */
  readonly current: boolean;
}

/** A case with the credit of its message. */
export interface ReportedCase extends TaxonomyCase {
  readonly credit: HeadlineJson | null;
}

export interface TaxonomyReport {
  readonly classes: readonly (Omit<TaxonomyClass, 'cases'> & { readonly cases: readonly ReportedCase[] })[];
  /** Buckets whose measured returns are all full successes, so that they are in no class. */
  readonly allSucceeded: { readonly count: number; readonly cases: readonly ReportedCase[] };
  /** Number of failures that fit no class, and of buckets with fewer than two alternatives with a return. */
  readonly unclassified: number;
  readonly buckets: number;
  readonly leftOut: LeftOutBuckets;
  readonly unmeasured: UnmeasuredClasses;
  readonly thresholds: TaxonomyThresholds;
  /** Order in which the rules are tried. The first match decides. */
  readonly precedence: readonly TaxonomyClassName[];
  /** Findings in the last evaluation's episodes or, without one, in the last training iteration's. */
  readonly detectors: readonly DetectorReport[];
  readonly episodes: number;
  /** The user's labels on buckets, oldest first, with replaced ones and removed ones (an empty name). */
  readonly labels: readonly ReportedLabel[];
  readonly agreement: TaxonomyAgreement;
}

const PAGE = 500;
const LISTED = 50;
/** Episodes to search before other work gets its turn. */
const TURN = 50;

/**
 * Reports the deterministic findings in a run's last episodes.
 * @param isVote true if the messages of an episode are votes
 */
export async function readDetectorReports(
  store: StoreReader,
  run: string,
  isVote: boolean,
): Promise<{ readonly detectors: readonly DetectorReport[]; readonly episodes: number }> {
  const episodes = readLastEpisodes(store, run);
  const findings: { readonly episode: Episode; readonly found: readonly Finding[] }[] = [];
  for (const [index, episode] of episodes.entries()) {
    // Give the engine a chance to handle a cancellation.
    if (index % TURN === 0) {
      await setImmediate();
    }
    findings.push({ episode, found: detectFindings(toDetectedEpisode(store, episode, isVote)) });
  }
  const detectors = DETECTORS.map((name): DetectorReport => {
    const own = findings.flatMap(({ episode, found }) =>
      found.filter((finding) => finding.name === name).map((finding) => ({ ...finding, question: episode.question })),
    );
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
  return { detectors, episodes: episodes.length };
}

/** Builds the report of a run. @param cases all cases of the run */
export async function createTaxonomyReport(
  store: StoreReader,
  run: string,
  cases: RunCases,
  thresholds: TaxonomyThresholds = TAXONOMY_THRESHOLDS,
): Promise<TaxonomyReport> {
  const { studies, deals, leftOut, detectors, episodes } = await studyRun(
    cases,
    await readDetectorReports(store, run, cases.isVote),
  );
  const chance = countByChance(deals, thresholds);
  const saved = measureSavedShares(cases.buckets, thresholds);
  const classified = studies.map((study) => ({ bucket: study.bucket, verdict: classifyStudy(study, thresholds) }));
  const verdicts = new Map(classified.map(({ bucket, verdict }) => [bucket.id, verdict.name]));
  const classes = TAXONOMY_CLASSES.map((name) => {
    const own = addCaseCredits(store, listCases(name, classified));
    return { name, count: own.length, chance: chance[name], saved: saved.get(name) ?? null, cases: own };
  });
  const successes = addCaseCredits(store, listCases(ALL_SUCCEEDED, classified));
  const stored = store.labelsOfRun(run);
  const newest = new Map(stored.map(({ bucket, id }) => [bucket, id]));
  const labels = stored.flatMap(({ id, bucket, ...label }): ReportedLabel[] => {
    const automatic = bucket === null ? undefined : verdicts.get(bucket);
    return bucket === null || automatic === undefined
      ? []
      : [{ ...label, bucket, automatic, current: newest.get(bucket) === id && label.name !== '' }];
  });
  return {
    classes,
    allSucceeded: { count: successes.length, cases: successes },
    unclassified: studies.length - successes.length - classes.reduce((sum, { count }) => sum + count, 0),
    buckets: studies.length,
    leftOut,
    unmeasured: findUnmeasured(studies),
    thresholds,
    precedence: PRECEDENCE,
    detectors,
    episodes,
    labels,
    agreement: measureLabelAgreement(
      labels.filter(({ current }) => current).map(({ automatic, name }) => [automatic, name]),
    ),
  };
}

/** Adds the credits of their messages to cases. */
function addCaseCredits(store: StoreReader, cases: readonly TaxonomyCase[]): ReportedCase[] {
  const credits = new Map<number, HeadlineJson>();
  for (let from = 0; from < cases.length; from += PAGE) {
    for (const { id, credit } of store.messages(cases.slice(from, from + PAGE).map(({ message }) => message))) {
      if (credit !== null) {
        credits.set(id, toHeadlineJson(credit));
      }
    }
  }
  return cases.map((one) => ({ ...one, credit: credits.get(one.message) ?? null }));
}

/**
 * Parses `--thresholds KEY=VALUE`. Missing thresholds have the paper's values.
 * @throws C3Error('input') for an unknown key, or a value that is not a number in its bounds
 */
export function parseThresholds(given: readonly string[]): TaxonomyThresholds {
  return given.reduce<TaxonomyThresholds>((thresholds, text) => {
    const [key = '', value = ''] = text.split(/=(.*)/su);
    const name = THRESHOLD_NAMES.find((known) => known === key);
    if (name === undefined) {
      const nearest = findNearestName(key, THRESHOLD_NAMES);
      throw new C3Error(
        'input',
        `--thresholds knows ${THRESHOLD_NAMES.join(', ')}, not ${JSON.stringify(key.slice(0, 40))}${nearest === undefined ? '' : `; did you mean ${nearest}?`}`,
      );
    }
    const changed = { ...thresholds, [name]: value.trim() === '' ? NaN : Number(value) };
    if (!areThresholds(changed)) {
      throw new C3Error(
        'input',
        `--thresholds ${name}= needs a number from 0 to ${THRESHOLD_LIMITS[name]}, not ${JSON.stringify(value.slice(0, 40))}.`,
      );
    }
    return changed;
  }, TAXONOMY_THRESHOLDS);
}

/** Reads the episodes of the last evaluation, greedy and sampled, or of the last training iteration. */
function readLastEpisodes(store: StoreReader, run: string): Episode[] {
  const read = (phase: 'train' | 'evaluate', iteration: number): Episode[] => {
    const episodes: Episode[] = [];
    for (let offset = 0; ; offset += PAGE) {
      const page = store.episodes({ run, phase, iteration, offset, limit: PAGE });
      episodes.push(...page);
      if (page.length < PAGE) {
        return episodes;
      }
    }
  };
  const [newest, ...rounds] = listNewestEvaluations(store, run);
  if (newest === undefined) {
    return read('train', store.countSteps(run));
  }
  const together = [newest, ...rounds.filter(({ stage, step }) => stage === newest.stage && step === newest.step)];
  return together
    .map(({ iteration }) => iteration)
    .sort((a, b) => a - b)
    .flatMap((iteration) => read('evaluate', iteration));
}

function toDetectedEpisode(store: StoreReader, episode: Episode, isVote: boolean): DetectedEpisode {
  const chain = store.chain(episode.leaf);
  return {
    question: episode.question,
    gold: episode.answer,
    isVote,
    messages: chain.map(({ id, role, text, finish }) => ({ id, role, text, finish })),
    return: episode.return,
    rule: episode.rule,
    emptied: readEmptiedReplays(store, chain[0]?.id),
  };
}

/**
 * Pairs the stored replays of a message with those of an empty message in its place, by replay
 * index. Returns null if it was never replayed with an empty message.
 */
function readEmptiedReplays(store: StoreReader, plan: number | undefined): DetectedEpisode['emptied'] {
  if (plan === undefined) {
    return null;
  }
  for (const { id, alternatives } of store
    .bucketsFor(plan)
    .filter(({ origin, message, continuation }) => origin === 'request' && message === plan && continuation === null)
    .reverse()) {
    const empty = alternatives.find(({ finish, text }) => finish === 'typed' && text.trim() === '');
    if (empty === undefined) {
      continue;
    }
    const replays = store.replaysOfBucket(id);
    const leafOf = (alternative: number, index: number): number | undefined =>
      replays.find((replay) => replay.alternative === alternative && replay.replayIndex === index)?.leaf;
    const pairs = replays
      .filter(({ alternative }) => alternative === plan)
      .flatMap(({ replayIndex, leaf }) => {
        const other = leafOf(empty.message, replayIndex);
        return other === undefined ? [] : [{ kept: store.message(leaf).text, emptied: store.message(other).text }];
      });
    if (pairs.length > 0) {
      return pairs;
    }
  }
  return null;
}

/** Formats the report as lines for the terminal. */
export function formatTaxonomy(report: TaxonomyReport): string[] {
  const { classes, allSucceeded, detectors, unclassified, unmeasured, buckets, episodes, thresholds, agreement } =
    report;
  const notes = [describeUnmeasured(unmeasured), describeLeftOut(report.leftOut)].filter((note) => note !== null);
  const example = (cases: readonly { readonly message: number; readonly evidence: string }[]): string =>
    cases[0] === undefined ? '' : `, for example message ${cases[0].message}: ${cases[0].evidence}`;
  return [
    ...classes.map(({ name, count, chance, saved, cases }) =>
      unmeasured.classes.includes(name)
        ? `     ?  ${name}: not measured`
        : `${String(count).padStart(6)}  ${name}, ${formatChanceCount(chance)}` +
          `${saved === null ? '' : `; ${describeSavedShare(saved)}`}${example(cases)}`,
    ),
    `${String(unclassified).padStart(6)}  unclassified`,
    `${String(allSucceeded.count).padStart(6)}  ${ALL_SUCCEEDED}: no failure, in no class`,
    `${String(buckets).padStart(6)}  buckets in all`,
    ...notes.map((note) => `        ${note}`),
    `        The classes are those of ${formatThresholds(thresholds)}.`,
    `        ${CHANCE_MEANING}`,
    ...(classes.every(({ saved }) => saved === null) ? [] : [`        ${SAVED_MEANING}`]),
    `        Successful Credit Shift: ${VERDICT_MEANING['Successful Credit Shift']}`,
    `        ${describeAgreement(agreement)}`,
    ...detectors.map(({ name, count, measured, cases, reason }) =>
      measured === 0
        ? `     ?  ${name}: ${reason ?? 'Not measured: there is no episode.'}`
        : `${String(count).padStart(6)}  ${name}, of ${measured} episodes${example(cases)}`,
    ),
    `        The findings are those of ${episodes} episodes of the last evaluation, or of the last training iteration.`,
  ];
}

function describeAgreement({ n, agreed, kappa, reason, ownWords }: TaxonomyAgreement): string {
  const shown = (value: number): string => String(Number(value.toFixed(3)));
  const left = ownWords === 0 ? '' : `; ${ownWords} labeled in other words are left out`;
  if (kappa === null) {
    return `Agreement with your labels: not measured (${reason ?? 'no labels'})${left}.`;
  }
  const bounds =
    kappa.low === null || kappa.high === null
      ? (reason ?? 'interval not measured')
      : `95 % interval ${shown(kappa.low)} to ${shown(kappa.high)}`;
  return `Agreement with your labels: ${agreed} of ${n} cases, Cohen's kappa ${shown(kappa.value)}, ${bounds}${left}.`;
}
