/** Holds a view still while the user reads. Newer values wait. */

export class Hold<T> {
  private readonly reasons = new Set<string>();
  private current: T | null = null;
  private newest: T | null = null;

  get held(): boolean {
    return this.reasons.size > 0;
  }

  /** The value to show. */
  get shown(): T | null {
    return this.current;
  }

  /** The value that came while the view was held; null if none did. */
  get waiting(): T | null {
    return this.newest === this.current ? null : this.newest;
  }

  has(reason: string): boolean {
    return this.reasons.has(reason);
  }

  /**
   * Takes a newer value.
   * @param now true to show it even while the view is held, because the user requested it
   * @returns true if the shown value changed
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

  /** @returns true if the shown value changed */
  release(reason: string): boolean {
    this.reasons.delete(reason);
    if (this.held || this.newest === this.current) {
      return false;
    }
    this.current = this.newest;
    return true;
  }
}
