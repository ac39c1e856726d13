/**
 * The log of an episode: an ordered, immutable list of events. A decision is a role's message; an environment event
 * comes from outside the policies.
 */
import { isRecord } from '../shared/guard.ts';
import type { Json } from './methodState.ts';

/** A role's message. */
export interface DecisionEvent {
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
  /** True where a function of instance, log and stream gives it again; false where it was recorded as it came. */
  readonly derived: boolean;
  /** The stream that its function drew from. */
  readonly streamKey: string;
  /** True for the event that closes the episode. */
  readonly closing: boolean;
  readonly reward?: number | null;
}

export type LogEvent = DecisionEvent | EnvironmentEvent;

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
