/** The shape of a transcript tree: its depth-first order and the returns of its leaves. */

export interface TreeRow {
  readonly id: number;
  /** A parent outside the tree makes the row a root. */
  readonly parent: number | null;
  readonly siblingIndex: number;
  /** Stage of the training step; undefined for its beginning. */
  readonly stage?: number;
}

export interface LeafEpisode {
  readonly leaf: number;
  readonly return: number | null;
  readonly evaluatorCalls: number;
  /** 1 if the user gave the return. */
  readonly byHand?: 0 | 1;
}

/** An entry in the outline of a tree. */
export interface TreeEntry {
  readonly id: number;
  readonly parent: number | null;
}

export interface Tree {
  /** Every message in depth-first order, siblings by index, the roots of later stages last. */
  readonly entries: readonly TreeEntry[];
  /**
   * Returns the mean return of the unmasked episodes at or below a message, their number, and whether
   * the user gave any.
   */
  outcome(id: number): { readonly return: number | null; readonly leaves: number; readonly byHand?: true };
  /** Lists the leaf messages at or below a message, in depth-first order. */
  leaves(id: number): number[];
  /** Lists the episodes at or below a message, leaves in depth-first order. */
  episodes(id: number): LeafEpisode[];
}

/** Describes the fault of a message that does not follow its parent, as a part of a sentence. */
export const describeParentFault = (id: number): string => `message ${id} follows one that was not stored before it`;

interface Node {
  readonly row: TreeRow;
  readonly children: Node[];
  readonly episodes: LeafEpisode[];
  sum: number;
  leaves: number;
  byHand: boolean;
}

/**
 * Builds the tree of some rows.
 * @param rows in any order; the id of a parent is below those of its children, as in every store
 */
export function buildTree(rows: readonly TreeRow[], episodes: readonly LeafEpisode[]): Tree {
  const nodes = new Map<number, Node>();
  for (const row of rows) {
    nodes.set(row.id, { row, children: [], episodes: [], sum: 0, leaves: 0, byHand: false });
  }
  for (const episode of episodes) {
    nodes.get(episode.leaf)?.episodes.push(episode);
  }
  const bySibling = [...nodes.values()].sort(
    (a, b) => (a.row.stage ?? 0) - (b.row.stage ?? 0) || a.row.siblingIndex - b.row.siblingIndex || a.row.id - b.row.id,
  );
  const roots: Node[] = [];
  for (const node of bySibling) {
    const parent = node.row.parent === null ? undefined : nodes.get(node.row.parent);
    (parent?.children ?? roots).push(node);
  }
  const ordered = listDepthFirst(roots);
  addUpReturns(ordered, nodes);
  return {
    entries: ordered.map(({ row: { id, parent } }) => ({ id, parent })),
    outcome: (id) => {
      const node = nodes.get(id);
      return node === undefined || node.leaves === 0
        ? { return: null, leaves: 0 }
        : { return: node.sum / node.leaves, leaves: node.leaves, ...(node.byHand && { byHand: true }) };
    },
    leaves: (id) => {
      const node = nodes.get(id);
      return node === undefined
        ? []
        : listDepthFirst([node]).flatMap(({ row, children }) => (children.length === 0 ? [row.id] : []));
    },
    episodes: (id) => {
      const node = nodes.get(id);
      return node === undefined ? [] : listDepthFirst([node]).flatMap((below) => below.episodes);
    },
  };
}

function listDepthFirst(roots: readonly Node[]): Node[] {
  const ordered: Node[] = [];
  const stack = roots.toReversed();
  for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
    ordered.push(node);
    for (const child of node.children.toReversed()) {
      stack.push(child);
    }
  }
  return ordered;
}

/** Adds every node's unmasked returns to its ancestors, children before their parents. */
function addUpReturns(ordered: readonly Node[], nodes: ReadonlyMap<number, Node>): void {
  for (const node of ordered.toReversed()) {
    for (const episode of node.episodes) {
      if (episode.return !== null) {
        node.sum += episode.return;
        node.leaves += 1;
        node.byHand ||= episode.byHand === 1;
      }
    }
    const parent = node.row.parent === null ? undefined : nodes.get(node.row.parent);
    if (parent !== undefined) {
      parent.sum += node.sum;
      parent.leaves += node.leaves;
      parent.byHand ||= node.byHand;
    }
  }
}
