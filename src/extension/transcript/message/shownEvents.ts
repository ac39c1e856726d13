/** What environments added beside a message, as a page shows it. */
import { roundOf, type ProtocolGraph } from '../../../shared/transcript/protocolGraph.ts';
import type { ShownEvent, ShownEvents } from '../../../shared/transcript/shownEvents.ts';
import type { StoreReader } from '../../../store/read/reader.ts';

export type EventReader = Pick<StoreReader, 'environmentEvents' | 'message'>;

/**
 * The events before a message, and after one that ends its episode.
 * @param most characters of a text
 */
export function shownEvents(reader: EventReader, graph: ProtocolGraph | null, id: number, most: number): ShownEvents {
  const [before, after] = [reader.environmentEvents(id, 'before'), reader.environmentEvents(id, 'after')];
  const round = (message: number | null): number | null => {
    if (message === null || graph === null) {
      return null;
    }
    const { role, turn } = reader.message(message);
    return roundOf(graph, role, turn);
  };
  const shown = (events: typeof before, of: () => number | null): readonly ShownEvent[] => {
    // Most messages have none; what they follow is then not read.
    const number = events.length === 0 ? null : of();
    return events.map(({ event: { source, text, closing, derived, done, reward } }) => ({
      source,
      text: text.slice(0, most),
      round: number,
      closing,
      derived,
      done,
      reward: reward ?? null,
    }));
  };
  return { before: shown(before, () => round(reader.message(id).parent)), after: shown(after, () => round(id)) };
}
