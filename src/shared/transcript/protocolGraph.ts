/** A protocol as a picture: who speaks in which column, and whom each one sees. Pure. */

export interface ProtocolNode {
  readonly id: string;
  readonly role: string;
  readonly turn: number;
  /** Positions that it depends on directly. */
  readonly parents: readonly number[];
  readonly scored: boolean;
}

/** The occurrences of a protocol in canonical order. */
export interface ProtocolGraph {
  readonly name: string;
  readonly nodes: readonly ProtocolNode[];
}

export interface PlacedNode extends ProtocolNode {
  readonly position: number;
  /** Longest way from a beginning: parallel roles share a column. */
  readonly column: number;
  readonly row: number;
}

/**
 * Places every node: columns by depth, rows in canonical order. A graph whose parents are before their children, as
 * canonical order has it.
 */
export function placeNodes({ nodes }: ProtocolGraph): readonly PlacedNode[] {
  const placed: PlacedNode[] = [];
  const filled = new Map<number, number>();
  nodes.forEach((node, position) => {
    const column = node.parents.reduce((deepest, parent) => Math.max(deepest, (placed[parent]?.column ?? -1) + 1), 0);
    const row = filled.get(column) ?? 0;
    filled.set(column, row + 1);
    placed.push({ ...node, position, column, row });
  });
  return placed;
}
