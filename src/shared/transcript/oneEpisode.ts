/** The one episode that a stored message is part of. */

/** Longer episodes are not followed: a transcript may be one chain without end. */
const MOST_MESSAGES = 200;

/** What it asks of a message. */
interface Placed {
  readonly id: number;
  readonly phase: string;
  readonly iteration: number;
}

/** Its messages, in order; null where the message is part of several episodes, or of one that is very long. */
export function oneEpisode<Message extends Placed>(
  reader: { readonly chain: (id: number) => readonly Message[]; readonly children: (id: number) => readonly Message[] },
  id: number,
): readonly Message[] | null {
  const messages = [...reader.chain(id)];
  for (let last = messages.at(-1); last !== undefined; last = messages.at(-1)) {
    const { phase, iteration } = last;
    const [next, ...others] = reader
      .children(last.id)
      .filter((child) => child.phase === phase && child.iteration === iteration);
    if (next === undefined) {
      return messages;
    }
    if (others.length > 0 || messages.length >= MOST_MESSAGES) {
      return null;
    }
    messages.push(next);
  }
  return null;
}
