/** Replay forms that are begun: what a page keeps of them across a reload. */
import { integer, literal, nullable, object, text, TEXT_LIMIT, type Guarded } from '../guard.ts';

/**
 * Replay forms that are kept while they are half filled in, and the characters of all their own messages: as many as
 * the longest that can be replayed.
 */
export const MOST_DRAFTS = 8;
export const DRAFTS_LENGTH = TEXT_LIMIT;
/** Longest values of a form's fields. */
export const DRAFT_LIMITS = { number: 20, text: TEXT_LIMIT, snapshot: 64, model: 4096 } as const;

/** What is in the replay form of a message, as it was typed: it may be wrong. */
export const isReplayDraft = object({
  message: integer(),
  alternatives: text(DRAFT_LIMITS.number),
  replays: text(DRAFT_LIMITS.number),
  text: text(DRAFT_LIMITS.text),
  independent: literal(true, false),
  /** What it is continued with; null and empty are as recorded. */
  snapshot: nullable(text(DRAFT_LIMITS.snapshot)),
  temperature: text(DRAFT_LIMITS.number),
  model: text(DRAFT_LIMITS.model),
});
export type ReplayDraft = Guarded<typeof isReplayDraft>;
