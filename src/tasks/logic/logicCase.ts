/** What a question of the logic task is made of. */
import type { HashedStream } from '../hashedStream.ts';

export interface LogicCase {
  /** The rules and facts, as sentences. */
  readonly premises: string;
  readonly asked: string;
  /** What follows. */
  readonly right: string;
  /** Three that do not follow, each different. */
  readonly wrong: readonly string[];
  /** What a careful answer goes through, in order. */
  readonly steps: readonly string[];
}

/** Some of the items, none twice, each choice and order equally likely. */
export function drawn<Item extends string | object>(
  stream: HashedStream,
  items: readonly Item[],
  count: number,
): Item[] {
  const rest = [...items];
  return Array.from({ length: count }, () => rest.splice(stream.integer(0, rest.length - 1), 1)).flat();
}

/** The items in any order, each equally likely. */
export const shuffled = <Item extends string | object>(stream: HashedStream, items: readonly Item[]): Item[] =>
  drawn(stream, items, items.length);
