/**
 * What continues a replay: the weights and the temperature that the message was made with, or others that were chosen
 * for it.
 */
import { nullable, number, object, text, type Guarded } from '../shared/guard.ts';
import { oneLine } from '../shared/text/oneLine.ts';

/** Bounds of a chosen temperature, those of a run's own: at 0 all alternatives would be alike. */
export const TEMPERATURE = { low: 0.01, high: 10 } as const;
/** Longest name of a snapshot, and longest path of a model folder. */
const SNAPSHOT_LENGTH = 64;
const FOLDER_LENGTH = 4096;
/** A step; else a part of a snapshot's hash from its beginning. */
const STEP = /^\d{1,7}$/u;
const HASH = /^[0-9a-f]{8,64}$/u;

/** What a request chooses for its alternatives and what continues them; null is as recorded. */
export const isContinuationChoice = object({
  /** A step of the run (0 its beginning), or the first 8 or more digits of a snapshot's hash. */
  snapshot: nullable(text(SNAPSHOT_LENGTH)),
  temperature: nullable(number(TEMPERATURE.low, TEMPERATURE.high)),
  /** Absolute path of the folder of another model, which brings weights of its own. */
  model: nullable(text(FOLDER_LENGTH)),
});
export type ContinuationChoice = Guarded<typeof isContinuationChoice>;

export const AS_RECORDED: ContinuationChoice = { snapshot: null, temperature: null, model: null };

/** What is wrong with a choice, in one sentence; null for a good one. */
export function choiceProblem(choice: ContinuationChoice): string | null {
  const { snapshot, temperature, model } = choice;
  if (snapshot !== null && model !== null) {
    return 'Another model brings its own weights; choose a snapshot or a model, not both.';
  }
  if (snapshot !== null && !STEP.test(snapshot) && !HASH.test(snapshot)) {
    return `${JSON.stringify(snapshot.slice(0, 80))} is not a snapshot; give a step of the run, or at least the first 8 digits of a snapshot's hash.`;
  }
  if (temperature !== null && !(temperature >= TEMPERATURE.low && temperature <= TEMPERATURE.high)) {
    return `The temperature must be a number from ${String(TEMPERATURE.low)} to ${String(TEMPERATURE.high)}.`;
  }
  if (model !== null && (model.trim() === '' || model.length > FOLDER_LENGTH)) {
    return 'The model must be the path of a folder.';
  }
  return isContinuationChoice(choice)
    ? null
    : 'A continuation is chosen by a snapshot, a temperature or a model; null is as recorded.';
}

/** The step that a snapshot's name means; null where it is a hash. */
export const stepNamed = (name: string): number | null => (STEP.test(name) ? Number(name) : null);

/** A snapshot of the run that replays can be continued with. */
export interface OfferedSnapshot {
  readonly id: string;
  readonly step: number;
  /** False where the weights have to be rebuilt first. */
  readonly kept: boolean;
}

/** The most snapshots that are offered. */
export const OFFERED_SNAPSHOTS = 100;

/**
 * At most `limit` of the snapshots, evenly spread from the first to the last; those that were not kept give way first.
 */
export function offeredSnapshots(
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

/** What a message's own alternatives are continued with. */
export interface OwnContinuation {
  readonly snapshot: string;
  /** The step after which the run had these weights; null for weights of another model. */
  readonly step: number | null;
  /** Null where the run does not say. */
  readonly temperature: number | null;
}

/**
 * How a bucket was continued where that is not how its message was made: its returns and credits are of another
 * distribution.
 */
export interface OtherContinuation extends OwnContinuation {
  /** Folder of the other model; null where the weights are the run's. */
  readonly model: string | null;
  readonly differs: { readonly snapshot: boolean; readonly temperature: boolean; readonly model: boolean };
  /** What the message itself was made with. */
  readonly own: OwnContinuation;
}

export const OTHER_DISTRIBUTION = 'another continuation distribution';

/** The last part of a folder's path: what is passed on names no place of the machine that it was made on. */
export const folderName = (folder: string): string => folder.split(/[\\/]/u).findLast((part) => part !== '') ?? '';

/**
 * `another continuation distribution: snapshot 0123456789ab (step 3), temperature 0.5`; another model comes first.
 * @param shown how the other model's folder is written
 */
export function continuationWords(
  other: OtherContinuation,
  shown: (folder: string) => string = (folder) => folder,
): string {
  return `${OTHER_DISTRIBUTION}: ${[...(other.model === null ? [] : [`model ${oneLine(shown(other.model), 200)}`]), ...settingWords(other)].join(', ')}`;
}

/** `The message itself: snapshot 0123456789ab (step 2), temperature 1.` */
export const ownWords = ({ own }: OtherContinuation): string => `The message itself: ${settingWords(own).join(', ')}.`;

function settingWords({ snapshot, step, temperature }: OwnContinuation): readonly string[] {
  return [
    `snapshot ${snapshot.slice(0, 12)}${step === null ? '' : ` (step ${String(step)})`}`,
    `temperature ${temperature === null ? 'unknown' : String(temperature)}`,
  ];
}

/** The name of a run's last snapshot. */
export const LAST_SNAPSHOT = 'last';
