/** A view that holds still while somebody reads: what comes meanwhile waits. */

export class Hold<T> {
  private readonly reasons = new Set<string>();
  private current: T | null = null;
  private newest: T | null = null;

  get held(): boolean {
    return this.reasons.size > 0;
  }

  /** What is to be seen now. */
  get shown(): T | null {
    return this.current;
  }

  /** What came while the view was held; null where nothing did. */
  get waiting(): T | null {
    return this.newest === this.current ? null : this.newest;
  }

  has(reason: string): boolean {
    return this.reasons.has(reason);
  }

  /**
   * Takes something newer.
   * @param now shows it whatever holds the view: the reader asked for it
   * @returns whether what is shown changed
   */
  offer(value: T, now = false): boolean {
    this.newest = value;
    if (this.held && !now && this.current !== null) {
      return false;
    }
    this.current = value;
    return true;
  }

  hold(reason: string): void {
    this.reasons.add(reason);
  }

  /** @returns whether what is shown changed */
  release(reason: string): boolean {
    this.reasons.delete(reason);
    if (this.held || this.newest === this.current) {
      return false;
    }
    this.current = this.newest;
    return true;
  }
}
