/** Finds the episode of a message. */

/** Longer episodes are cut, because a transcript may be one very long chain. */
const MOST_MESSAGES = 1_000;

/** The fields of a message that are used. */
interface Said {
  readonly id: number;
  readonly phase: string;
  readonly iteration: number;
  readonly return: number | null;
}

/** The queries that read a store. */
interface EpisodeReader<Message> {
  /** Returns the path from the root to a message. */
  chain(message: number): readonly Message[];
  children(message: number): readonly Message[];
}

/** Returns the messages of the episode with a message; of several, the one with the least return. */
export function readEpisodeThrough<Message extends Said>(
  reader: EpisodeReader<Message>,
  id: number,
): readonly Message[] {
  const messages = [...reader.chain(id)];
  for (let last = messages.at(-1); last !== undefined && messages.length < MOST_MESSAGES;) {
    const { phase, iteration } = last;
    const below = reader.children(last.id).filter((child) => child.phase === phase && child.iteration === iteration);
    last = below.reduce<Message | undefined>(
      (least, child) => ((child.return ?? Infinity) < (least?.return ?? Infinity) ? child : least),
      below[0],
    );
    if (last !== undefined) {
      messages.push(last);
    }
  }
  return messages;
}
