/** A run: its settings, its cost and its results. */

import { isRecord, list, nullable, number, object, text, integer, type Guarded } from '../shared/guard.ts';
import { formatDecimal } from '../shared/text/figures.ts';
import type { Interval } from './credit.ts';

export type RunStatus = 'running' | 'done' | 'cancelled' | 'failed';

/** Tokens that a model read or generated. */
export interface Tokens {
  readonly prompt: number;
  /** Prompt tokens that were not computed again; included in `prompt`. */
  readonly reused: number;
  readonly completion: number;
  /**
   * Completion tokens of messages that were taken from an equal request. No other count includes these
   * messages. Absent in older stores.
   */
  readonly reusedCompletion?: number;
}

/** Cumulative cost of a run. */
export interface Ledger {
  /** Calls that were made. */
  readonly evaluatorCalls: number;
  /** Further evaluations whose result was known from an equal message. Absent in older stores. */
  readonly reusedEvaluations?: number;
  /** Calls that scored single answers of votes, included in `evaluatorCalls`; absent without votes. */
  readonly voteCalls?: number;
  readonly tokens: Tokens;
  readonly decisions: Readonly<Record<string, number>>;
  readonly seconds: number;
}

/** The output of `c3 run --json`, which the run's row keeps. */
export interface RunSummary {
  readonly run: string;
  readonly method: string;
  readonly seed: number;
  readonly steps: number;
  /** Calls that were made. */
  readonly evaluatorCalls: number;
  /** Further evaluations whose result was known from an equal message. Absent in older runs. */
  readonly reusedEvaluations?: number;
  /** Most further calls whose results were lost by an interruption. Absent in older runs. */
  readonly lostEvaluatorCalls?: number;
  /** Episodes that the evaluator failed to score; no other number includes them. Absent in older runs. */
  readonly maskedEpisodes?: number;
  readonly tokens: Tokens;
  readonly decisions: Readonly<Record<string, number>>;
  readonly accuracy: {
    readonly before: Interval | null;
    readonly after: Interval | null;
    readonly difference: Interval | null;
  };
  /** The mean over all samples of a problem: pass@1, which is avg@k of k samples. */
  readonly passAt1: {
    readonly before: Interval | null;
    readonly after: Interval | null;
    readonly difference: Interval | null;
  };
  /**
   * Share of problems that at least one of k samples solves: pass@k. Present only if an evaluation takes
   * several samples, and absent in older runs.
   */
  readonly passAtK?: RunSummary['passAt1'] & { readonly samples: number };
  /** Seconds of training without evaluations. */
  readonly seconds: number;
  readonly store: string;
}

/**
 * A team that is trained and evaluated on a task, by one method and from one seed; or what other programs recorded.
 * @term run
 */
export interface RunRecord {
  readonly id: string;
  readonly method: string;
  readonly seed: number;
  readonly status: RunStatus;
  /** ISO 8601. */
  readonly createdAt: string;
  readonly finishedAt: string | null;
  readonly plannedSteps: number;
  readonly steps: number;
  /** The title that the user gave, or else the one of its configuration. */
  readonly title: string;
  /** The user's note; empty if there is none. */
  readonly note: string;
  readonly tags: readonly string[];
  readonly summary: RunSummary | null;
}

type Keys = Readonly<Record<string, unknown>>;

/**
 * Parses the recipe of a run's row. @param runConfig the row's JSON, empty for imports @returns {} if
 * there is none
 */
export function parseStoredRecipe(runConfig: string): Keys {
  try {
    const stored: unknown = JSON.parse(runConfig);
    return isRecord(stored) ? stored : {};
  } catch {
    return {};
  }
}

/** Returns a section of the keys, or {} if it is missing or not a record. */
export function readSection(keys: Keys, name: string): Keys {
  const section = Object.hasOwn(keys, name) ? keys[name] : undefined;
  return isRecord(section) ? section : {};
}

/** Returns the run configuration in the recipe. @param runConfig as in parseStoredRecipe */
export const parseStoredConfig = (runConfig: string): Keys => readSection(parseStoredRecipe(runConfig), 'config');

/** Returns true if servers answer for roles or the judge. @param config as the store keeps it */
export function asksServers(config: string): boolean {
  const run = parseStoredConfig(config);
  const asked = [...Object.values(readSection(run, 'policies')), readSection(run, 'scorer')['judge']];
  return asked.some((one) => isRecord(one) && (one['kind'] === 'endpoint' || one['kind'] === 'vscode'));
}

/** Returns the ids of the runs that a configuration refers to. @param config as the store keeps it */
export function listNamedRuns(config: string): readonly string[] {
  const run = parseStoredConfig(config);
  const begin = readSection(run, 'begin');
  const places = [
    begin,
    readSection(readSection(begin, 'replace'), 'from'),
    ...Object.values(readSection(run, 'policies')),
  ];
  return places.flatMap((place) => (isRecord(place) && typeof place['run'] === 'string' ? [place['run']] : []));
}

/** interrupted: the process that ran it is gone and did not record its end. */
export type ShownStatus = RunStatus | 'interrupted';

/**
 * Returns the status to show for a stored run.
 * @param beingWritten true if a living process writes the store
 */
export function shownStatus(
  { status, finishedAt }: Pick<RunRecord, 'status' | 'finishedAt'>,
  beingWritten: boolean,
): ShownStatus {
  if (status === 'running' && !beingWritten) {
    return 'interrupted';
  }
  // The next writer of the store marked it, without knowing when it ended.
  if (status === 'failed' && finishedAt === null) {
    return 'interrupted';
  }
  return status;
}

/** Returns true if a run can be continued to its end. */
export function isResumable(status: ShownStatus): boolean {
  return status === 'cancelled' || status === 'failed' || status === 'interrupted';
}

export interface RunNote {
  readonly title: string;
  /** Any number of lines; empty for no note. */
  readonly note: string;
  readonly tags: readonly string[];
}

/** A field that is left out keeps its value. */
export interface NoteRunParams extends Partial<RunNote> {
  readonly run: string;
}

export const LONGEST_TITLE = 200;

export const LONGEST_NOTE = 10_000;

const MOST_TAGS = 20;

const LONGEST_TAG = 40;

/** Parses typed tags, which commas separate: trimmed, each once. */
export function parseTags(typed: string): readonly string[] {
  return [
    ...new Set(
      typed
        .split(',')
        .map((tag) => tag.replace(/\s+/gu, ' ').trim())
        .filter((tag) => tag !== ''),
    ),
  ];
}

/** Returns a sentence on why a note cannot be stored, or null if it can. */
export function noteFault({ title, note, tags }: RunNote): string | null {
  if (title.trim() === '' || title.length > LONGEST_TITLE || /[\n\r]/u.test(title)) {
    return `A title is one line of 1 to ${LONGEST_TITLE} characters.`;
  }
  return findNoteOrTagFault({ note, tags }, 'A run');
}

/** Checks a note and tags alone. @param noted the start of the sentence, such as `A run` */
export function findNoteOrTagFault({ note, tags }: Pick<RunNote, 'note' | 'tags'>, noted: string): string | null {
  if (note.length > LONGEST_NOTE) {
    return `A note has up to ${LONGEST_NOTE.toLocaleString('en')} characters.`;
  }
  if (tags.length > MOST_TAGS || tags.some((tag) => tag.length > LONGEST_TAG)) {
    return `${noted} has up to ${MOST_TAGS} tags of up to ${LONGEST_TAG} characters.`;
  }
  return null;
}

/** Adds two counts of tokens. */
export function addTokens(a: Tokens, b: Tokens): Required<Tokens> {
  return {
    prompt: a.prompt + b.prompt,
    reused: a.reused + b.reused,
    completion: a.completion + b.completion,
    reusedCompletion: (a.reusedCompletion ?? 0) + (b.reusedCompletion ?? 0),
  };
}

/** A ledger without costs. */
export const EMPTY_LEDGER = {
  evaluatorCalls: 0,
  reusedEvaluations: 0,
  tokens: { prompt: 0, reused: 0, completion: 0, reusedCompletion: 0 },
  decisions: {},
  seconds: 0,
} as const satisfies Ledger;

/** Adds any number of ledgers. Roles are in the order of their first appearance. */
export function addLedgers(...ledgers: readonly Ledger[]): Ledger {
  // A map, because a role may have the name of a property that every object has.
  const spoken = new Map<string, number>();
  let [evaluatorCalls, reusedEvaluations, voteCalls, seconds] = [0, 0, 0, 0];
  let tokens: Tokens = EMPTY_LEDGER.tokens;
  for (const ledger of ledgers) {
    evaluatorCalls += ledger.evaluatorCalls;
    reusedEvaluations += ledger.reusedEvaluations ?? 0;
    voteCalls += ledger.voteCalls ?? 0;
    seconds += ledger.seconds;
    tokens = addTokens(tokens, ledger.tokens);
    for (const [role, count] of Object.entries(ledger.decisions)) {
      spoken.set(role, (spoken.get(role) ?? 0) + count);
    }
  }
  return {
    evaluatorCalls,
    reusedEvaluations,
    ...(voteCalls > 0 && { voteCalls }),
    tokens,
    decisions: Object.fromEntries(spoken),
    seconds,
  };
}

/**
 * Returns the calls that a run spent on answers of votes. Messages do not show these calls, so they are
 * read from the ledger of the newest step.
 * @param newest the last stored ledger of that step; undefined before the first step
 */
export const readVotesCost = (newest: Ledger | undefined): Ledger => {
  const voteCalls = newest?.voteCalls ?? 0;
  return { ...EMPTY_LEDGER, evaluatorCalls: voteCalls, voteCalls };
};

/** Two scores of the same messages. */
export interface ScoreAgreement {
  /** Messages with both scores. */
  readonly n: number;
  /** Share that both scores put on the same side of 0.5, 95 % interval (Wilson); null if n is 0. */
  readonly same: { readonly value: number; readonly low: number; readonly high: number } | null;
  /** Mean absolute difference; null if n is 0. */
  readonly distance: number | null;
}

export interface JudgeAgreement {
  /** Messages that the user labeled. */
  readonly labels: number;
  /** Answers without a readable score, out of two answers to each message. */
  readonly unread: number;
  /** The first answers compared with the second ones. */
  readonly self: ScoreAgreement;
  /** The first answers compared with the user's labels. */
  readonly user: ScoreAgreement;
}

/** The key of the agreement in the recipe of a run. */
export const JUDGE_KEY = 'judge';

/** Describes the judge's agreement in one sentence, to show beside credits from its scores. */
export function describeJudgeAgreement({ labels, unread, self, user }: JudgeAgreement): string {
  const share = ({ same, n, distance }: ScoreAgreement): string => {
    if (same === null || distance === null) {
      return 'no message';
    }
    const [value, low, high] = [same.value, same.low, same.high].map((one) => formatDecimal(100 * one, 0));
    return `${value} % [${low}, ${high}] of ${n} messages (mean difference ${formatDecimal(distance, 2)})`;
  };
  const missing = unread === 0 ? '' : ` ${unread} of ${2 * labels} answers had no score.`;
  return `Scored by a model judge: pass or fail is the same as its own second answer for ${share(self)}, and the same as your labels for ${share(user)}.${missing}`;
}

/**
 * Returns the sentence on the judge in a run's recipe, or null if no judge scored the run.
 * @param runConfig the row's JSON, empty for an imported run
 */
export function describeStoredJudge(runConfig: string): string | null {
  const found = parseStoredRecipe(runConfig)[JUDGE_KEY];
  return isAgreement(found) ? describeJudgeAgreement(found) : null;
}

const isNumber = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value);

function isScores(value: unknown): value is ScoreAgreement {
  if (!isRecord(value) || !isNumber(value['n'])) {
    return false;
  }
  const { same, distance } = value;
  const whole = isRecord(same) && ['value', 'low', 'high'].every((key) => isNumber(same[key]));
  return (same === null || whole) && (distance === null || isNumber(distance));
}

export const isAgreement = (value: unknown): value is JudgeAgreement =>
  isRecord(value) &&
  isNumber(value['labels']) &&
  isNumber(value['unread']) &&
  isScores(value['self']) &&
  isScores(value['user']);

const finite = number(-Number.MAX_VALUE, Number.MAX_VALUE);

const interval = nullable(object({ value: finite, low: nullable(finite), high: nullable(finite), n: integer() }));

const isSwapShock = object({
  /** Calls for the whole measurement. */
  evaluatorCalls: integer(),
  /** Greedy share of the held-out questions that each team solves; null if it was not measured. */
  before: interval,
  direct: interval,
  aligned: interval,
  /** Difference from the team before the swap, with the bootstrap over the same questions. */
  directChange: interval,
  alignedChange: interval,
});

const isReplacement = object({
  /** The earlier run. */
  run: text(200),
  role: text(200),
  /** Description of the replacement. */
  by: text(4_000),
  probes: integer(),
  /**
   * KL(old || new) of held-out probes in nats per message: before each step of stage 0 and after the
   * last one. A direct swap has one value.
   */
  kls: list(finite, 10_001),
  /** The KL at which stage 0 was to end; null if there was no stage 0. */
  delta: nullable(finite),
  shock: nullable(isSwapShock),
});

export type SwapShock = Guarded<typeof isSwapShock>;

export type Replacement = Guarded<typeof isReplacement>;

/** The key of the replacement in the recipe of a run. */
export const REPLACEMENT_KEY = 'replacement';

/** Reads the replacement in a run's row, or null if there is none. @param runConfig the row's JSON */
export function readReplacement(runConfig: string): Replacement | null {
  const found = parseStoredRecipe(runConfig)[REPLACEMENT_KEY];
  return isReplacement(found) ? found : null;
}

/** Returns the measured returns of the teams of a swap, in the order of the swap. */
export function shockRows({
  before,
  direct,
  aligned,
}: SwapShock): readonly { readonly label: string; readonly value: Interval | null }[] {
  return [
    { label: 'Before the swap', value: before },
    { label: 'After a direct swap', value: direct },
    { label: 'After stage 0', value: aligned },
  ];
}

/** Formats `72.0 % [65.0, 78.1]`, or `not measured`. */
const formatMeasuredShare = (value: Interval | null): string =>
  value === null
    ? 'not measured'
    : `${(100 * value.value).toFixed(1)} %${value.low === null || value.high === null ? '' : ` [${(100 * value.low).toFixed(1)}, ${(100 * value.high).toFixed(1)}]`}`;

/** Describes the cost of a swap in one sentence. */
export function describeSwapShock({ before, direct, aligned, directChange, alignedChange }: SwapShock): string {
  const points = (change: Interval | null): string =>
    change === null
      ? ''
      : ` (${(100 * change.value).toFixed(1)} points${change.low === null || change.high === null ? '' : ` [${(100 * change.low).toFixed(1)}, ${(100 * change.high).toFixed(1)}]`})`;
  const last = aligned === null ? '' : `, ${formatMeasuredShare(aligned)}${points(alignedChange)} after stage 0`;
  return `Swap shock, greedy on ${before?.n ?? 0} held-out questions: ${formatMeasuredShare(before)} before the swap, ${formatMeasuredShare(direct)}${points(directChange)} after a direct swap${last}.`;
}
