/** An episode: the messages and events of one problem, up to a return. It was run here, or imported from a log. */

import { isRecord } from '../shared/guard.ts';
import { formatCounted } from '../shared/text/words.ts';

export type Phase = 'train' | 'evaluate' | 'replay';

/** One leaf: a path of messages from the root to a scored message. */
export interface NewEpisode {
  readonly run: string;
  readonly phase: Phase;
  readonly iteration: number;
  readonly problem: string;
  readonly leaf: number;
  /**
   * The score by the evaluator at the end of the episode, usually 0 or 1. For a message with several
   * episodes below it, their mean.
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
  /** The score of an evaluator: null if it is masked, absent if the message is not scored. */
  readonly reward?: number | null;
}

/** An event from outside the team: feedback, the result of a tool, a vote. */
export interface EnvironmentEvent {
  readonly kind: 'environment';
  /** The name of the environment. */
  readonly source: string;
  /** Empty if no role reads any of it. */
  readonly text: string;
  readonly json: Json;
  /** Texts to score instead of `text`: the reward is their mean, and 0 if there are none. */
  readonly answers?: readonly string[];
  /** The reason why the episode ends with this event, or null if it continues. */
  readonly done: string | null;
  /** True if a function of problem, log and stream recomputes it; false if it was only recorded. */
  readonly derived: boolean;
  /** The stream that the function drew from. */
  readonly streamKey: string;
  /** True for the event that closes the episode. */
  readonly closing: boolean;
  readonly reward?: number | null;
}

export type LogEvent = SaidEvent | EnvironmentEvent;

/**
 * Returns the text of an environment event that a role reads: the role's own text in `json.prompts`,
 * or else the text of the event.
 */
export function promptFor({ text, json }: Pick<EnvironmentEvent, 'text' | 'json'>, role: string): string {
  const prompts = isRecord(json) ? json['prompts'] : undefined;
  const own = isRecord(prompts) && Object.hasOwn(prompts, role) ? prompts[role] : undefined;
  return typeof own === 'string' ? own : text;
}

/**
 * Returns what an environment extracted from a role's newest message, such as the function in it. Null
 * if it found none; undefined if it did not look for any.
 */
export function readExtracted({ json }: Pick<EnvironmentEvent, 'json'>, role: string): string | null | undefined {
  const found = isRecord(json) ? json['extracted'] : undefined;
  const own = isRecord(found) && Object.hasOwn(found, role) ? found[role] : undefined;
  return typeof own === 'string' || own === null ? own : undefined;
}

/** Longest text of an environment event, in UTF-16 units. */
export const MAX_EVENT_TEXT = 16_384;

/** The rule of an episode whose return is the score that the user gave it. */
export const BY_HAND = 'scored by hand';

/** The method, weights, environment and scoring rule of a run whose messages come from a file. */
export const IMPORTED = 'imported';

/**
 * The source of a speaker's name. name: the log. prompt name: a name in the system prompt. system
 * prompt: one name for each system prompt. only speaker: the log has one speaker. renamed: the user.
 * further speakers: one name for all speakers above the limit of a team.
 */
export type SpeakerSource = 'name' | 'prompt name' | 'system prompt' | 'only speaker' | 'renamed' | 'further speakers';

export interface LogImport {
  readonly run: string;
  /** True if the same log is in the store already, so that nothing was stored. */
  readonly known: boolean;
  readonly format: string;
  readonly episodes: number;
  readonly messages: number;
  readonly events: number;
  /** Episodes with a score. */
  readonly scored: number;
  readonly speakers: readonly { readonly name: string; readonly by: SpeakerSource; readonly messages: number }[];
  readonly leftOut: Readonly<Record<string, number>>;
  /** Secret-like texts that were masked; null if masking was not requested. */
  readonly masked: number | null;
}

/** The result of recording a program. */
export interface Recorded {
  readonly report: LogImport;
  /** The exit code of the program, or the signal that ended it. */
  readonly ended: number | string;
  /** The fault in the new names of speakers, or null if there is none. All is stored in either case. */
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

/** Describes an import in lines: stored items, speakers with their sources, and what was left out. */
export function describeImport(report: LogImport): string[] {
  const { run, known, format, episodes, messages, events, scored, speakers, leftOut, masked } = report;
  const found = `${formatCounted(episodes, 'episode')} from ${format}, with ${formatCounted(messages, 'message')} and ${formatCounted(events, 'event')} from outside; ${scored} with a score.`;
  return [
    known
      ? `Run ${run} holds this log already; nothing was stored.`
      : episodes === 0
        ? 'Nothing was stored: no episode was found.'
        : `Run ${run}: ${found}`,
    ...speakers.map(({ name, by, messages: said }) => `  ${name}: ${formatCounted(said, 'message')}, ${BY[by]}`),
    ...Object.entries(leftOut).map(([reason, count]) => `Left out: ${reason}: ${count}.`),
    ...(masked === null
      ? []
      : [`Masked: ${formatCounted(masked, 'text')} that ${masked === 1 ? 'looks like a key' : 'look like keys'}.`]),
  ];
}

/** Writes a notification about an import: what was stored, and how much was left out. */
export function writeImportNotice(report: LogImport): string {
  const [first = ''] = describeImport(report);
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
