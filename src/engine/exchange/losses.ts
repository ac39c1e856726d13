/** Counts the losses of a file: a few of them by name, and the others together. */

import type { LeftOutCounts } from '../../logs/episode.ts';

/** Maximum reasons that are listed by name. */
const MAX_NAMED_LOSSES = 20;

export class Losses {
  private readonly named = new Map<string, number>();
  private readonly further: string;
  private others = 0;

  /** @param further reason under which all others are counted */
  constructor(further: string) {
    this.further = further;
  }

  /** Counts a loss under a reason that names it. */
  add(reason: string): void {
    if (this.named.has(reason) || this.named.size < MAX_NAMED_LOSSES) {
      this.named.set(reason, (this.named.get(reason) ?? 0) + 1);
    } else {
      this.others++;
    }
  }

  /** Counts losses without a name. */
  addOthers(count: number): void {
    this.others += count;
  }

  get counts(): LeftOutCounts {
    const others = this.others === 0 ? [] : [[this.further, this.others] as const];
    return [...this.named, ...others];
  }
}
