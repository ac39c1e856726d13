/** Matches messages of a transcript with a filter. Pure. */

import { isLost, toOutcome, type ReturnScale } from '../../../shared/credit/returns.ts';
import type { TranscriptFilter } from '../../../shared/protocols/transcriptProtocol.ts';
import type { MessageFacts } from '../../../store/read/reader.ts';

/** Returns true if a filter accepts every message. */
export function isOpenFilter(filter: TranscriptFilter): boolean {
  return Object.values(filter).every((value) => value === null);
}

/**
 * Returns true if a message matches a filter.
 * @param scale the scale of its run's returns
 * @param replayed true if a replay request sampled it
 * @param labelled the messages with the label of the filter
 */
export function matchesFilter(
  filter: TranscriptFilter,
  { id, role, credit, return: value }: MessageFacts,
  scale: ReturnScale | null,
  replayed: boolean,
  labelled: ReadonlySet<number>,
): boolean {
  if (filter.lane !== null && (filter.lane === 'replays') !== replayed) {
    return false;
  }
  if (filter.role !== null && role !== filter.role) {
    return false;
  }
  if (filter.credit !== null && classifyCreditSign(credit) !== filter.credit) {
    return false;
  }
  if (filter.outcome !== null && !hasOutcome(value, filter.outcome, scale)) {
    return false;
  }
  return filter.label === null || labelled.has(id);
}

function classifyCreditSign(credit: number | null): NonNullable<TranscriptFilter['credit']> {
  if (credit === null) {
    return 'none';
  }
  return credit > 0 ? 'positive' : credit < 0 ? 'negative' : 'zero';
}

/** Returns true if the return of an episode, or the mean return of a message, has the outcome. */
function hasOutcome(
  value: number | null,
  outcome: NonNullable<TranscriptFilter['outcome']>,
  scale: ReturnScale | null,
): boolean {
  if (value === null || outcome === 'none') {
    return value === null && outcome === 'none';
  }
  return outcome === 'lost' ? isLost(value, scale) : toOutcome(value, scale) === outcome;
}
