/** Reads the reason for an answer's end, as servers and libraries write it. */

import { isRecord } from '../shared/guard.ts';
import { textAt, type Fields } from './fields.ts';

const KEYS = ['finish_reason', 'finishReason', 'stop_reason', 'stopReason', 'done_reason'] as const;

/** The words of servers and libraries for an answer that a limit cut off. */
const LENGTH: ReadonlySet<string> = new Set([
  'length',
  'max_tokens',
  'max_output_tokens',
  'max_completion_tokens',
  'max_length',
  'model_length',
  'model_context_window_exceeded',
  'token_limit',
  'limit',
  'incomplete',
]);

/** Returns the reason for an answer's end, in the server's own word, or null. */
export function readFinishReason(holder: Fields): string | null {
  for (const key of KEYS) {
    const value = Object.hasOwn(holder, key) ? holder[key] : undefined;
    if (value === undefined) {
      continue;
    }
    // SGLang's own form is an object. DashScope writes the word "null" until the end.
    const word = isRecord(value) ? textAt(value, 'type', 'reason') : textAt(holder, key);
    if (word !== null && word.trim() !== '' && word.toLowerCase() !== 'null') {
      return word;
    }
  }
  return null;
}

/**
 * Returns whether an answer ended by itself or at a limit.
 * @param reason the server's word; an unknown word counts as an end
 */
export const toFinish = (reason: unknown): 'end' | 'length' =>
  typeof reason === 'string' && LENGTH.has(reason.toLowerCase()) ? 'length' : 'end';
