/** Answers: the message that lost an episode, the losses of a run, and checks of findings; also as sentences. */

import { isRecord } from '../shared/guard.ts';
import { formatPoints } from '../shared/text/figures.ts';
import type { Interval } from './credit.ts';
import { describeSelection, type Selection } from './selection.ts';

/**
 * message: one message lost more than any other. several: more than one message lost, and none is
 * known to have lost more than the others. rare: the team rarely solves the problem, whatever the
 * message. undecided: the budget did not decide. won: nothing was lost, because the episode succeeded
 * or returned more than the team does on average.
 */
export const BLAME_VERDICTS = ['message', 'several', 'rare', 'undecided', 'won'] as const;

export type BlameVerdict = (typeof BLAME_VERDICTS)[number];

/** An expected return with its 95 % interval, which holds at every look. */
export interface Chance {
  readonly value: number;
  readonly low: number;
  readonly high: number;
  /** Continuations that were counted; 0 if the value is known, as for the recorded return. */
  readonly n: number;
}

/** A point of the curve: the mean return of the team from here on. */
export interface CurvePoint extends Chance {
  /** The message that was just said, or null before the first. */
  readonly message: number | null;
  readonly role: string | null;
  /**
   * The change by this message: the mean over pairs of it and a fresh message on the same random
   * numbers. Null before the first message.
   */
  readonly drop: Chance | null;
}

/** A better message in the place of the one that lost the episode. */
export interface Remedy {
  readonly text: string;
  /** The number of fresh messages with this text. */
  readonly said: number;
  /** The number of all fresh messages. */
  readonly of: number;
  /** Mean return of this text. */
  readonly value: number;
}

/** The result of a search for the message that lost an episode. */
export interface Blame {
  /** The last message of the episode, which identifies it. */
  readonly episode: number;
  readonly verdict: BlameVerdict;
  /** The message that lost the episode, or null if none is named. */
  readonly message: number | null;
  /** The messages that the sentence names: one, several, or the undecided ones. */
  readonly messages: readonly number[];
  /** Before the first message, then after each. */
  readonly curve: readonly CurvePoint[];
  readonly remedy: Remedy | null;
  /** Calls that this search spent. */
  readonly evaluatorCalls: number;
  /** Approximate number of further calls that would decide, or null if unknown. */
  readonly more: number | null;
  /** The highest possible return: returns are shown as a share of it. */
  readonly most: number;
  readonly sentence: string;
}

/** The end of the sentence of an episode that was decided together with the others of its run. */
export const READ_TOGETHER = " Read together with the run's other lost episodes.";

/** A lost episode in the answer about a run. */
export interface BlamedEpisode {
  readonly episode: number;
  readonly verdict: BlameVerdict;
  /** The message that lost the episode, its role, and its change; null if none is named. */
  readonly message: number | null;
  readonly role: string | null;
  readonly drop: number | null;
  /** The chance before the first message. */
  readonly start: Chance | null;
  readonly question: string;
  readonly sentence: string;
}

/** The losses of a role. */
export interface RoleLosses {
  readonly role: string;
  /** Share of the role in what was within reach; negative if its messages raised the chance on balance. */
  readonly share: Interval;
  /** Episodes that a message of the role lost. */
  readonly episodes: number;
}

/**
 * The ways to divide losses in addition to roles. turn: which of a role's messages it was. class: the
 * taxonomy class of the problem. label: the user's label of the message. level, source: fields of the
 * problem in the data set.
 */
export const LOSS_DIVISIONS = ['turn', 'class', 'label', 'level', 'source'] as const;

/** The losses of the messages of one turn or label, or of the episodes of one class, level or source. */
export interface LossPart {
  readonly name: string;
  /** Share of the part in what was within reach. */
  readonly share: Interval;
  /** Episodes in which one message is named. For a turn, the message of that turn is the named one. */
  readonly episodes: number;
}

export interface LossDivision {
  readonly by: (typeof LOSS_DIVISIONS)[number];
  /** At least two parts, the largest share first. */
  readonly parts: readonly LossPart[];
}

/** The losses of the episodes of a run. */
export interface RunBlame {
  readonly run: string;
  /** The selection of lost episodes that was asked for; absent for all of them. */
  readonly only?: Selection;
  /** Lost episodes of the last evaluation, or of a recording, that can be searched. */
  readonly lost: number;
  /** Further lost episodes that have too many messages for a search. */
  readonly tooLong: number;
  /** Episodes that were read: a random part if the budget did not suffice for all. */
  readonly read: number;
  /** Further episodes that were due, but whose replays could not all be scored. */
  readonly masked: number;
  /**
   * The number of lost episodes that the team would win on average if it tried them again: the sum of
   * their chances of success.
   * @term withinReach within reach
   */
  readonly withinReach: Interval;
  /** The largest share first; empty if possibly nothing was within reach. */
  readonly roles: readonly RoleLosses[];
  /** The same sum divided in other ways, without divisions that add nothing. Old saved answers have none. */
  readonly divisions?: readonly LossDivision[];
  /** Numbers of episodes that were read, by result: one message lost it, several did, and so on. */
  readonly decided: number;
  readonly several: number;
  readonly undecided: number;
  readonly rarelySolved: number;
  /** Episodes that returned more than the team does on average. Old saved answers do not have it. */
  readonly nothingLost?: number;
  /** Episodes in which a message is named, the largest fall first. */
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

/** Returns true if the value is a list of shares, each with its name. */
const areShares = (value: unknown, name: 'role' | 'name'): boolean =>
  Array.isArray(value) &&
  value.every(
    (one: unknown) =>
      isRecord(one) && typeof one[name] === 'string' && typeof one['episodes'] === 'number' && isInterval(one['share']),
  );

const isDivision = (value: unknown): value is LossDivision =>
  isRecord(value) && LOSS_DIVISIONS.some((by) => by === value['by']) && areShares(value['parts'], 'name');

/** Returns true if a value that was kept elsewhere can be shown as the answer about a whole run. */
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

/** Bounds and default of the budget of a search, in evaluator calls. */
export const BLAME_BUDGET = { least: 1, usual: 96, most: 100_000 } as const;

/** The same for a run; `window` is the default in the editor. */
export const RUN_BLAME_BUDGET = { least: 1, usual: 6400, most: 10_000_000, window: 1600 } as const;

/** Describes the progress of a search. */
export const describeCallProgress = (calls: number, budget: number): string =>
  `${calls.toLocaleString('en-US')} of at most ${budget.toLocaleString('en-US')} calls`;

const percent = (value: number, most: number): string => String(Math.round((100 * value) / most));

/** `81 % [70, 89]`. */
export function formatChance({ value, low, high, n }: Chance, most: number): string {
  return `${percent(value, most)} %${n === 0 ? '' : ` [${percent(low, most)}, ${percent(high, most)}]`}`;
}

/** `plan`, `plan and answer`, `plan, check and answer`. */
export function joinNamesWithAnd(names: readonly string[]): string {
  return names.length < 2 ? (names[0] ?? '') : `${names.slice(0, -1).join(', ')} and ${names.at(-1) ?? ''}`;
}

/** Names each message by its role, and by its number if the role has several. */
function nameBlamedMessages(curve: readonly CurvePoint[], messages: readonly number[]): string[] {
  return messages.map((message) => {
    const { role } = curve.find((point) => point.message === message) ?? {};
    const own = curve.filter((point) => point.role === role);
    const turn = own.findIndex((point) => point.message === message) + 1;
    return own.length < 2 ? (role ?? '') : `${role ?? ''} (message ${turn} of ${own.length})`;
  });
}

const capital = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1);

/** Writes the answer in one sentence. */
export function writeBlameSentence({
  verdict,
  messages,
  curve,
  evaluatorCalls,
  more,
  most,
}: Omit<Blame, 'sentence' | 'remedy'>): string {
  const spent = `${evaluatorCalls.toLocaleString('en-US')} ${evaluatorCalls === 1 ? 'call' : 'calls'}.`;
  const names = nameBlamedMessages(curve, messages);
  const [start] = curve;
  switch (verdict) {
    case 'won': {
      const end = curve.at(-1)?.value ?? most;
      return start !== undefined && start.n > 0 && start.high < end && end < most
        ? `The episode returned ${percent(end, most)} %, more than the team does on average ` +
            `(${formatChance(start, most)}): no message lost it. ${spent}`
        : 'The episode was not lost: choose a message of one that was.';
    }
    case 'rare':
      return `The team rarely solves this problem (${start === undefined ? '' : formatChance(start, most)} at the start): no message decided it. ${spent}`;
    case 'message': {
      const at = curve.findIndex(({ message }) => message === messages[0]);
      const [before, after] = [curve[at - 1], curve[at]];
      const fall =
        before === undefined || after === undefined
          ? ''
          : `: the chance of success fell from ${formatChance(before, most)} to ${formatChance(after, most)}`;
      return `The ${names[0] ?? 'message'} lost it${fall}. ${spent}`;
    }
    case 'several':
      return `${capital(joinNamesWithAnd(names))} lost it together. ${spent}`;
    case 'undecided':
      return `Undecided between ${joinNamesWithAnd(names)}${more === null ? '' : `; about ${more.toLocaleString('en-US')} more calls`}. The chance was ${start === undefined || start.n === 0 ? 'not measured' : formatChance(start, most)} at the start. ${spent}`;
  }
}

const whole = (value: number): string => Math.round(value).toLocaleString('en-US');

/** `58 % [49, 66]`. */
export function formatLossShare({ value, low, high }: Interval): string {
  const bounds = low === null || high === null ? '' : ` [${percent(low, 1)}, ${percent(high, 1)}]`;
  return `${percent(value, 1)} %${bounds}`;
}

/** Writes the answer about a run in a few sentences. */
export function writeRunBlameSentence(blame: Omit<RunBlame, 'sentence'>): string {
  const longer =
    blame.tooLong === 0
      ? []
      : [
          `${whole(blame.tooLong)} lost ${blame.tooLong === 1 ? 'episode has' : 'episodes have'} too many messages to be searched.`,
        ];
  return [...longer, writeSearchedSentence(blame)].join(' ');
}

function writeSearchedSentence({
  only = [],
  lost,
  tooLong,
  read,
  withinReach,
  roles,
  rarelySolved,
  nothingLost = 0,
  evaluatorCalls,
  seconds,
}: Omit<RunBlame, 'sentence'>): string {
  if (lost === 0) {
    return `No ${tooLong === 0 ? '' : 'other '}episode of the last evaluation was lost.`;
  }
  const { value, low, high } = withinReach;
  const interval = `[${whole(low ?? 0)}, ${whole(high ?? lost)}]`;
  const reach = [
    `Of ${whole(lost)} lost ${lost === 1 ? 'episode' : 'episodes'}${only.length === 0 ? '' : ` (${describeSelection(only)})`} ${whole(value)} ${interval}`,
    `${Math.round(value) === 1 ? 'was' : 'were'} within reach${read === lost ? '' : `, by a random ${whole(read)} of them`}`,
  ].join(' ');
  const spent = `${whole(evaluatorCalls)} ${evaluatorCalls === 1 ? 'call' : 'calls'}, ${whole(seconds)} s.`;
  if (Math.round(value) === 0) {
    const reason =
      nothingLost > rarelySolved
        ? 'they returned as much as the team does on average, or more'
        : rarelySolved > 0
          ? 'the team rarely solves these problems'
          : 'a larger budget must say why';
    return `${reach}: ${reason}. ${spent}`;
  }
  const [first, ...others] = roles;
  if (first === undefined) {
    return `${reach}; more episodes must be read to say which role lost them. ${spent}`;
  }
  const losers = others
    .filter(({ share }) => share.value >= 0)
    .map(({ role, share }) => `the ${role} ${formatLossShare(share)}`);
  const helpers = others
    .filter(({ share }) => share.value < 0)
    .map(({ role, share }) => `The ${role} won some back (${formatLossShare(share)}).`);
  return [
    `${reach}.`,
    `The ${[`${first.role} lost ${formatLossShare(first.share)} of that`, ...losers].join(', ')}.`,
    ...helpers,
    spent,
  ].join(' ');
}

/** Returns the sentences of cases. If all end with READ_TOGETHER, they are `together` and it is left out. */
export function listCaseSentences(cases: readonly BlamedEpisode[]): {
  readonly together: boolean;
  readonly sentences: readonly string[];
} {
  const together = cases.length > 0 && cases.every(({ sentence }) => sentence.endsWith(READ_TOGETHER));
  return {
    together,
    sentences: cases.map(({ sentence }) => (together ? sentence.slice(0, -READ_TOGETHER.length) : sentence)),
  };
}

/** Returns the heading of a division of losses. */
export const divisionTitle = ({ by }: LossDivision): string =>
  ({
    turn: 'By message of a role',
    class: 'By class of the problem',
    label: 'By label of the message',
    level: 'By level of the problem',
    source: 'By source of the problem',
  })[by];

/** Describes the results for the episodes that were read, with their numbers. */
export const describeReadEpisodes = ({
  read,
  masked,
  decided,
  several,
  rarelySolved,
  nothingLost = 0,
  undecided,
}: RunBlame): string =>
  [
    `Of ${whole(read)} episodes that were read: ${whole(decided)} lost by one message`,
    `${whole(several)} by several together`,
    `${whole(rarelySolved)} rarely solved by this team`,
    ...(nothingLost === 0 ? [] : [`${whole(nothingLost)} better than the team on average`]),
    `${whole(undecided)} undecided${masked === 0 ? '' : `; ${whole(masked)} more could not be scored`}.`,
  ].join(', ');

/** The file name extension of a finding. */
export const FINDING_FILE = '.finding.yaml';

/**
 * The team's chance at the place of a finding now, compared with its chance when the finding was kept.
 * held: within a tenth of the range. fixed: higher. worse: lower. undecided: the draws do not tell.
 */
export const FINDING_VERDICTS = ['worse', 'undecided', 'held', 'fixed'] as const;

export type FindingVerdict = (typeof FINDING_VERDICTS)[number];

/** The verdicts that a finding may expect. */
export const EXPECTATIONS = ['held', 'fixed'] as const;

export type Expectation = (typeof EXPECTATIONS)[number];

/** Bounds and default of the number of episodes that are drawn from the place of a finding. */
export const FINDING_DRAWS = { least: 20, usual: 100, most: 1000 } as const;

/** A mean difference of returns, now minus then, with its 95 % interval, which holds at every look. */
export interface FindingDifference {
  readonly value: number;
  readonly low: number;
  readonly high: number;
  /** Draws that both sides have. */
  readonly n: number;
}

/** The draws of one side. */
export interface DrawnSide {
  /** Mean return. */
  readonly value: number;
  /** Draws that said the message of the finding. */
  readonly said: number;
}

/** The result of a check of a finding. */
export interface CheckedFinding {
  /** The file as the user named it. */
  readonly file: string;
  readonly title: string;
  readonly verdict: FindingVerdict;
  readonly expect: Expectation;
  /** True if the verdict is as good as the finding expects; null if it is undecided. */
  readonly passed: boolean | null;
  readonly difference: FindingDifference | null;
  readonly then: DrawnSide | null;
  readonly now: DrawnSide | null;
  /** One clause for each difference from when the finding was kept: weights, context, machine. */
  readonly differs: readonly string[];
  readonly evaluatorCalls: number;
  readonly sentence: string;
  /** The reason why the finding could not be checked, or null if it was checked. */
  readonly error: string | null;
}

/** A message that was kept as a finding. */
export interface KeptFinding {
  /** Absolute path. */
  readonly file: string;
  readonly title: string;
  readonly evaluatorCalls: number;
  readonly sentence: string;
}

/** Returns true if a verdict is as good as the expected one, or null if it is undecided. */
export const isAsExpected = (verdict: FindingVerdict, expect: Expectation): boolean | null =>
  verdict === 'undecided' ? null : FINDING_VERDICTS.indexOf(verdict) >= FINDING_VERDICTS.indexOf(expect);

const share = (value: number, most: number): string => `${Math.round((100 * value) / most)} %`;

/** Writes the result of a check in a sentence or two. @param most the highest possible return */
export function writeCheckSentence(
  { verdict, difference, then, now, differs }: Omit<CheckedFinding, 'sentence' | 'error' | 'file' | 'title'>,
  most: number,
): string {
  if (difference === null || then === null || now === null) {
    return 'Undecided: no draw could be scored.';
  }
  const { value, low, high, n } = difference;
  const name = `${verdict.slice(0, 1).toUpperCase()}${verdict.slice(1)}`;
  const fell = `the chance from here was ${share(then.value, most)} and is ${share(now.value, most)}`;
  const bounds = `[${formatPoints(low, most)}, ${formatPoints(high, most)}]`;
  const size = `${formatPoints(value, most)} points ${bounds} in ${n} draws`;
  const message = ` Its message was said in ${then.said} of them, and is in ${now.said}.`;
  const others = differs.length === 0 ? '' : ` Changed since then: ${differs.join('; ')}.`;
  return `${name}: ${fell}, ${size}.${message}${others}`;
}

/** Describes all checks in one line. */
export function writeChecksSentence(findings: readonly CheckedFinding[]): string {
  const failed = findings.filter(({ passed }) => passed === false).length;
  const broken = findings.filter(({ error }) => error !== null).length;
  const counts = FINDING_VERDICTS.toReversed().flatMap((verdict) => {
    const count = findings.filter((one) => one.verdict === verdict && one.error === null).length;
    return count === 0 ? [] : [`${count} ${verdict}`];
  });
  const words = [...counts, ...(broken === 0 ? [] : [`${broken} could not be checked`])].join(', ');
  return `${findings.length} ${findings.length === 1 ? 'finding' : 'findings'}: ${words}.${failed === 0 ? '' : ` ${failed} worse than expected.`}`;
}
