/** Drafts: the unsent fields of the newest replay forms, one for each message. */

import {
  DRAFT_LIMITS,
  DRAFTS_LENGTH,
  MOST_DRAFTS,
  type ReplayDraft,
} from '../../../src/shared/protocols/replayDraft.ts';

/** The fields of a replay form. */
export type ReplayFields = Omit<ReplayDraft, 'message'>;

/**
 * Returns the drafts with this one for its message, oldest first. Drops the oldest drafts if there are
 * more than MOST_DRAFTS, or if their texts have more than DRAFTS_LENGTH characters in all.
 * @param fields null if the message has no draft
 */
export function addDraft(
  drafts: readonly ReplayDraft[],
  message: number,
  fields: ReplayFields | null,
): readonly ReplayDraft[] {
  const others = drafts.filter((draft) => draft.message !== message);
  if (fields === null) {
    return others;
  }
  const kept = [...others, { ...cutFields(fields), message }].slice(-MOST_DRAFTS);
  while (kept.reduce((sum, { text }) => sum + text.length, 0) > DRAFTS_LENGTH) {
    kept.shift();
  }
  return kept;
}

/** Returns true if the fields have their initial values. */
export function hasSameFields(fields: ReplayFields, offered: ReplayFields): boolean {
  return JSON.stringify(cutFields(fields)) === JSON.stringify(cutFields(offered));
}

/** Cuts the fields to the lengths that a state can hold. */
function cutFields({
  alternatives,
  replays,
  text,
  independent,
  snapshot,
  temperature,
  model,
}: ReplayFields): ReplayFields {
  const { number } = DRAFT_LIMITS;
  return {
    alternatives: alternatives.slice(0, number),
    replays: replays.slice(0, number),
    text: text.slice(0, DRAFT_LIMITS.text),
    independent,
    snapshot: snapshot === null ? null : snapshot.slice(0, DRAFT_LIMITS.snapshot),
    temperature: temperature.slice(0, number),
    model: model.slice(0, DRAFT_LIMITS.model),
  };
}
