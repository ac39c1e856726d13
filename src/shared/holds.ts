/** What one piece of work holds of something shared, given back together at its end. */

/** What is given back at the end of the scope that took it. */
export type Held<Thing> = Thing & AsyncDisposable;

/** Several held things as one; the last one that was taken is given back first. */
export class Holds implements AsyncDisposable {
  private held: (AsyncDisposable | Disposable)[] = [];

  /** Holds something that is taken; what comes too late is given back by whoever disposes of these. */
  async take<Thing extends AsyncDisposable | Disposable>(taking: Thing | Promise<Thing>): Promise<Thing> {
    return this.add(await taking);
  }

  add<Thing extends AsyncDisposable | Disposable>(thing: Thing): Thing {
    this.held.push(thing);
    return thing;
  }

  /** Hands everything on to another owner; these hold nothing any more. */
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
