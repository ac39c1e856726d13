/** Sandboxes kept at hand: used ones are put back to their start, ended ones are replaced before they are missed. */
import type { PythonLimits } from './rules.ts';
import { SandboxFailure, SandboxProcess, type SandboxPlaces, type SandboxRole } from './sandboxProcess.ts';

/** A machine on which sandboxes do not start is asked no more after this many failures in a row. */
const MOST_FAILURES = 3;

interface Waiting {
  readonly resolve: (sandbox: SandboxProcess) => void;
  readonly reject: (error: unknown) => void;
}

/** The sandboxes of one role. */
class Shelf {
  readonly ready: SandboxProcess[] = [];
  readonly waiting: Waiting[] = [];
  /** On the way: being started or put back. */
  coming = 0;
}

export class SandboxPool {
  readonly #places: SandboxPlaces;
  readonly #limits: PythonLimits;
  readonly #shelves: Readonly<Record<SandboxRole, Shelf>> = { candidate: new Shelf(), tests: new Shelf() };
  readonly #living = new Set<SandboxProcess>();
  #image: Promise<Uint8Array> | null = null;
  #failures = 0;
  #lastFailure: unknown = null;
  #closed = false;

  constructor(places: SandboxPlaces, limits: PythonLimits) {
    this.#places = places;
    this.#limits = limits;
  }

  /** A fresh sandbox: the first that is ready. @throws SandboxFailure when none starts */
  async acquire(role: SandboxRole): Promise<SandboxProcess> {
    const shelf = this.#shelves[role];
    for (let sandbox = shelf.ready.pop(); sandbox !== undefined; sandbox = shelf.ready.pop()) if (sandbox.usable) return sandbox;
    const found = new Promise<SandboxProcess>((resolve, reject) => shelf.waiting.push({ resolve, reject }));
    if (shelf.coming < shelf.waiting.length) this.warm(role);
    return found;
  }

  /** Takes a sandbox back after its work, whatever became of it; a replacement starts at once where it has ended. */
  release(sandbox: SandboxProcess): void {
    this.#await(
      sandbox.role,
      sandbox.reset().then((clean) => {
        if (clean) return sandbox;
        this.#living.delete(sandbox);
        return this.#start(sandbox.role);
      }),
    );
  }

  /** Begins to start one sandbox more. */
  warm(role: SandboxRole): void {
    this.#await(role, this.#start(role));
  }

  /** Hands one that is on the way to whoever waits first, or sets it aside. */
  #await(role: SandboxRole, coming: Promise<SandboxProcess>): void {
    const shelf = this.#shelves[role];
    shelf.coming++;
    coming.then(
      (sandbox) => {
        shelf.coming--;
        const first = shelf.waiting.shift();
        if (first === undefined) shelf.ready.push(sandbox);
        else first.resolve(sandbox);
      },
      (error: unknown) => {
        shelf.coming--;
        // A spare that nobody waits for may fail unseen: whoever needs one tries again.
        shelf.waiting.shift()?.reject(error);
      },
    );
  }

  async #start(role: SandboxRole): Promise<SandboxProcess> {
    if (this.#failures >= MOST_FAILURES) throw this.#lastFailure;
    try {
      this.#image ??= SandboxProcess.image(this.#places, this.#limits, (begun) => this.#living.add(begun));
      const image = await this.#image;
      this.#checkOpen();
      const sandbox = await SandboxProcess.start(this.#places, role, this.#limits, image, (begun) => this.#living.add(begun));
      this.#failures = 0;
      return sandbox;
    } catch (error) {
      this.#image = null;
      this.#failures++;
      this.#lastFailure = error;
      throw error;
    }
  }

  #checkOpen(): void {
    if (this.#closed) throw new SandboxFailure('the evaluator was closed');
  }

  /** Ends all processes; whoever uses one learns that it has ended. */
  close(): void {
    this.#closed = true;
    for (const sandbox of this.#living) sandbox.kill();
  }
}
