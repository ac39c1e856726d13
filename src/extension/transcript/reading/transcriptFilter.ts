/** Which messages of a transcript match a filter. Pure. */
import type { TranscriptFilter } from '../../../shared/protocols/transcriptProtocol.ts';
import type { MessageFacts } from '../../../store/read/reader.ts';

/** Whether a filter lets everything through. */
export function isOpen(filter: TranscriptFilter): boolean {
  return Object.values(filter).every((value) => value === null);
}

/**
 * Whether a message matches a filter.
 * @param replayed whether a replay request sampled it
 * @param labelled the messages that have the label that the filter asks for
 */
export function matches(
  filter: TranscriptFilter,
  { id, eventType, credit, return: value }: MessageFacts,
  replayed: boolean,
  labelled: ReadonlySet<number>,
): boolean {
  if (filter.lane !== null && (filter.lane === 'replays') !== replayed) {
    return false;
  }
  if (filter.role !== null && eventType !== filter.role) {
    return false;
  }
  if (filter.credit !== null && signOf(credit) !== filter.credit) {
    return false;
  }
  if (filter.outcome !== null && outcomeOf(value) !== filter.outcome) {
    return false;
  }
  return filter.label === null || labelled.has(id);
}

function signOf(credit: number | null): NonNullable<TranscriptFilter['credit']> {
  if (credit === null) {
    return 'none';
  }
  return credit > 0 ? 'positive' : credit < 0 ? 'negative' : 'zero';
}

/** How an episode, or a message by the mean of its episodes, ended. */
export function outcomeOf(value: number | null): NonNullable<TranscriptFilter['outcome']> {
  if (value === null) {
    return 'none';
  }
  return value >= 1 ? 'won' : value <= 0 ? 'lost' : 'between';
}
