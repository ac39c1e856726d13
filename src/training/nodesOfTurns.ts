/** The nodes of rollout trees, from stored messages: one turn of one branch each. */
import type { TrainingMessage } from '../store/types.ts';

type Placed = Pick<TrainingMessage, 'message' | 'parent' | 'problem' | 'position'>;

/** Nodes by name: the message that their turn follows, or the problem where it is the first. */
export class NodesOfTurns {
  /** Every node after those below it; siblings in the order of what they follow. */
  readonly upward: readonly string[];
  private readonly parents: ReadonlyMap<number, Placed>;
  private readonly perTurn: number;

  /**
   * @param said all messages of a step, each with those before it
   * @param perTurn messages of a turn
   */
  constructor(said: readonly Placed[], perTurn: number) {
    this.parents = new Map(said.map((message) => [message.message, message]));
    this.perTurn = perTurn;
    const below = new Map<string, Set<string>>();
    const roots = new Set<string>();
    for (const message of said.toSorted((one, other) => one.message - other.message)) {
      const before = this.before(message);
      if (before === undefined) {
        roots.add(this.of(message));
        continue;
      }
      const above = this.of(before);
      below.set(above, (below.get(above) ?? new Set()).add(this.of(message)));
    }
    const ordered = (node: string): string[] => [...[...(below.get(node) ?? [])].flatMap(ordered), node];
    this.upward = [...roots].flatMap(ordered);
  }

  /** The node at which something was said. */
  of(message: Placed): string {
    const before = this.before(message);
    return before === undefined ? `problem ${message.problem}` : `after ${before.message}`;
  }

  /** The last message of the turn before; undefined in the first turn. */
  private before(message: Placed): Placed | undefined {
    let found: Placed | undefined = message;
    for (let steps = message.position % this.perTurn; steps >= 0 && found !== undefined; steps--) {
      found = found.parent === null ? undefined : this.parents.get(found.parent);
    }
    return found;
  }
}
