/** A run: what it was started with, what it cost, and what it came to. */
import { isRecord, list, nullable, number, object, text, integer, type Guarded } from '../shared/guard.ts';
import { decimal } from '../shared/text/figures.ts';
import type { Interval } from './credit.ts';

export type RunStatus = 'running' | 'done' | 'cancelled' | 'failed';

/** Tokens that a model was given or made. */
export interface Tokens {
  readonly prompt: number;
  /** Of the prompt tokens, those that were not computed again. */
  readonly reused: number;
  readonly completion: number;
  /**
   * Completion tokens of messages that were taken from an equal request; none of the others counts these messages.
   * Absent in what was stored before.
   */
  readonly reusedCompletion?: number;
}

/** Cumulative cost of a run. */
export interface Ledger {
  /** Calls that were made. */
  readonly evaluatorCalls: number;
  /**
   * Further evaluations whose result was known from an equal message. Absent in what was stored before these were
   * counted.
   */
  readonly reusedEvaluations?: number;
  /** Of the calls, those that scored answers of votes by themselves; absent where there were none. */
  readonly voteCalls?: number;
  readonly tokens: Tokens;
  readonly decisions: Readonly<Record<string, number>>;
  readonly seconds: number;
}

/** What `c3 run --json` prints and the run's row keeps. */
export interface RunSummary {
  readonly run: string;
  readonly method: string;
  readonly seed: number;
  readonly steps: number;
  /** Calls that were made. */
  readonly evaluatorCalls: number;
  /**
   * Further evaluations whose result was known from an equal message. Absent in runs that were stored before these were
   * counted.
   */
  readonly reusedEvaluations?: number;
  /**
   * Further calls, at most, whose results were lost when the run was interrupted. Absent in runs that were stored
   * before these were counted.
   */
  readonly lostEvaluatorCalls?: number;
  /**
   * Episodes that the evaluator failed to score; they count nowhere. Absent in runs that were stored before these were
   * counted.
   */
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
   * Problems that one of their samples or more solves: pass@k of k samples. Only where an evaluation takes several,
   * and not in runs that were stored before this was measured.
   */
  readonly passAtK?: RunSummary['passAt1'] & { readonly samples: number };
  /** Seconds of training alone, evaluations left out. */
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
  /** What the user calls it; until then, as its configuration does. */
  readonly title: string;
  /** What the user says of it; empty where nothing. */
  readonly note: string;
  readonly tags: readonly string[];
  readonly summary: RunSummary | null;
}

type Keys = Readonly<Record<string, unknown>>;

/** @param runConfig the row's JSON, which an imported run has not @returns no key where there is none */
export function storedRecipe(runConfig: string): Keys {
  try {
    const stored: unknown = JSON.parse(runConfig);
    return isRecord(stored) ? stored : {};
  } catch {
    return {};
  }
}

/** A section of such keys; none where it is something else. */
export function sectionOf(keys: Keys, name: string): Keys {
  const section = Object.hasOwn(keys, name) ? keys[name] : undefined;
  return isRecord(section) ? section : {};
}

/** The run configuration within. @param runConfig as storedRecipe */
export const storedConfig = (runConfig: string): Keys => sectionOf(storedRecipe(runConfig), 'config');

/** Whether servers answer for roles of a run, or for its judge. @param config as the store keeps it */
export function asksServers(config: string): boolean {
  const run = storedConfig(config);
  const asked = [...Object.values(sectionOf(run, 'policies')), sectionOf(run, 'scorer')['judge']];
  return asked.some((one) => isRecord(one) && (one['kind'] === 'endpoint' || one['kind'] === 'vscode'));
}

/** @param config as the store keeps it */
export function namedRuns(config: string): readonly string[] {
  const run = storedConfig(config);
  const begin = sectionOf(run, 'begin');
  const places = [begin, sectionOf(sectionOf(begin, 'replace'), 'from'), ...Object.values(sectionOf(run, 'policies'))];
  return places.flatMap((place) => (isRecord(place) && typeof place['run'] === 'string' ? [place['run']] : []));
}

/** interrupted: the process that ran it is gone and nobody saw it end. */
export type ShownStatus = RunStatus | 'interrupted';

/**
 * What to show for a stored run.
 * @param beingWritten whether a living process writes the store
 */
export function shownStatus(
  { status, finishedAt }: Pick<RunRecord, 'status' | 'finishedAt'>,
  beingWritten: boolean,
): ShownStatus {
  if (status === 'running' && !beingWritten) {
    return 'interrupted';
  }
  // Marked by the next writer of the store, who did not see when it ended.
  if (status === 'failed' && finishedAt === null) {
    return 'interrupted';
  }
  return status;
}

/** Whether a run can be taken to its end from where it is. */
export function isResumable(status: ShownStatus): boolean {
  return status === 'cancelled' || status === 'failed' || status === 'interrupted';
}

export interface RunNote {
  readonly title: string;
  /** Any number of lines; empty where nothing is said. */
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

/** Tags as they are typed, with commas between them: trimmed, each once. */
export function tagsOf(typed: string): readonly string[] {
  return [
    ...new Set(
      typed
        .split(',')
        .map((tag) => tag.replace(/\s+/gu, ' ').trim())
        .filter((tag) => tag !== ''),
    ),
  ];
}

/** What keeps a note from being stored, as a sentence; null where nothing does. */
export function noteFault({ title, note, tags }: RunNote): string | null {
  if (title.trim() === '' || title.length > LONGEST_TITLE || /[\n\r]/u.test(title)) {
    return `A title is one line of 1 to ${LONGEST_TITLE} characters.`;
  }
  return wordsFault({ note, tags }, 'A run');
}

/** The same of a note and tags alone. @param noted what they are of, as the beginning of a sentence */
export function wordsFault({ note, tags }: Pick<RunNote, 'note' | 'tags'>, noted: string): string | null {
  if (note.length > LONGEST_NOTE) {
    return `A note has up to ${LONGEST_NOTE.toLocaleString('en')} characters.`;
  }
  if (tags.length > MOST_TAGS || tags.some((tag) => tag.length > LONGEST_TAG)) {
    return `${noted} has up to ${MOST_TAGS} tags of up to ${LONGEST_TAG} characters.`;
  }
  return null;
}

/** The sum of two counts of tokens. */
export function addTokens(a: Tokens, b: Tokens): Required<Tokens> {
  return {
    prompt: a.prompt + b.prompt,
    reused: a.reused + b.reused,
    completion: a.completion + b.completion,
    reusedCompletion: (a.reusedCompletion ?? 0) + (b.reusedCompletion ?? 0),
  };
}

/** The cost of nothing. */
export const EMPTY_LEDGER = {
  evaluatorCalls: 0,
  reusedEvaluations: 0,
  tokens: { prompt: 0, reused: 0, completion: 0, reusedCompletion: 0 },
  decisions: {},
  seconds: 0,
} as const satisfies Ledger;

/** The sum of any number of ledgers; roles are in the order of their first appearance. */
export function addLedgers(...ledgers: readonly Ledger[]): Ledger {
  // A map, because a role may be called like a property that every object has.
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
 * What a run spent on answers of votes: its messages do not show it, so that it is read from the newest step.
 * @param newest the ledger with which that step was stored last; undefined before the first
 */
export const votesCost = (newest: Ledger | undefined): Ledger => {
  const voteCalls = newest?.voteCalls ?? 0;
  return { ...EMPTY_LEDGER, evaluatorCalls: voteCalls, voteCalls };
};

/** Two scores of the same messages. */
export interface ScoreAgreement {
  /** Messages with both scores. */
  readonly n: number;
  /** Share of them on the same side of 0.5 by both, with its 95 % interval (Wilson); null where n is 0. */
  readonly same: { readonly value: number; readonly low: number; readonly high: number } | null;
  /** Mean absolute difference; null where n is 0. */
  readonly distance: number | null;
}

export interface JudgeAgreement {
  /** Messages that the user labeled. */
  readonly labels: number;
  /** Of two answers to each message: those without a score that can be read. */
  readonly unread: number;
  /** A first answer beside a second one. */
  readonly self: ScoreAgreement;
  /** A first answer beside the user's label. */
  readonly user: ScoreAgreement;
}

/** Where the recipe of a run keeps it. */
export const JUDGE_KEY = 'judge';

/** One sentence, for whatever shows a credit that the judge's scores made. */
export function judgeWords({ labels, unread, self, user }: JudgeAgreement): string {
  const share = ({ same, n, distance }: ScoreAgreement): string => {
    if (same === null || distance === null) {
      return 'no message';
    }
    const [value, low, high] = [same.value, same.low, same.high].map((one) => decimal(100 * one, 0));
    return `${value} % [${low}, ${high}] of ${n} messages (mean difference ${decimal(distance, 2)})`;
  };
  const missing = unread === 0 ? '' : ` ${unread} of ${2 * labels} answers had no score.`;
  return `Scored by a model judge: pass or fail is the same as its own second answer for ${share(self)}, and the same as your labels for ${share(user)}.${missing}`;
}

/**
 * The sentence of a run's recipe; null where no judge scored it.
 * @param runConfig the row's JSON, which an imported run has not
 */
export function judgeWordsIn(runConfig: string): string | null {
  const found = storedRecipe(runConfig)[JUDGE_KEY];
  return isAgreement(found) ? judgeWords(found) : null;
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
  /** Asked for, for all of it together. */
  evaluatorCalls: integer(),
  /** Greedy share of the held-out questions that each team solves; null where it was not measured. */
  before: interval,
  direct: interval,
  aligned: interval,
  /** Less that of the team before the swap, with the bootstrap over the same questions. */
  directChange: interval,
  alignedChange: interval,
});

const isReplacement = object({
  /** The earlier run. */
  run: text(200),
  role: text(200),
  /** What took the place, in words. */
  by: text(4_000),
  probes: integer(),
  /**
   * KL(old || new) of held-out probes in nats per message: before each step of stage 0 and after the last; of a direct
   * swap once.
   */
  kls: list(finite, 10_001),
  /** Where stage 0 was to end; null where there was none. */
  delta: nullable(finite),
  shock: nullable(isSwapShock),
});

export type SwapShock = Guarded<typeof isSwapShock>;

export type Replacement = Guarded<typeof isReplacement>;

/** Under which the recipe of a run keeps it. */
export const REPLACEMENT_KEY = 'replacement';

/** What a run's row says of a replacement; null where it began without one. @param runConfig the row's JSON */
export function replacementOf(runConfig: string): Replacement | null {
  const found = storedRecipe(runConfig)[REPLACEMENT_KEY];
  return isReplacement(found) ? found : null;
}

/** The teams of a swap whose returns were measured, in their order. */
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

/** `72.0 % [65.0, 78.1]`, or that it was not measured. */
const shareWords = (value: Interval | null): string =>
  value === null
    ? 'not measured'
    : `${(100 * value.value).toFixed(1)} %${value.low === null || value.high === null ? '' : ` [${(100 * value.low).toFixed(1)}, ${(100 * value.high).toFixed(1)}]`}`;

/** A swap's cost in one sentence. */
export function shockWords({ before, direct, aligned, directChange, alignedChange }: SwapShock): string {
  const points = (change: Interval | null): string =>
    change === null
      ? ''
      : ` (${(100 * change.value).toFixed(1)} points${change.low === null || change.high === null ? '' : ` [${(100 * change.low).toFixed(1)}, ${(100 * change.high).toFixed(1)}]`})`;
  const last = aligned === null ? '' : `, ${shareWords(aligned)}${points(alignedChange)} after stage 0`;
  return `Swap shock, greedy on ${before?.n ?? 0} held-out questions: ${shareWords(before)} before the swap, ${shareWords(direct)}${points(directChange)} after a direct swap${last}.`;
}
