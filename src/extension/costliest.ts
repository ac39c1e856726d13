/** Which message lost an episode: the one with the smallest credit, or how to find out. */
import { signed } from '../shared/figures.ts';
import type { TranscriptTarget } from '../shared/transcriptProtocol.ts';
import type { StoreReader } from '../store/reader.ts';

/**
 * The message that cost the most, of the episodes that go through a message, or of the whole transcript.
 * @param chosen null where none is
 * @returns the message, or one sentence where there is none to go to
 */
export function costliestMessage(reader: Pick<StoreReader, 'costliestOf' | 'costliestThrough'>, target: TranscriptTarget, chosen: number | null): number | string {
  const found = chosen === null ? reader.costliestOf(target) : reader.costliestThrough(chosen);
  const where = chosen === null ? 'transcript' : 'episode';
  if (found === null) return `No message of this ${where} has a credit yet: choose one and replay its alternatives (R in the message tree) to measure what it was worth.`;
  return found.value < 0 ? found.message : `No message of this ${where} cost anything: the smallest credit that was measured is ${signed(found.value, 2)}.`;
}
