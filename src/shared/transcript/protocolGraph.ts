/** A protocol as a picture: the column of each speaker, and the messages that each one sees. Pure. */

export interface ProtocolNode {
  readonly id: string;
  readonly role: string;
  readonly turn: number;
  /** Positions of its direct dependencies. */
  readonly parents: readonly number[];
  readonly scored: boolean;
}

/** An environment between messages. */
export interface ProtocolEnvironment {
  readonly name: string;
  /** Positions of the messages that it follows. */
  readonly parents: readonly number[];
  /** True if it is called once at the end of the episode, and scored. */
  readonly closing: boolean;
}

/** The occurrences of a protocol in canonical order; those of one round if it unfolds in rounds. */
export interface ProtocolGraph {
  readonly name: string;
  readonly nodes: readonly ProtocolNode[];
  /** Present if it unfolds in rounds: a description in one line, and the environments. */
  readonly rounds?: {
    readonly words: string;
    /** False if each message chooses the next speaker, so that messages have no round. */
    readonly numbered: boolean;
    /** True if there is one round, in which every message always sees the same others. */
    readonly once: boolean;
    readonly environments: readonly ProtocolEnvironment[];
  };
}

/** Returns the node of a message in its protocol or round; undefined if it has none. */
export function findNode({ nodes }: ProtocolGraph, role: string, turn: number): ProtocolNode | undefined {
  const own = nodes.filter((node) => node.role === role);
  return own[own.length === 0 ? 0 : turn % own.length];
}

/** Returns the round of a message, from 1; null if the protocol has none. */
export function findMessageRound({ nodes, rounds }: ProtocolGraph, role: string, turn: number): number | null {
  const own = nodes.filter((node) => node.role === role).length;
  return rounds?.numbered === true && own > 0 ? Math.floor(turn / own) + 1 : null;
}

/** Returns true if a vote ends the episodes of a protocol. */
export const closesWithVote = ({ rounds }: ProtocolGraph): boolean =>
  rounds?.environments.some(({ name, closing }) => closing && name === 'vote') === true;

/**
 * Returns the roles that each role sees in a team that speaks once and then votes. In the transcript,
 * a message is below the last one that it sees, so that voters on the same question are side by side.
 * @returns null for every other protocol, where each message is below the one before it
 */
export function listSeenByVoters(graph: ProtocolGraph): ReadonlyMap<string, ReadonlySet<string>> | null {
  const { nodes, rounds } = graph;
  if (!closesWithVote(graph) || rounds?.once !== true || new Set(nodes.map(({ role }) => role)).size < nodes.length) {
    return null;
  }
  const seen = new Map<string, ReadonlySet<string>>();
  for (const { role, parents } of nodes) {
    const before = parents.flatMap((parent) => nodes[parent]?.role ?? []);
    seen.set(role, new Set(before.flatMap((one) => [one, ...(seen.get(one) ?? [])])));
  }
  return seen;
}

export interface PlacedNode extends ProtocolNode {
  readonly environment: boolean;
  readonly position: number;
  /** Length of the longest path from a beginning: parallel roles share a column. */
  readonly column: number;
  readonly row: number;
}

/**
 * Places every node and environment, with columns by depth and rows in canonical order. Parents must
 * come before their children, as in canonical order. A node that sees a message also sees the
 * environments after it.
 * @returns nodes in the order that their parents refer to
 */
export function placeNodes({ nodes, rounds }: ProtocolGraph): readonly PlacedNode[] {
  const placed: PlacedNode[] = [];
  const filled = new Map<number, number>();
  const place = (node: ProtocolNode, environment: boolean): number => {
    const column = node.parents.reduce((deepest, parent) => Math.max(deepest, (placed[parent]?.column ?? -1) + 1), 0);
    const row = filled.get(column) ?? 0;
    filled.set(column, row + 1);
    return placed.push({ ...node, environment, position: placed.length, column, row }) - 1;
  };
  /** By position: the place of a message, then those of the environments that follow it alone. */
  const places = new Map<number, number[]>();
  nodes.forEach((node, position) => {
    const own = [place({ ...node, parents: node.parents.flatMap((parent) => places.get(parent) ?? []) }, false)];
    places.set(position, own);
    for (const { name, parents, closing } of rounds?.environments ?? []) {
      if (Math.max(...parents) === position) {
        const before = parents.flatMap((parent) => places.get(parent)?.slice(0, 1) ?? []);
        const added = place({ id: name, role: name, turn: 0, parents: before, scored: closing }, true);
        own.push(...(parents.length === 1 ? [added] : []));
      }
    }
  });
  return placed;
}
