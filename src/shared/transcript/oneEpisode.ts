/** Finds the only episode of a stored message. */

/** Longer episodes are not followed, because a transcript may be one very long chain. */
const MOST_MESSAGES = 200;

/** The fields of a message that are used. */
interface Placed {
  readonly id: number;
  readonly phase: string;
  readonly iteration: number;
}

/** Returns its messages, or null if the message is in several episodes or in a very long one. */
export function readOnlyEpisode<Message extends Placed>(
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
