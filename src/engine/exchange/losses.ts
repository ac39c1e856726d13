/** What is left out of a file, by name where it is little, and together where it is much. */
import type { LeftOutCounts } from '../../logs/episode.ts';

/** Reasons that name a place. */
const MOST_NAMED = 20;

export class Losses {
  private readonly named = new Map<string, number>();
  private readonly further: string;
  private others = 0;

  /** @param further what those are called that are not named */
  constructor(further: string) {
    this.further = further;
  }

  /** Takes in a reason that names what is left out. */
  add(reason: string): void {
    if (this.named.has(reason) || this.named.size < MOST_NAMED) {
      this.named.set(reason, (this.named.get(reason) ?? 0) + 1);
    } else {
      this.others++;
    }
  }

  /** Takes in what has no name. */
  addOthers(count: number): void {
    this.others += count;
  }

  get counts(): LeftOutCounts {
    const others = this.others === 0 ? [] : [[this.further, this.others] as const];
    return [...this.named, ...others];
  }
}
