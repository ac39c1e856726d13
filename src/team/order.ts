/** The canonical order of a dependency graph and who sees whom in it. */

/** A node of the graph: its parents as indices into the same list. */
export interface GraphNode {
  readonly parents: readonly number[];
}

/**
 * Kahn's order with a first-in-first-out queue, seeded and released in the list's order.
 * @returns the indices in canonical order; `cycle` instead, first index repeated at the end, when there is none
 */
export function canonicalOrder(
  nodes: readonly GraphNode[],
): { readonly order: number[] } | { readonly cycle: number[] } {
  const waiting = nodes.map((node) => node.parents.length);
  const children: number[][] = nodes.map(() => []);
  for (const [index, node] of nodes.entries()) {
    for (const parent of node.parents) {
      children[parent]?.push(index);
    }
  }
  const order = [...waiting.keys()].filter((index) => waiting[index] === 0);
  // The list grows while it is walked: it is the queue.
  for (const index of order) {
    for (const child of children[index] ?? []) {
      const left = (waiting[child] ?? 0) - 1;
      waiting[child] = left;
      if (left === 0) {
        order.push(child);
      }
    }
  }
  return order.length === nodes.length ? { order } : { cycle: findCycle(nodes, new Set(order)) };
}

/** Walks from an unordered node to unordered parents until one comes again; every such node has one. */
function findCycle(nodes: readonly GraphNode[], ordered: ReadonlySet<number>): number[] {
  const path: number[] = [];
  let next: number | undefined = [...nodes.keys()].find((index) => !ordered.has(index));
  while (next !== undefined && !path.includes(next)) {
    path.push(next);
    next = nodes[next]?.parents.find((parent) => !ordered.has(parent));
  }
  const cycle = next === undefined ? path : [...path.slice(path.indexOf(next)), next];
  // The walk went against the arrows.
  return cycle.reverse();
}

/** The transitive parents of each node, ascending, for a list in which parents are before their children. */
export function transitiveParents(nodes: readonly GraphNode[]): number[][] {
  const ancestors: number[][] = [];
  for (const node of nodes) {
    const seen = new Set<number>();
    // The last first: what one of them sees need not be looked at again.
    for (const parent of node.parents.toSorted((a, b) => b - a)) {
      if (seen.has(parent)) {
        continue;
      }
      seen.add(parent);
      for (const above of ancestors[parent] ?? []) {
        seen.add(above);
      }
    }
    ancestors.push([...seen].sort((a, b) => a - b));
  }
  return ancestors;
}
