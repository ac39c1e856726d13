/** From a message to the episode that it is part of. */

/** Longer episodes are cut: a transcript may be one chain without end. */
const MOST_MESSAGES = 1_000;

/** What is looked at of a message. */
interface Said {
  readonly id: number;
  readonly phase: string;
  readonly iteration: number;
  readonly return: number | null;
}

/** What is read of a store. */
interface EpisodeReader<Message> {
  /** The path from the root to a message. */
  chain(message: number): readonly Message[];
  children(message: number): readonly Message[];
}

/** The messages of the episode that goes through a message; of several, the one that returned least. */
export function episodeThrough<Message extends Said>(reader: EpisodeReader<Message>, id: number): readonly Message[] {
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
