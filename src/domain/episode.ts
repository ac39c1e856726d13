/** An episode: the messages and events of one problem, to a return. It was run here, or imported from a log. */
import { isRecord } from '../shared/guard.ts';
import { counted } from '../shared/text/words.ts';

export type Phase = 'train' | 'evaluate' | 'replay';

/** One leaf: a path of messages from the root to a scored message. */
export interface NewEpisode {
  readonly run: string;
  readonly phase: Phase;
  readonly iteration: number;
  readonly problem: string;
  readonly leaf: number;
  /**
   * What the evaluator scored at the end of the episode, usually 0 or 1. For a message with several episodes below it,
   * their mean.
   * @term return
   */
  readonly return: number | null;
  readonly rule: string;
  readonly evaluatorCalls: number;
}

/**
 * The messages of a team on one problem, from its question to a return.
 * @term episode
 */
export interface Episode extends NewEpisode {
  readonly id: number;
  readonly question: string;
  readonly answer: string;
}

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** A role's message. */
export interface SaidEvent {
  readonly kind: 'decision';
  readonly position: number;
  readonly role: string;
  readonly text: string;
  /** What an evaluator gave it; null where that is masked, absent where the message is not scored. */
  readonly reward?: number | null;
}

/** What came from outside: feedback, the result of a tool, a vote. */
export interface EnvironmentEvent {
  readonly kind: 'environment';
  /** The name of the environment. */
  readonly source: string;
  /** Empty where no role is to read anything of it. */
  readonly text: string;
  readonly json: Json;
  /** What an evaluator scores instead of the text: the mean over these, and 0 where there are none. */
  readonly answers?: readonly string[];
  /** Why the episode ends with it; null where it continues. */
  readonly done: string | null;
  /** True where a function of problem, log and stream gives it again; false where it was recorded as it came. */
  readonly derived: boolean;
  /** The stream that its function drew from. */
  readonly streamKey: string;
  /** True for the event that closes the episode. */
  readonly closing: boolean;
  readonly reward?: number | null;
}

export type LogEvent = SaidEvent | EnvironmentEvent;

/**
 * What a role reads of an environment event: the text that `json.prompts` has for it, where it has texts of roles; else
 * the event's own.
 */
export function promptFor({ text, json }: Pick<EnvironmentEvent, 'text' | 'json'>, role: string): string {
  const prompts = isRecord(json) ? json['prompts'] : undefined;
  const own = isRecord(prompts) && Object.hasOwn(prompts, role) ? prompts[role] : undefined;
  return typeof own === 'string' ? own : text;
}

/**
 * What an environment took out of a role's newest message, as the function in it: null where there was none, undefined
 * where it looked for none.
 */
export function extractedOf({ json }: Pick<EnvironmentEvent, 'json'>, role: string): string | null | undefined {
  const found = isRecord(json) ? json['extracted'] : undefined;
  const own = isRecord(found) && Object.hasOwn(found, role) ? found[role] : undefined;
  return typeof own === 'string' || own === null ? own : undefined;
}

/** The longest text of an environment event. */
export const MAX_EVENT_TEXT = 16_384;

/** The rule of an episode whose return is the score that the user gave it, in words. */
export const BY_HAND = 'scored by hand';

/** What runs are called whose messages come from a file: their method, weights, environment and the rule of scores. */
export const IMPORTED = 'imported';

/**
 * Where the name of a speaker comes from. name: the log. prompt name: a name in the system prompt. system prompt: one
 * name for each system prompt. only speaker: the log has one. renamed: the user. further speakers: one name for all
 * speakers above the limit of a team.
 */
export type SpeakerSource = 'name' | 'prompt name' | 'system prompt' | 'only speaker' | 'renamed' | 'further speakers';

export interface LogImport {
  readonly run: string;
  /** True where the same log is in the store already, and nothing was stored. */
  readonly known: boolean;
  readonly format: string;
  readonly episodes: number;
  readonly messages: number;
  readonly events: number;
  /** Episodes with a score. */
  readonly scored: number;
  readonly speakers: readonly { readonly name: string; readonly by: SpeakerSource; readonly messages: number }[];
  readonly leftOut: Readonly<Record<string, number>>;
  /** Secret-like texts that were masked; null where nobody asked. */
  readonly masked: number | null;
}

/** What a program's recording came to. */
export interface Recorded {
  readonly report: LogImport;
  /** How the program ended: its exit code, or the signal that ended it. */
  readonly ended: number | string;
  /** What is wrong with the new names of speakers; null for nothing. All is stored in either case. */
  readonly fault: string | null;
}

const BY: Readonly<Record<SpeakerSource, string>> = {
  name: 'named by the log',
  'prompt name': 'named by its system prompt',
  'system prompt': 'recognized by its system prompt',
  'only speaker': 'the log names nobody',
  renamed: 'renamed by you',
  'further speakers': 'more than a team can have, taken together',
};

/** An import in lines: what was stored, who spoke and how sure that is, and what was left out. */
export function importLines(report: LogImport): string[] {
  const { run, known, format, episodes, messages, events, scored, speakers, leftOut, masked } = report;
  const found = `${counted(episodes, 'episode')} from ${format}, with ${counted(messages, 'message')} and ${counted(events, 'event')} from outside; ${scored} with a score.`;
  return [
    known
      ? `Run ${run} holds this log already; nothing was stored.`
      : episodes === 0
        ? 'Nothing was stored: no episode was found.'
        : `Run ${run}: ${found}`,
    ...speakers.map(({ name, by, messages: said }) => `  ${name}: ${counted(said, 'message')}, ${BY[by]}`),
    ...Object.entries(leftOut).map(([reason, count]) => `Left out: ${reason}: ${count}.`),
    ...(masked === null
      ? []
      : [`Masked: ${counted(masked, 'text')} that ${masked === 1 ? 'looks like a key' : 'look like keys'}.`]),
  ];
}

/** What a notification says of it: what was stored, and how much was left out. */
export function importNotice(report: LogImport): string {
  const [first = ''] = importLines(report);
  const reasons = Object.entries(report.leftOut);
  const [only, ...others] = reasons;
  if (only === undefined) {
    return first;
  }
  const total = reasons.reduce((sum, [, count]) => sum + count, 0);
  return others.length === 0
    ? `${first} Left out: ${only[0]}: ${only[1]}.`
    : `${first} Left out: ${total}, for ${reasons.length} reasons, which the log names.`;
}
