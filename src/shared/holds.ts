/** Shared resources that one piece of work holds, released together at its end. */

/** A resource that is released at the end of the scope that took it. */
export type Held<Thing> = Thing & AsyncDisposable;

/** Several held resources as one; the last one that was taken is released first. */
export class Holds implements AsyncDisposable {
  private held: (AsyncDisposable | Disposable)[] = [];

  /** Holds a resource once it is taken. If it arrives after the disposal, the next disposal releases it. */
  async take<Thing extends AsyncDisposable | Disposable>(taking: Thing | Promise<Thing>): Promise<Thing> {
    return this.add(await taking);
  }

  add<Thing extends AsyncDisposable | Disposable>(thing: Thing): Thing {
    this.held.push(thing);
    return thing;
  }

  /** Moves everything to another owner; this one holds nothing afterward. */
  move(): Holds {
    const moved = new Holds();
    moved.held = this.held;
    this.held = [];
    return moved;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const last = this.held.pop();
    if (last === undefined) {
      return;
    }
    try {
      if (Symbol.asyncDispose in last) {
        await last[Symbol.asyncDispose]();
      } else {
        last[Symbol.dispose]();
      }
    } finally {
      await this[Symbol.asyncDispose]();
    }
  }
}
