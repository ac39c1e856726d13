/** Which message of an episode has the lowest credit, or how to find out. */
import type { TranscriptTarget } from '../../shared/protocols/transcriptProtocol.ts';
import type { StoreReader } from '../../store/read/reader.ts';

/** The message to go to. */
export interface LowestCredit {
  readonly message: number;
  /** What it is: the lowest-credit message, or the clearest candidate only, where no interval lies below 0. */
  readonly words: string;
}

/** The lowest-credit message that a panel went to last. */
export class Costliest {
  /** It, and the message of whose episode it was: while it is selected, that episode is meant. */
  private last: { readonly message: number; readonly of: number | null } | null = null;

  /** As `costliestMessage`. @param selected null where none is */
  find(
    reader: Parameters<typeof costliestMessage>[0],
    target: TranscriptTarget,
    selected: number | null,
  ): LowestCredit | string {
    const of = this.last?.message === selected ? this.last.of : selected;
    const found = costliestMessage(reader, target, of);
    if (typeof found !== 'string') {
      this.last = { message: found.message, of };
    }
    return found;
  }
}

/**
 * The lowest-credit message of the episodes that go through a message, or of the whole transcript; where none is
 * decided, the clearest candidate.
 * @param chosen null where none is
 * @returns the message, or one sentence where there is none to go to
 */
export function costliestMessage(
  reader: Pick<StoreReader, 'costliestOf' | 'costliestThrough'>,
  target: TranscriptTarget,
  chosen: number | null,
): LowestCredit | string {
  const found = chosen === null ? reader.costliestOf(target) : reader.costliestThrough(chosen);
  const where = chosen === null ? 'transcript' : 'episode';
  if (found !== null) {
    return {
      message: found.message,
      words: found.decided
        ? `Lowest-credit message of this ${where}.`
        : `Clearest candidate of this ${where}; no message is known to have hurt.`,
    };
  }
  return `No message of this ${where} has a credit that is below 0 or undecided: choose one and replay its alternatives (R in the message tree) to measure what it was worth.`;
}
