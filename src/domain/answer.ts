/** Answers: which message lost an episode, what loses those of a run, and whether a finding holds. In words, too. */
import { isRecord } from '../shared/guard.ts';
import { signed } from '../shared/text/figures.ts';
import type { Interval } from './credit.ts';
import { selectionWords, type Selection } from './selection.ts';

/**
 * message: one message lost more than any other. several: more than one did, and none is known to have lost more. rare:
 * the team rarely solves the problem, whatever message is looked at. undecided: the budget did not decide. won: the
 * episode was not lost.
 */
export const BLAME_VERDICTS = ['message', 'several', 'rare', 'undecided', 'won'] as const;

export type BlameVerdict = (typeof BLAME_VERDICTS)[number];

/** An expected return with its 95 % interval, which holds at every look. */
export interface Chance {
  readonly value: number;
  readonly low: number;
  readonly high: number;
  /** Continuations behind it; 0 where it is known, as the recorded return is. */
  readonly n: number;
}

/** A point of the curve: what the team returns on average from here on. */
export interface CurvePoint extends Chance {
  /** The message that was just said; null before the first. */
  readonly message: number | null;
  readonly role: string | null;
  /**
   * What the message changed: the mean over pairs of itself and a fresh one on the same random numbers; null before the
   * first message.
   */
  readonly drop: Chance | null;
}

/** What the team would rather say in the place of the message that lost the episode. */
export interface Remedy {
  readonly text: string;
  /** The number of fresh messages with this text. */
  readonly said: number;
  /** The number of all fresh messages. */
  readonly of: number;
  /** Its mean return. */
  readonly value: number;
}

/** What a search has come to. */
export interface Blame {
  /** The last message of the episode, by which it is named. */
  readonly episode: number;
  readonly verdict: BlameVerdict;
  /** The message that lost it; null where none is named. */
  readonly message: number | null;
  /** The messages that the sentence names: one, several, or those that are undecided. */
  readonly messages: readonly number[];
  /** Before the first message, then after each. */
  readonly curve: readonly CurvePoint[];
  readonly remedy: Remedy | null;
  /** Spent by this search. */
  readonly evaluatorCalls: number;
  /** About how many further calls would decide; null where that cannot be said. */
  readonly more: number | null;
  /** The highest return that there is: returns are shown as a share of it. */
  readonly most: number;
  readonly sentence: string;
}

/** A lost episode in the answer about a run. */
export interface BlamedEpisode {
  readonly episode: number;
  readonly verdict: BlameVerdict;
  /** The message that lost it, its role, and what it changed; null where none is named. */
  readonly message: number | null;
  readonly role: string | null;
  readonly drop: number | null;
  /** The chance before the first message. */
  readonly start: Chance | null;
  readonly question: string;
  readonly sentence: string;
}

/** What a role lost. */
export interface RoleLosses {
  readonly role: string;
  /** Its share of what was within reach; negative where its messages raised the chance on balance. */
  readonly share: Interval;
  /** In which its message lost it. */
  readonly episodes: number;
}

/**
 * How losses are divided beside by role. turn: which of a role's messages it was. class: the taxonomy class of the
 * problem. label: the user's label of the message. level, source: what the data set says of the problem.
 */
export const LOSS_DIVISIONS = ['turn', 'class', 'label', 'level', 'source'] as const;

/** What the messages of one turn or label lost, or the episodes of one class, level or source. */
export interface LossPart {
  readonly name: string;
  /** Its share of what was within reach. */
  readonly share: Interval;
  /** Those of its episodes in which one message is named; of a turn, its message. */
  readonly episodes: number;
}

export interface LossDivision {
  readonly by: (typeof LOSS_DIVISIONS)[number];
  /** The largest share first; two at least. */
  readonly parts: readonly LossPart[];
}

/** What loses the episodes of a run. */
export interface RunBlame {
  readonly run: string;
  /** Which of the lost episodes were asked for; all where it is left out. */
  readonly only?: Selection;
  /** Lost episodes of its last evaluation, or of a recording, that can be searched. */
  readonly lost: number;
  /** How many more were lost that have more messages than a search takes. */
  readonly tooLong: number;
  /** How many of them were read: a random part where the budget did not reach. */
  readonly read: number;
  /** How many more were to be read, whose replays could not all be scored. */
  readonly masked: number;
  /** How many of the lost ones the team would win if it tried again, on average. */
  readonly withinReach: Interval;
  /** The largest share first; empty where it may be that nothing was within reach. */
  readonly roles: readonly RoleLosses[];
  /** The same sum divided otherwise; without those that say nothing more. An answer that was kept early has none. */
  readonly divisions?: readonly LossDivision[];
  /** Episodes that were read, by what was found: one message lost it, several did, and so on. */
  readonly decided: number;
  readonly several: number;
  readonly undecided: number;
  readonly rarelySolved: number;
  /** Those in which a message is named, the largest fall first. */
  readonly cases: readonly BlamedEpisode[];
  readonly evaluatorCalls: number;
  readonly seconds: number;
  readonly sentence: string;
}

const isInterval = (value: unknown): value is Interval =>
  isRecord(value) &&
  typeof value['value'] === 'number' &&
  ['low', 'high'].every((bound) => value[bound] === null || typeof value[bound] === 'number');

const isCase = (value: unknown): value is BlamedEpisode =>
  isRecord(value) &&
  ['message', 'drop'].every((name) => typeof value[name] === 'number') &&
  ['role', 'question', 'sentence'].every((name) => typeof value[name] === 'string');

/** Whether these are shares, each under its name. */
const areShares = (value: unknown, name: 'role' | 'name'): boolean =>
  Array.isArray(value) &&
  value.every(
    (one: unknown) =>
      isRecord(one) && typeof one[name] === 'string' && typeof one['episodes'] === 'number' && isInterval(one['share']),
  );

const isDivision = (value: unknown): value is LossDivision =>
  isRecord(value) && LOSS_DIVISIONS.some((by) => by === value['by']) && areShares(value['parts'], 'name');

/** Whether a value that was kept elsewhere can be shown as the answer about a whole run. */
export const isRunBlame = (value: unknown): value is RunBlame =>
  isRecord(value) &&
  value['only'] === undefined &&
  ['run', 'sentence'].every((name) => typeof value[name] === 'string') &&
  [
    'lost',
    'tooLong',
    'read',
    'masked',
    'decided',
    'several',
    'undecided',
    'rarelySolved',
    'evaluatorCalls',
    'seconds',
  ].every((name) => typeof value[name] === 'number') &&
  isInterval(value['withinReach']) &&
  areShares(value['roles'], 'role') &&
  (value['divisions'] === undefined || (Array.isArray(value['divisions']) && value['divisions'].every(isDivision))) &&
  Array.isArray(value['cases']) &&
  value['cases'].every(isCase);

/** The bounds of a search's budget and its default, in evaluator calls. */
export const BLAME_BUDGET = { least: 1, usual: 96, most: 100_000 } as const;

/** The same for a run; `window` is what the editor asks for. */
export const RUN_BLAME_BUDGET = { least: 1, usual: 6400, most: 10_000_000, window: 1600 } as const;

/** How far a search has come. */
export const callsWords = (calls: number, budget: number): string =>
  `${calls.toLocaleString('en-US')} of at most ${budget.toLocaleString('en-US')} calls`;

const percent = (value: number, most: number): string => String(Math.round((100 * value) / most));

/** `81 % [70, 89]`. */
export function chanceWords({ value, low, high, n }: Chance, most: number): string {
  return `${percent(value, most)} %${n === 0 ? '' : ` [${percent(low, most)}, ${percent(high, most)}]`}`;
}

/** `plan`, `plan and answer`, `plan, check and answer`. */
export function listed(names: readonly string[]): string {
  return names.length < 2 ? (names[0] ?? '') : `${names.slice(0, -1).join(', ')} and ${names.at(-1) ?? ''}`;
}

/** A role, and which of its messages where it has several. */
function namesOf(curve: readonly CurvePoint[], messages: readonly number[]): string[] {
  return messages.map((message) => {
    const { role } = curve.find((point) => point.message === message) ?? {};
    const own = curve.filter((point) => point.role === role);
    const turn = own.findIndex((point) => point.message === message) + 1;
    return own.length < 2 ? (role ?? '') : `${role ?? ''} (message ${turn} of ${own.length})`;
  });
}

const capital = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1);

/** The answer in one sentence. */
export function blameSentence({
  verdict,
  messages,
  curve,
  evaluatorCalls,
  more,
  most,
}: Omit<Blame, 'sentence' | 'remedy'>): string {
  const spent = `${evaluatorCalls.toLocaleString('en-US')} ${evaluatorCalls === 1 ? 'call' : 'calls'}.`;
  const names = namesOf(curve, messages);
  const [start] = curve;
  switch (verdict) {
    case 'won':
      return 'The episode was not lost: choose a message of one that was.';
    case 'rare':
      return `The team rarely solves this problem (${start === undefined ? '' : chanceWords(start, most)} at the start): no message decided it. ${spent}`;
    case 'message': {
      const at = curve.findIndex(({ message }) => message === messages[0]);
      const [before, after] = [curve[at - 1], curve[at]];
      const fall =
        before === undefined || after === undefined
          ? ''
          : `: the chance of success fell from ${chanceWords(before, most)} to ${chanceWords(after, most)}`;
      return `The ${names[0] ?? 'message'} lost it${fall}. ${spent}`;
    }
    case 'several':
      return `${capital(listed(names))} lost it together. ${spent}`;
    case 'undecided':
      return `Undecided between ${listed(names)}${more === null ? '' : `; about ${more.toLocaleString('en-US')} more calls`}. The chance was ${start === undefined || start.n === 0 ? 'not measured' : chanceWords(start, most)} at the start. ${spent}`;
  }
}

const whole = (value: number): string => Math.round(value).toLocaleString('en-US');

/** `58 % [49, 66]`. */
export function shareWords({ value, low, high }: Interval): string {
  const bounds = low === null || high === null ? '' : ` [${percent(low, 1)}, ${percent(high, 1)}]`;
  return `${percent(value, 1)} %${bounds}`;
}

/** The answer about a run in a few sentences. */
export function runBlameSentence(blame: Omit<RunBlame, 'sentence'>): string {
  const longer =
    blame.tooLong === 0
      ? []
      : [
          `${whole(blame.tooLong)} lost ${blame.tooLong === 1 ? 'episode has' : 'episodes have'} too many messages to be searched.`,
        ];
  return [...longer, searchedSentence(blame)].join(' ');
}

function searchedSentence({
  only = [],
  lost,
  tooLong,
  read,
  withinReach,
  roles,
  evaluatorCalls,
  seconds,
}: Omit<RunBlame, 'sentence'>): string {
  if (lost === 0) {
    return `No ${tooLong === 0 ? '' : 'other '}episode of the last evaluation was lost.`;
  }
  const { value, low, high } = withinReach;
  const interval = `[${whole(low ?? 0)}, ${whole(high ?? lost)}]`;
  const reach = [
    `Of ${whole(lost)} lost ${lost === 1 ? 'episode' : 'episodes'}${only.length === 0 ? '' : ` (${selectionWords(only)})`} ${whole(value)} ${interval}`,
    `${Math.round(value) === 1 ? 'was' : 'were'} within reach${read === lost ? '' : `, by a random ${whole(read)} of them`}`,
  ].join(' ');
  const spent = `${whole(evaluatorCalls)} ${evaluatorCalls === 1 ? 'call' : 'calls'}, ${whole(seconds)} s.`;
  if (Math.round(value) === 0) {
    return `${reach}: the team rarely solves these problems. ${spent}`;
  }
  const [first, ...others] = roles;
  if (first === undefined) {
    return `${reach}; more episodes must be read to say which role lost them. ${spent}`;
  }
  const losers = others
    .filter(({ share }) => share.value >= 0)
    .map(({ role, share }) => `the ${role} ${shareWords(share)}`);
  const helpers = others
    .filter(({ share }) => share.value < 0)
    .map(({ role, share }) => `The ${role} won some back (${shareWords(share)}).`);
  return [
    `${reach}.`,
    `The ${[`${first.role} lost ${shareWords(first.share)} of that`, ...losers].join(', ')}.`,
    ...helpers,
    spent,
  ].join(' ');
}

/** What losses are divided by, as a heading. */
export const divisionTitle = ({ by }: LossDivision): string =>
  ({
    turn: 'By message of a role',
    class: 'By class of the problem',
    label: 'By label of the message',
    level: 'By level of the problem',
    source: 'By source of the problem',
  })[by];

/** What was found of the episodes that were read, by their number. */
export const foundWords = ({ read, masked, decided, several, rarelySolved, undecided }: RunBlame): string =>
  [
    `Of ${whole(read)} episodes that were read: ${whole(decided)} lost by one message`,
    `${whole(several)} by several together`,
    `${whole(rarelySolved)} rarely solved by this team`,
    `${whole(undecided)} undecided${masked === 0 ? '' : `; ${whole(masked)} more could not be scored`}.`,
  ].join(', ');

const points = (value: number, most: number): string => signed((100 * value) / most, 0);

/** How the name of the file of a finding ends. */
export const FINDING_FILE = '.finding.yaml';

/**
 * What the team's chance at the place of a finding is now, beside what it was. Held: within a tenth of the range.
 * Fixed: higher. Worse: lower. Undecided: the draws do not say.
 */
export const FINDING_VERDICTS = ['worse', 'undecided', 'held', 'fixed'] as const;

export type FindingVerdict = (typeof FINDING_VERDICTS)[number];

/** What a finding may expect. */
export const EXPECTATIONS = ['held', 'fixed'] as const;

export type Expectation = (typeof EXPECTATIONS)[number];

/** How often episodes are drawn from the place of a finding. */
export const FINDING_DRAWS = { least: 20, usual: 100, most: 1000 } as const;

/** A mean difference of returns, now less then, with its 95 % interval, which holds at every look. */
export interface FindingDifference {
  readonly value: number;
  readonly low: number;
  readonly high: number;
  /** Draws that both sides have. */
  readonly n: number;
}

/** What the draws of one side came to. */
export interface DrawnSide {
  /** The mean return. */
  readonly value: number;
  /** How many said the message of the finding. */
  readonly said: number;
}

/** What checking a finding came to. */
export interface CheckedFinding {
  /** As it was named. */
  readonly file: string;
  readonly title: string;
  readonly verdict: FindingVerdict;
  readonly expect: Expectation;
  /** Whether the verdict is as good as the finding expects; null for undecided. */
  readonly passed: boolean | null;
  readonly difference: FindingDifference | null;
  readonly then: DrawnSide | null;
  readonly now: DrawnSide | null;
  /** What is not as it was when the finding was kept, one clause each: weights, context, machine. */
  readonly differs: readonly string[];
  readonly evaluatorCalls: number;
  readonly sentence: string;
  /** Why it could not be checked; null where it was. */
  readonly error: string | null;
}

/** What keeping a message came to. */
export interface KeptFinding {
  /** Absolute path. */
  readonly file: string;
  readonly title: string;
  readonly evaluatorCalls: number;
  readonly sentence: string;
}

/** Whether a verdict is as good as what is expected; null where it is undecided. */
export const passes = (verdict: FindingVerdict, expect: Expectation): boolean | null =>
  verdict === 'undecided' ? null : FINDING_VERDICTS.indexOf(verdict) >= FINDING_VERDICTS.indexOf(expect);

const share = (value: number, most: number): string => `${Math.round((100 * value) / most)} %`;

/** The outcome of a check in a sentence or two. @param most the highest return that there is */
export function checkSentence(
  { verdict, difference, then, now, differs }: Omit<CheckedFinding, 'sentence' | 'error' | 'file' | 'title'>,
  most: number,
): string {
  if (difference === null || then === null || now === null) {
    return 'Undecided: no draw could be scored.';
  }
  const { value, low, high, n } = difference;
  const name = `${verdict.slice(0, 1).toUpperCase()}${verdict.slice(1)}`;
  const fell = `the chance from here was ${share(then.value, most)} and is ${share(now.value, most)}`;
  const size = `${points(value, most)} points [${points(low, most)}, ${points(high, most)}] in ${n} draws`;
  const message = ` Its message was said in ${then.said} of them, and is in ${now.said}.`;
  const others = differs.length === 0 ? '' : ` Other than then: ${differs.join('; ')}.`;
  return `${name}: ${fell}, ${size}.${message}${others}`;
}

/** All checks in one line. */
export function checksSentence(findings: readonly CheckedFinding[]): string {
  const failed = findings.filter(({ passed }) => passed === false).length;
  const broken = findings.filter(({ error }) => error !== null).length;
  const counts = FINDING_VERDICTS.toReversed().flatMap((verdict) => {
    const count = findings.filter((one) => one.verdict === verdict && one.error === null).length;
    return count === 0 ? [] : [`${count} ${verdict}`];
  });
  const words = [...counts, ...(broken === 0 ? [] : [`${broken} could not be checked`])].join(', ');
  return `${findings.length} ${findings.length === 1 ? 'finding' : 'findings'}: ${words}.${failed === 0 ? '' : ` ${failed} worse than expected.`}`;
}
