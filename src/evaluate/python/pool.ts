/** Sandboxes kept at hand: used ones are put back to their start, ended ones are replaced before they are missed. */
import type { PythonLimits } from './rules.ts';
import { SandboxProcess, type SandboxPlaces, type SandboxRole } from './sandboxProcess.ts';

/** Starts one sandbox. @param onBegun gets each process that is started, before it is ready @throws SandboxFailure */
export type StartSandbox = (role: SandboxRole, onBegun: (sandbox: SandboxProcess) => void) => Promise<SandboxProcess>;

/** Starts sandboxes of the bundled interpreter, all from one memory image. */
export function bundledSandboxes(places: SandboxPlaces, limits: PythonLimits): StartSandbox {
  let image: Promise<Uint8Array> | null = null;
  return async (role, onBegun) => {
    try {
      image ??= SandboxProcess.image(places, limits, onBegun);
      return await SandboxProcess.start(places, role, limits, await image, onBegun);
    } catch (error) {
      image = null;
      throw error;
    }
  };
}

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
  readonly #begin: StartSandbox;
  readonly #shelves: Readonly<Record<SandboxRole, Shelf>> = { candidate: new Shelf(), tests: new Shelf() };
  readonly #living = new Set<SandboxProcess>();
  #failures = 0;
  #lastFailure: unknown = null;
  #closed = false;

  constructor(begin: StartSandbox) {
    this.#begin = begin;
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
      const sandbox = await this.#begin(role, (begun) => {
        this.#living.add(begun);
        if (this.#closed) begun.kill();
      });
      this.#failures = 0;
      return sandbox;
    } catch (error) {
      this.#failures++;
      this.#lastFailure = error;
      throw error;
    }
  }

  /** Ends all processes; whoever uses one learns that it has ended. */
  close(): void {
    this.#closed = true;
    for (const sandbox of this.#living) sandbox.kill();
  }
}
