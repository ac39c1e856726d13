/** Parses the numbers of a replay and describes replays in words. */

import { TEMPERATURE, type OfferedSnapshot } from '../../../src/domain/replay.ts';
import { isDecided, type Headline } from '../../../src/shared/credit/headline.ts';
import type { Replays, ReplayState, TranscriptLayout } from '../../../src/shared/protocols/transcriptProtocol.ts';
import { count, plural } from '../../common/format.ts';

/** Describes a number of replays: `12 replays in 3 requests`. */
export function describeReplayCount({ replays, requests }: Replays): string {
  return `${plural(replays, 'replay')} in ${plural(requests, 'request')}`;
}

/** Describes the size of a transcript: `10 messages · 12 replays in 3 requests`. */
export function describeTranscriptSize({
  messages,
  replayed,
}: Pick<TranscriptLayout, 'messages' | 'replayed'>): string {
  return [plural(messages, 'message'), ...(replayed.requests === 0 ? [] : [describeReplayCount(replayed)])].join(' · ');
}

/** Describes the messages that match a filter: `4 of 10 messages, 3 of 77 replayed`. */
export function describeMatching({
  messages,
  matching,
  replayed,
}: Pick<TranscriptLayout, 'messages' | 'matching' | 'replayed'>): string {
  const further =
    replayed.messages === 0 ? '' : `, ${count(replayed.matching)} of ${count(replayed.messages)} replayed`;
  return `${count(matching)} of ${count(messages)} messages${further}`;
}

/** Returns the mean of the returns that are not null, or null if there are none. */
export function computeScoredMean(returns: readonly (number | null)[]): number | null {
  const scored = returns.filter((value) => value !== null);
  return scored.length === 0 ? null : scored.reduce((sum, value) => sum + value, 0) / scored.length;
}

/** Parses a whole number. Returns a sentence about the error if it is invalid. */
export function parseCount(name: string, value: string, low: number, high: number): number | string {
  const trimmed = value.trim();
  const number = Number(trimmed);
  if (/^\d+$/u.test(trimmed) && number >= low && number <= high) {
    return number;
  }
  return `${name}: a whole number from ${low} to ${high}.`;
}

/** Parses a temperature. Returns null for an empty field, or a sentence about an error. */
export function parseTemperature(value: string): number | null | string {
  const trimmed = value.trim();
  if (trimmed === '') {
    return null;
  }
  const number = Number(trimmed);
  // A decimal comma is refused, not read as another number.
  if (/^\d*\.?\d+$/u.test(trimmed) && number >= TEMPERATURE.low && number <= TEMPERATURE.high) {
    return number;
  }
  return `Temperature: a number from ${TEMPERATURE.low} to ${TEMPERATURE.high}.`;
}

/** Labels a snapshot: `Step 3 · 0123456789ab`, with a note if its weights must be rebuilt. */
export function labelSnapshot({ id, step, kept }: OfferedSnapshot): string {
  return `${step === 0 ? 'Before training' : `Step ${step}`} · ${id.slice(0, 12)}${kept ? '' : ' (rebuilt first)'}`;
}

/** Returns the label of the button that settles a credit. */
export function labelSettleButton(replays: number): string {
  return `Settle with about ${plural(replays, 'replay')}`;
}

/** Describes the progress or the end of settling a message's credit; empty if there is nothing to say. */
export function describeSettleProgress(state: ReplayState | null, credit: Pick<Headline, 'verdict'> | null): string {
  if (state === null || state.settle === null) {
    return '';
  }
  const { status, done, settle } = state;
  const spent = plural(settle.spent ?? done, 'replay');
  switch (status) {
    case 'running':
      return done === 0 ? 'Preparing' : `${count(done)} of at most ${plural(settle.most, 'replay')}`;
    case 'cancelled':
      return `Cancelled after ${spent}; finished replays are kept.`;
    case 'failed':
      return '';
    case 'done':
      return credit !== null && isDecided(credit) ? `Settled with ${spent}.` : `Still undecided after ${spent}.`;
  }
}

/**
 * Describes the progress of a replay; empty if there is nothing to say.
 * @param here true if the replay is of the message on screen
 */
export function describeReplayProgress(state: ReplayState | null, here: boolean): string {
  if (state?.status === 'cancelled' && here && state.total > 0 && state.done === state.total) {
    return 'Verification was cancelled; all replays are kept.';
  }
  if (state?.status === 'cancelled' && here) {
    return `Cancelled after ${count(state.done)} of ${count(state.total)}; finished replays are kept.`;
  }
  if (state?.status !== 'running') {
    return '';
  }
  const words =
    state.total === 0
      ? 'Preparing'
      : state.done === state.total
        ? 'Verifying replays'
        : `${count(state.done)} of ${count(state.total)}`;
  return here ? words : `Another message is being replayed: ${words}`;
}
