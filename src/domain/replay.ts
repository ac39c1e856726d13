/** Replays: alternatives to a message in its context, and their continuations to the end of the episode. */

import type { Credit } from '../shared/credit/credit.ts';
import type { Headline } from '../shared/credit/headline.ts';
import { nullable, number, object, text, list, literal, type Guarded } from '../shared/guard.ts';
import { toOneLine } from '../shared/text/oneLine.ts';
import type { FinishReason } from './message.ts';
import type { VerificationMark } from './verification.ts';

/**
 * training: a group that was learned from. request: a replay that a user asked for. diagnostic:
 * sampled or imported for measurements.
 */
export type BucketOrigin = 'training' | 'request' | 'diagnostic';

/** One context in one sampling group. */
export interface NewBucket {
  readonly run: string;
  readonly origin: BucketOrigin;
  readonly iteration: number;
  readonly problem: string;
  readonly role: string;
  readonly turn: number;
  readonly contextKey: string;
  readonly snapshot: string;
  /** The clicked message, for a request. */
  readonly message: number | null;
}

/**
 * One context with the messages that were sampled in it and their replays. A run samples some; every replay request
 * makes one more.
 * @term bucket
 */
export interface Bucket extends NewBucket {
  readonly id: number;
}

/** One continuation of an alternative to the end of the episode. */
export interface NewReplay {
  readonly bucket: number;
  /** The alternative's message. */
  readonly alternative: number;
  /** m, from 0. */
  readonly replayIndex: number;
  /** The last message of the continuation; equals the alternative when its role is terminal. */
  readonly leaf: number;
  readonly return: number | null;
  readonly evaluatorCalls: number;
  /**
   * SHA-256 over the messages of the whole continuation (tokens, text, context, stream, sampling,
   * log-probabilities) and its return.
   */
  readonly tokenHash: string;
  readonly environment: number;
}

/**
 * The episode continued from a message to its end in exactly the same context, and its return.
 * @term replay
 */
export interface Replay extends NewReplay {
  readonly id: number;
}

/**
 * A message that was sampled, or typed, in the same context as another one.
 * @term alternative
 */
export interface Alternative {
  readonly message: number;
  readonly index: number;
  readonly text: string;
  /** True for the message that was clicked, when it is in its own request bucket. */
  readonly original: boolean;
  readonly tokenCount: number;
  readonly finish: FinishReason;
  readonly returns: readonly (number | null)[];
  readonly evaluatorCalls: number;
  /** Its headline credit, in the pool of its bucket. */
  readonly credit: Headline | null;
  /** Its credit in this bucket alone. */
  readonly bucketCredit: Credit | null;
  /** True if re-execution gave identical tokens, false if it differed, null if not measured. */
  readonly verified: boolean | null;
  /** The same in words, with the reason; null if it has no replay. */
  readonly verification: VerificationMark | null;
}

export interface BucketView extends Bucket {
  readonly alternatives: readonly Alternative[];
  /**
   * Null if the model and settings that sampled the message of a request also continued it, and for
   * buckets that are not requests. Otherwise the credits are of another distribution.
   */
  readonly continuation: OtherContinuation | null;
  /** Number of further alternatives, if only some were asked for. */
  readonly omitted?: number;
}

/** Bounds of a chosen temperature, the same as for a run: at 0 all alternatives would be equal. */
export const TEMPERATURE = { low: 0.01, high: 10 } as const;

/** Longest name of a snapshot, in characters. */
const SNAPSHOT_LENGTH = 64;

const FOLDER_LENGTH = 4096;

/** A step of the run; any other name is the beginning of a snapshot's hash. */
const STEP = /^\d{1,7}$/u;

const HASH = /^[0-9a-f]{8,64}$/u;

/** The choices of a request for its alternatives and their continuations; null is as recorded. */
export const isContinuationChoice = object({
  /** A step of the run (0 its beginning), or the first 8 or more digits of a snapshot's hash. */
  snapshot: nullable(text(SNAPSHOT_LENGTH)),
  temperature: nullable(number(TEMPERATURE.low, TEMPERATURE.high)),
  /** Absolute path of the folder of another model with its own weights. */
  model: nullable(text(FOLDER_LENGTH)),
});

export type ContinuationChoice = Guarded<typeof isContinuationChoice>;

export const AS_RECORDED: ContinuationChoice = { snapshot: null, temperature: null, model: null };

/** Returns the fault in a choice in one sentence, or null if there is none. */
export function choiceFault(choice: ContinuationChoice): string | null {
  const { snapshot, temperature, model } = choice;
  if (snapshot !== null && model !== null) {
    return 'Another model brings its own weights; choose a snapshot or a model, not both.';
  }
  if (snapshot !== null && !STEP.test(snapshot) && !HASH.test(snapshot)) {
    return `${JSON.stringify(snapshot.slice(0, 80))} is not a snapshot; give a step of the run, or at least the first 8 digits of a snapshot's hash.`;
  }
  if (temperature !== null && !(temperature >= TEMPERATURE.low && temperature <= TEMPERATURE.high)) {
    return `The temperature must be a number from ${TEMPERATURE.low} to ${TEMPERATURE.high}.`;
  }
  if (model !== null && (model.trim() === '' || model.length > FOLDER_LENGTH)) {
    return 'The model must be the path of a folder.';
  }
  return isContinuationChoice(choice)
    ? null
    : 'A continuation is chosen by a snapshot, a temperature or a model; null is as recorded.';
}

/** Returns the step that a snapshot's name gives, or null if the name is a hash. */
export const parseStepName = (name: string): number | null => (STEP.test(name) ? Number(name) : null);

/** A snapshot of the run that can continue replays. */
export interface OfferedSnapshot {
  readonly id: string;
  readonly step: number;
  /** False if the weights have to be rebuilt first. */
  readonly kept: boolean;
}

/** Largest number of snapshots that are offered. */
export const OFFERED_SNAPSHOTS = 100;

/**
 * Returns at most `limit` of the snapshots, evenly spread from the first to the last. Snapshots that
 * were not kept give way first.
 */
export function chooseOfferedSnapshots(
  all: readonly OfferedSnapshot[],
  limit = OFFERED_SNAPSHOTS,
): readonly OfferedSnapshot[] {
  const kept = all.filter((one) => one.kept);
  const candidates = all.length <= limit ? all : kept;
  if (candidates.length <= limit) {
    return candidates;
  }
  return Array.from(
    { length: limit },
    (_, place) => candidates[Math.round((place * (candidates.length - 1)) / (limit - 1))],
  ).filter((one) => one !== undefined);
}

/** The weights and temperature that continue a message's own alternatives. */
export interface OwnContinuation {
  readonly snapshot: string;
  /** The step after which the run had these weights; null for weights of another model. */
  readonly step: number | null;
  /** Null if the run does not record it. */
  readonly temperature: number | null;
}

/**
 * The continuation of a bucket if it differs from that of its message: returns and credits are then of
 * another distribution.
 */
export interface OtherContinuation extends OwnContinuation {
  /** Folder of the other model, or null if the weights are the run's. */
  readonly model: string | null;
  readonly differs: { readonly snapshot: boolean; readonly temperature: boolean; readonly model: boolean };
  /** The weights and temperature that made the message itself. */
  readonly own: OwnContinuation;
}

export const OTHER_DISTRIBUTION = 'another continuation distribution';

/** Returns the last part of a folder's path, so that shared text does not reveal paths of this machine. */
export const folderName = (folder: string): string => folder.split(/[\\/]/u).findLast((part) => part !== '') ?? '';

/**
 * Writes `another continuation distribution: snapshot 0123456789ab (step 3), temperature 0.5`. Another
 * model comes first.
 * @param shown formats the other model's folder
 */
export function describeOtherContinuation(
  other: OtherContinuation,
  shown: (folder: string) => string = (folder) => folder,
): string {
  return `${OTHER_DISTRIBUTION}: ${[...(other.model === null ? [] : [`model ${toOneLine(shown(other.model), 200)}`]), ...listSettings(other)].join(', ')}`;
}

/** `The message itself: snapshot 0123456789ab (step 2), temperature 1.` */
export const describeOwnContinuation = ({ own }: OtherContinuation): string =>
  `The message itself: ${listSettings(own).join(', ')}.`;

function listSettings({ snapshot, step, temperature }: OwnContinuation): readonly string[] {
  return [
    `snapshot ${snapshot.slice(0, 12)}${step === null ? '' : ` (step ${step})`}`,
    `temperature ${temperature === null ? 'unknown' : String(temperature)}`,
  ];
}

/** The name of a run's last snapshot. */
export const LAST_SNAPSHOT = 'last';

/** Alternatives with one text, in the bucket's order, at least one; typed texts are kept apart. */
export interface EqualAlternatives {
  /** A stable key while further alternatives arrive in any order. */
  readonly key: string;
  readonly first: Alternative;
  readonly all: readonly Alternative[];
}

/** Groups alternatives with equal texts, in the order of the first of each. */
export function groupEqualAlternatives(alternatives: readonly Alternative[]): readonly EqualAlternatives[] {
  const groups = Map.groupBy(alternatives, ({ text, finish }) => JSON.stringify([finish === 'typed', text]));
  return [...groups].flatMap(([key, all]) => {
    const [first] = all;
    return first === undefined ? [] : [{ key, first, all }];
  });
}

/** Sorts groups by interest: the text said in the run, then typed texts, then sampled ones. */
export function sortByInterest(groups: readonly EqualAlternatives[]): readonly EqualAlternatives[] {
  const rank = ({ first, all }: EqualAlternatives): number =>
    all.some(({ original }) => original) ? 0 : first.finish === 'typed' ? 1 : 2;
  return groups.toSorted((a, b) => rank(a) - rank(b));
}

/** From worst to best. */
const STATES: readonly VerificationMark['state'][] = ['different', 'notComparable', 'unverified', 'identical'];

/** Returns the worst verification of equal alternatives, or null if none has a replay. */
export function worstMark({ all }: EqualAlternatives): VerificationMark | null {
  const marks = all.flatMap(({ verification }) => verification ?? []);
  return STATES.flatMap((state) => marks.find((mark) => mark.state === state) ?? [])[0] ?? null;
}

/**
 * The sharing of random numbers in a bucket. common: replay m of every alternative drew the same
 * numbers (common random numbers). paired: the same, but each alternative has one continuation, which
 * shares its number with the message itself and with no other alternative. independent: each
 * alternative drew its own numbers. unseeded: the policy's endpoint takes no seeds, so that nothing
 * was shared and nothing can be drawn again.
 */
export type Draws = 'paired' | 'common' | 'independent' | 'unseeded';

export const DRAWS_WORDS: Readonly<Record<Draws, string>> = {
  paired: 'common random numbers, in pairs: each alternative shares its own with the message itself',
  common: 'common random numbers',
  independent: 'independent random numbers',
  unseeded: 'no seeds: the endpoint takes none, so random numbers are not shared',
};

/** The remark of a run or a replay whose policy takes no seeds. */
export const NO_SEEDS_REMARK = 'The endpoint takes no seeds: common random numbers and exact verification are off.';

/**
 * Returns how the replays of a bucket drew random numbers.
 * @param streamKeyOf returns the stream key of a stored message; empty if it drew from no stream of
 *   ours
 * @returns null if no two alternatives have a continuation with the same index to compare, as for a
 *   message that ends the episode
 */
export function classifyDraws(
  replays: readonly Pick<Replay, 'alternative' | 'leaf' | 'replayIndex'>[],
  streamKeyOf: (message: number) => string,
): Draws | null {
  const continued = replays.filter(({ alternative, leaf }) => leaf !== alternative);
  const byNumber = [...Map.groupBy(continued, ({ replayIndex }) => replayIndex).values()];
  const [first, second] = byNumber.find((members) => members.length > 1) ?? [];
  if (first === undefined || second === undefined) {
    return null;
  }
  const [one, other] = [streamKeyOf(first.leaf), streamKeyOf(second.leaf)];
  if (one === '' && other === '') {
    return 'unseeded';
  }
  if (one !== other) {
    return 'independent';
  }
  return arePairs(continued, byNumber) ? 'paired' : 'common';
}

/**
 * Returns true if one message has at least two numbers, namely all of them, and each other message has
 * one of its own.
 */
function arePairs(
  continued: readonly Pick<Replay, 'alternative'>[],
  byNumber: readonly (readonly Pick<Replay, 'alternative'>[])[],
): boolean {
  const members = [...Map.groupBy(continued, ({ alternative }) => alternative).values()];
  return (
    members.filter((own) => own.length > 1).length === 1 &&
    members.length > 2 &&
    byNumber.every((same) => same.length <= 2)
  );
}

/** Bounds of the replays that one settling request may spend. */
export const SETTLE_LIMITS = { least: 4, most: 1000 } as const;

/** Requests paired replays of a message instead of fixed numbers of alternatives and continuations. */
export interface Settle {
  /** The most replays to spend. The request stops as soon as the credit is decided. */
  readonly replays: number;
}

/** The result of a replay request: its bucket. */
export interface ReplayResult extends BucketView {
  /**
   * Replays that settling spent, including reused ones. Fewer than allowed if the credit was decided
   * earlier. Absent if the request settled nothing.
   */
  readonly spent?: number;
}

/**
 * Returns the default budget of settling: the expectation of a headline, within the limits.
 * @param more of the headline; null if no number is expected to suffice
 */
export const settleReplays = (more: number | null): number =>
  Math.min(SETTLE_LIMITS.most, Math.max(SETTLE_LIMITS.least, more ?? SETTLE_LIMITS.most));

/**
 * Returns the number of pairs that a number of replays pays for. A pair is an alternative and the
 * message itself.
 * @param terminal true if the text alone decides the return: the message's own return is then known,
 *   and a pair takes one replay
 */
export const countAffordablePairs = (replays: number, terminal: boolean): number =>
  terminal ? replays : Math.floor(replays / 2);

/** Returns the fault in a settling request in one sentence, or null if there is none. */
export function settleFault({
  settle,
  text,
  independent,
}: {
  readonly settle?: Settle | undefined;
  readonly text: string | null;
  readonly independent?: boolean | undefined;
}): string | null {
  if (settle === undefined) {
    return null;
  }
  const { least, most } = SETTLE_LIMITS;
  if (!Number.isInteger(settle.replays) || settle.replays < least || settle.replays > most) {
    return `Settling takes a whole number of replays from ${least} to ${most.toLocaleString('en-US')}.`;
  }
  if (text !== null) {
    return 'A credit is settled against sampled messages only; replay the text first, then settle the message that it has become.';
  }
  return independent === true
    ? 'Settling pairs an alternative with the message itself on common random numbers; leave out the independent ones.'
    : null;
}

/**
 * clearest: credits whose interval excludes 0 first, then the others, each by the amount divided by
 * the width of the interval (src/shared/credit/order.ts). credit: the largest credit by amount first.
 * spread: the largest spread of returns first. distance: the largest disagreement between replacing
 * and removing a message first.
 */
export const BUCKET_ORDERS = ['clearest', 'credit', 'spread', 'distance'] as const;

export type BucketOrder = (typeof BUCKET_ORDERS)[number];

/** A message that was also replaced with an empty one, and its credit by both methods. */
export interface Removal {
  readonly message: number;
  /** Credit against other messages in its place. */
  readonly replace: number;
  /**
   * Credit against no message: the mean difference of returns with the message and with nothing in its
   * place, over the streams that continued both.
   */
  readonly remove: number;
}

/** A bucket with the values that it is ranked by; null if not measured. */
export interface RankedBucket {
  readonly bucket: number;
  readonly origin: BucketOrigin;
  readonly iteration: number;
  readonly role: string;
  readonly turn: number;
  readonly question: string;
  /** Unmasked returns in the bucket, and their standard deviation; null for fewer than two. */
  readonly returns: number;
  readonly spread: number | null;
  /**
   * The message to open: the removed one for the order `distance`; else the one with the clearest credit
   * (the largest for the order `credit`); else the one that was asked about; else the first. Null in an
   * empty bucket.
   */
  readonly message: number | null;
  /** The start of its text, and its credit. */
  readonly text: string;
  readonly credit: Headline | null;
  /** The removal with the largest distance, of a message of this bucket. */
  readonly removal: Removal | null;
  /** The continuation of the bucket if it differs from that of its message. */
  readonly continuation: OtherContinuation | null;
}

/** Filters of the buckets of a run. An empty list leaves its filter open. */
export const isBucketFilter = object({
  roles: list(text(200), 200),
  origins: list(literal('training', 'request', 'diagnostic'), 3),
  /** Measured if at least one of its messages has a credit. */
  credit: list(literal('measured', 'not measured'), 2),
});

export type BucketFilter = Guarded<typeof isBucketFilter>;

export const ALL_BUCKETS: BucketFilter = { roles: [], origins: [], credit: [] };

/** Buckets of a run with equal values in every filter. */
export interface BucketKind {
  readonly role: string;
  readonly origin: BucketOrigin;
  readonly credit: BucketFilter['credit'][number];
  /** The number of these buckets. */
  readonly count: number;
}

/** Returns true if a bucket of this kind is shown. */
export function isBucketKindShown({ roles, origins, credit }: BucketFilter, kind: BucketKind): boolean {
  const open = (chosen: readonly string[], value: string): boolean => chosen.length === 0 || chosen.includes(value);
  return open(roles, kind.role) && open(origins, kind.origin) && open(credit, kind.credit);
}

/** Returns the disagreement of replacing and removing a message. */
export function measureDisagreement({ replace, remove }: Removal): number {
  return Math.abs(replace - remove);
}
