/**
 * The taxonomy of a run for a panel that asks for it repeatedly. The buckets are read once;
 * thresholds and filters are then applied to them.
 */

import { setImmediate } from 'node:timers/promises';
import { cohenKappa } from '../../diagnostics/statistics/agreement.ts';
import {
  describeEvidence,
  classifyStudy,
  findCaseMessage,
  findUnmeasured,
  studyBucket,
  type BucketStudy,
  type TaxonomyBucket,
  type Verdict,
} from '../../diagnostics/taxonomy.ts';
import { countByChance, dealReturns, type Deals } from '../../diagnostics/taxonomyChance.ts';
import type { BucketOrigin } from '../../domain/replay.ts';
import {
  areThresholds,
  findCurrentLabel,
  isVerdictName,
  sameThresholds,
  TAXONOMY_THRESHOLDS,
  VERDICTS,
  type CaseLabel,
  type DetectorReport,
  type TaxonomyAgreement,
  type TaxonomyFilter,
  type TaxonomyParams,
  type TaxonomyRow,
  type TaxonomyThresholds,
  type TaxonomyView,
  type VerdictName,
  type LeftOutBuckets,
} from '../../domain/taxonomy.ts';
import { C3Error } from '../../shared/errors.ts';
import type { StoreReader } from '../../store/types.ts';
import { isTerminal, type Protocol } from '../../team/protocol.ts';
import { solvedReturn } from '../../team/rounds.ts';
import { isVotingTeam } from '../../team/votingTeam.ts';

/** A bucket for the rules, with its origin and without texts, so that thousands fit in memory. */
export interface RunBucket extends TaxonomyBucket {
  readonly origin: BucketOrigin;
  readonly iteration: number;
  /** The uidSha of the problem. */
  readonly problem: string;
}

/** The cases of a run. */
export interface RunCases {
  readonly buckets: readonly RunBucket[];
  readonly leftOut: LeftOutBuckets;
  /** True if the run's team votes (see isVotingTeam). */
  readonly isVote: boolean;
}

/** The data that is read of a run. */
export interface ReadRun {
  readonly leftOut: LeftOutBuckets;
  /** In the order in which the buckets were appended. */
  readonly studies: readonly BucketStudy<RunBucket>[];
  /** Verdicts by the paper's thresholds, in the same order. */
  readonly published: readonly Verdict[];
  /** Random permutations of the returns of each bucket, in the same order. */
  readonly deals: readonly Deals[];
  readonly detectors: readonly DetectorReport[];
  readonly episodes: number;
}

/** Buckets to read before other work gets its turn, such as a cancellation. */
const PAGE = 100;
/** Buckets to study before other work gets its turn. Each is permuted many times. */
const STUDIED = 20;
/** Most characters of a question in a row. */
const QUESTION = 400;

/**
 * Reads the cases of a run, in the order in which their buckets were appended: those of training
 * and of diagnostic samples. Requested replays and buckets of another continuation distribution are
 * left out and counted.
 */
export async function readBuckets(store: StoreReader, run: string, protocol: Protocol): Promise<RunCases> {
  const buckets: RunBucket[] = [];
  let [requested, otherDistribution] = [0, 0];
  const fullReturn = solvedReturn(protocol);
  const questions = new Map<string, string>();
  for (let offset = 0; ; offset += PAGE) {
    const page = store.bucketsOfRun({ run, offset, limit: PAGE });
    for (const { id, message, role, turn, origin, iteration, problem, alternatives, continuation } of page) {
      // Requested replays are a biased choice, and returns of another distribution do not show this
      // run's failures.
      if (origin === 'request') {
        requested++;
      } else if (continuation !== null) {
        otherDistribution++;
      }
      if (origin === 'request' || continuation !== null) {
        continue;
      }
      const question = questions.get(problem) ?? store.problem(problem).question;
      questions.set(problem, question);
      const occurrence = protocol.occurrences.find((one) => one.role === role && one.turn === turn);
      buckets.push({
        id,
        message,
        role,
        origin,
        iteration,
        problem,
        question,
        fullReturn,
        terminal: occurrence === undefined || isTerminal(protocol, occurrence.position),
        alternatives: alternatives.map(({ message: one, original, returns, evaluatorCalls }) => ({
          message: one,
          original,
          returns,
          evaluatorCalls,
        })),
      });
    }
    if (page.length < PAGE) {
      return { buckets, leftOut: { requested, otherDistribution }, isVote: isVotingTeam(protocol) };
    }
    await setImmediate();
  }
}

/** Studies the buckets of a run once. */
export async function studyRun(
  { buckets, leftOut }: Pick<RunCases, 'buckets' | 'leftOut'>,
  findings: Pick<ReadRun, 'detectors' | 'episodes'>,
): Promise<ReadRun> {
  const studies: BucketStudy<RunBucket>[] = [];
  const deals: Deals[] = [];
  for (const [index, bucket] of buckets.entries()) {
    const study = studyBucket(bucket);
    studies.push(study);
    deals.push(dealReturns(study));
    if (index % STUDIED === STUDIED - 1) {
      await setImmediate();
    }
  }
  return { studies, deals, leftOut, published: classifyStudies(studies, TAXONOMY_THRESHOLDS), ...findings };
}

function classifyStudies(studies: readonly BucketStudy[], thresholds: TaxonomyThresholds): Verdict[] {
  return studies.map((study) => classifyStudy(study, thresholds));
}

/** Measures how labels agree with verdicts. Labels in the user's own words are counted and left out. */
export function measureLabelAgreement(
  pairs: readonly (readonly [verdict: VerdictName, label: string])[],
): TaxonomyAgreement {
  const comparable = pairs.filter(([, label]) => isVerdictName(label));
  return { ...cohenKappa(comparable), ownWords: pairs.length - comparable.length };
}

/**
 * Builds one view of the read data. Labels are read anew, so they may be newer than the buckets.
 * @throws C3Error('input') for thresholds out of bounds
 */
export function createTaxonomyView(
  store: Pick<StoreReader, 'labelsOfRun'>,
  read: ReadRun,
  { run, thresholds, filter, limit }: TaxonomyParams,
): TaxonomyView {
  if (!areThresholds(thresholds)) {
    throw new C3Error('input', 'A threshold of the taxonomy is out of its bounds; give a number of at least 0.');
  }
  const { studies, deals, leftOut, published, detectors, episodes } = read;
  const chance = countByChance(deals, thresholds);
  const verdicts = sameThresholds(thresholds, TAXONOMY_THRESHOLDS) ? published : classifyStudies(studies, thresholds);
  const labels = readLabelsByBucket(store, run);
  const cases = studies.map(({ bucket }, index) => ({
    bucket,
    verdict: verdicts[index],
    published: published[index],
    label: labels.get(bucket.id) ?? null,
  }));
  const classified = cases.flatMap(({ bucket, verdict, published: before, label }): Classified[] =>
    verdict === undefined || before === undefined ? [] : [{ bucket, verdict, published: before.name, label }],
  );
  const counted = (of: readonly VerdictName[], name: VerdictName): number => of.filter((one) => one === name).length;
  const now = classified.map(({ verdict }) => verdict.name);
  const before = classified.map((one) => one.published);
  const matching = classified.filter((one) => passesFilter(one, filter));
  return {
    run,
    buckets: studies.length,
    thresholds,
    counts: VERDICTS.map((name) => ({
      name,
      count: counted(now, name),
      published: counted(before, name),
      chance: chance[name],
    })),
    leftOut,
    unmeasured: findUnmeasured(studies),
    changed: now.filter((name, index) => name !== before[index]).length,
    roles: [...new Set(studies.map(({ bucket: { role } }) => role))],
    agreement: measureLabelAgreement(
      classified.flatMap(({ verdict, label }) => (label === null ? [] : [[verdict.name, label.name] as const])),
    ),
    detectors,
    episodes,
    matching: matching.length,
    rows: matching.slice(0, limit).map(toTaxonomyRow),
  };
}

interface Classified {
  readonly bucket: RunBucket;
  readonly verdict: Verdict;
  readonly published: VerdictName;
  readonly label: CaseLabel | null;
}

function readLabelsByBucket(
  store: Pick<StoreReader, 'labelsOfRun'>,
  run: string,
): ReadonlyMap<number | null, CaseLabel | null> {
  const byBucket = Map.groupBy(store.labelsOfRun(run), ({ bucket }) => bucket);
  return new Map([...byBucket].map(([bucket, labels]) => [bucket, findCurrentLabel(labels)]));
}

function passesFilter({ bucket, verdict, label }: Classified, filter: TaxonomyFilter): boolean {
  if (filter.verdict !== null && verdict.name !== filter.verdict) {
    return false;
  }
  if (filter.role !== null && bucket.role !== filter.role) {
    return false;
  }
  switch (filter.labels) {
    case 'all':
      return true;
    case 'labelled':
      return label !== null;
    case 'unlabelled':
      return label === null;
    case 'disagreement':
      return label !== null && isVerdictName(label.name) && label.name !== verdict.name;
  }
}

function toTaxonomyRow({ bucket, verdict, published, label }: Classified): TaxonomyRow {
  const { id, origin, iteration, role, question } = bucket;
  return {
    bucket: id,
    message: findCaseMessage(bucket),
    origin,
    iteration,
    role,
    published,
    question: question.slice(0, QUESTION),
    verdict: verdict.name,
    evidence: describeEvidence(bucket, verdict),
    label:
      label === null ? null : { name: label.name, note: label.note, author: label.author, createdAt: label.createdAt },
  };
}
