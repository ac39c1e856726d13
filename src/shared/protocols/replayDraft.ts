/** Drafts of replay forms, which a page keeps across a reload. */

import { integer, literal, nullable, object, text, TEXT_LIMIT, type Guarded } from '../guard.ts';

/**
 * The most drafts that are kept, and the most characters of all their texts together: as many as in
 * the longest text that can be replayed.
 */
export const MOST_DRAFTS = 8;
export const DRAFTS_LENGTH = TEXT_LIMIT;
/** Longest values of a form's fields. */
export const DRAFT_LIMITS = { number: 20, text: TEXT_LIMIT, snapshot: 64, model: 4096 } as const;

/** The content of the replay form of a message as it was typed; it may be invalid. */
export const isReplayDraft = object({
  message: integer(),
  alternatives: text(DRAFT_LIMITS.number),
  replays: text(DRAFT_LIMITS.number),
  text: text(DRAFT_LIMITS.text),
  independent: literal(true, false),
  /** Choices for the continuations; null and empty are as recorded. */
  snapshot: nullable(text(DRAFT_LIMITS.snapshot)),
  temperature: text(DRAFT_LIMITS.number),
  model: text(DRAFT_LIMITS.model),
});
export type ReplayDraft = Guarded<typeof isReplayDraft>;
