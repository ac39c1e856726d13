/** What was begun in the replay forms of a transcript and not asked for yet: the newest few, one for each message. */
import {
  DRAFT_LIMITS,
  DRAFTS_LENGTH,
  MOST_DRAFTS,
  type ReplayDraft,
} from '../../../src/shared/protocols/replayDraft.ts';

/** What is in the fields of a replay form. */
export type ReplayFields = Omit<ReplayDraft, 'message'>;

/**
 * The drafts with this one for its message, oldest first. The oldest give way where there are more than MOST_DRAFTS, or
 * where their own messages have more than DRAFTS_LENGTH characters in all.
 * @param fields null where nothing is begun for the message
 */
export function withDraft(
  drafts: readonly ReplayDraft[],
  message: number,
  fields: ReplayFields | null,
): readonly ReplayDraft[] {
  const others = drafts.filter((draft) => draft.message !== message);
  if (fields === null) {
    return others;
  }
  const kept = [...others, { ...bounded(fields), message }].slice(-MOST_DRAFTS);
  while (kept.reduce((sum, { text }) => sum + text.length, 0) > DRAFTS_LENGTH) {
    kept.shift();
  }
  return kept;
}

/** Whether the fields are as they were offered. */
export function sameFields(fields: ReplayFields, offered: ReplayFields): boolean {
  return JSON.stringify(bounded(fields)) === JSON.stringify(bounded(offered));
}

/** The fields as a state can hold them: what is longer is cut. */
function bounded({
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
