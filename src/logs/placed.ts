/** Where the entries of a log are, by the episodes that they belong to: sixteen bytes for each. */
import { C3Error } from '../shared/errors.ts';
import type { LogElement } from './elements.ts';

const MOST_ENTRIES = 5_000_000;
const FIRST_ROOM = 1024;

export class Placed<Kind> {
  private readonly name: string;
  private starts = new Float64Array(FIRST_ROOM);
  private lengths = new Uint32Array(FIRST_ROOM);
  private groupAt = new Uint32Array(FIRST_ROOM);
  private count = 0;
  private readonly kinds: Kind[] = [];
  private readonly named = new Map<string, number>();

  /** @param name of the log, for errors */
  constructor(name: string) {
    this.name = name;
  }

  /**
   * @param group what the entry shares with those of its episode; null for one that is an episode by itself
   * @throws C3Error('input') for more than five million entries
   */
  add({ start, end }: LogElement, kind: Kind, group: string | null): void {
    if (this.count === MOST_ENTRIES) {
      const most = MOST_ENTRIES.toLocaleString('en');
      throw new C3Error('input', `${this.name} has more than ${most} entries; split it into smaller files.`);
    }
    if (this.count === this.starts.length) {
      this.grow();
    }
    let number = group === null ? undefined : this.named.get(group);
    if (number === undefined) {
      number = this.kinds.length;
      this.kinds.push(kind);
      if (group !== null) {
        this.named.set(group, number);
      }
    }
    this.starts[this.count] = start;
    this.lengths[this.count] = end - start;
    this.groupAt[this.count] = number;
    this.count++;
  }

  private grow(): void {
    const room = this.count * 2;
    const [starts, lengths, groups] = [new Float64Array(room), new Uint32Array(room), new Uint32Array(room)];
    starts.set(this.starts);
    lengths.set(this.lengths);
    groups.set(this.groupAt);
    [this.starts, this.lengths, this.groupAt] = [starts, lengths, groups];
  }

  /** The episodes in the order in which they began, each with its entries in the order of the log. */
  *groups(): Generator<{ readonly kind: Kind; readonly elements: readonly LogElement[] }> {
    const { count, starts, lengths, groupAt, kinds } = this;
    const ends = new Uint32Array(kinds.length);
    for (let index = 0; index < count; index++) {
      const group = groupAt[index] ?? 0;
      ends[group] = (ends[group] ?? 0) + 1;
    }
    for (let group = 1; group < ends.length; group++) {
      ends[group] = (ends[group] ?? 0) + (ends[group - 1] ?? 0);
    }
    // Sorted by counting, from the last, so that entries of one episode keep their order.
    const order = new Uint32Array(count);
    const next = ends.slice();
    for (let index = count - 1; index >= 0; index--) {
      const group = groupAt[index] ?? 0;
      const place = (next[group] ?? 0) - 1;
      next[group] = place;
      order[place] = index;
    }
    for (const [group, kind] of kinds.entries()) {
      const own = order.subarray(group === 0 ? 0 : ends[group - 1], ends[group]);
      yield { kind, elements: Array.from(own, (index) => this.element(starts[index] ?? 0, lengths[index] ?? 0)) };
    }
  }

  private element(start: number, length: number): LogElement {
    return { start, end: start + length, line: 0, document: 0, item: false, excessive: false };
  }
}
