/** Which message of an episode lost it, as the engine answers, and the answer in words. Pure. */

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

/** The bounds of a search's budget and its default, in evaluator calls. */
export const BLAME_BUDGET = { least: 1, usual: 96, most: 100_000 } as const;

const percent = (value: number, most: number): string => String(Math.round((100 * value) / most));

/** `81 % [70, 89]`. */
export function chanceWords({ value, low, high, n }: Chance, most: number): string {
  return `${percent(value, most)} %${n === 0 ? '' : ` [${percent(low, most)}, ${percent(high, most)}]`}`;
}

/** `plan`, `plan and answer`, `plan, check and answer`. */
function listed(names: readonly string[]): string {
  return names.length < 2 ? (names[0] ?? '') : `${names.slice(0, -1).join(', ')} and ${names.at(-1) ?? ''}`;
}

/** A role, and which of its messages where it has several. */
function namesOf(curve: readonly CurvePoint[], messages: readonly number[]): string[] {
  return messages.map((message) => {
    const { role } = curve.find((point) => point.message === message) ?? {};
    const own = curve.filter((point) => point.role === role);
    const turn = own.findIndex((point) => point.message === message) + 1;
    return own.length < 2 ? (role ?? '') : `${role ?? ''} (message ${String(turn)} of ${String(own.length)})`;
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
