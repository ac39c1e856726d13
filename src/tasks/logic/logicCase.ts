/** The parts of a question of the logic task. */

import type { HashedStream } from '../hashedStream.ts';

export interface LogicCase {
  /** The rules and facts, as sentences. */
  readonly premises: string;
  readonly asked: string;
  /** The option that follows. */
  readonly right: string;
  /** Three different options that do not follow. */
  readonly wrong: readonly string[];
  /** The steps of a careful answer, in order. */
  readonly steps: readonly string[];
}

/** Draws some of the items, none twice, each choice and order with an equal chance. */
export function drawn<Item extends string | object>(
  stream: HashedStream,
  items: readonly Item[],
  count: number,
): Item[] {
  const rest = [...items];
  return Array.from({ length: count }, () => rest.splice(stream.integer(0, rest.length - 1), 1)).flat();
}

/** Returns the items in random order, each order with an equal chance. */
export const shuffled = <Item extends string | object>(stream: HashedStream, items: readonly Item[]): Item[] =>
  drawn(stream, items, items.length);
