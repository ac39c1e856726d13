/** A list of items that are disposed of together. An item added later is disposed of at once. */

export interface Disposable {
  dispose(): unknown;
}

export class Disposables implements Disposable {
  private readonly items: Disposable[] = [];
  private disposed = false;

  /** Adds an item and returns it. */
  add<T extends Disposable>(item: T): T {
    if (this.disposed) {
      item.dispose();
    } else {
      this.items.push(item);
    }
    return item;
  }

  /** Disposes of everything, last added first. */
  dispose(): void {
    this.disposed = true;
    for (let item = this.items.pop(); item !== undefined; item = this.items.pop()) {
      item.dispose();
    }
  }
}
