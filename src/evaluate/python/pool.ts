/** Keeps sandboxes ready: used ones are reset, and ended ones are replaced before they are needed. */

import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { setTimeout as after } from 'node:timers/promises';
import type { PythonLimits } from './rules.ts';
import { SandboxFailure, SandboxProcess, type SandboxPlaces, type SandboxRole } from './sandbox/sandboxProcess.ts';

/**
 * Starts one sandbox.
 * @param onBegun receives each process that is started, before it is ready
 * @throws SandboxFailure
 */
export type StartSandbox = (role: SandboxRole, onBegun: (sandbox: SandboxProcess) => void) => Promise<SandboxProcess>;

/** Starts sandboxes of the bundled interpreter from one memory image, made anew after a failure. */
export function startBundledSandboxes(places: SandboxPlaces, limits: PythonLimits): StartSandbox {
  let image: Promise<Uint8Array> | null = null;
  return async (role, onBegun) => {
    const used = (image ??=
      places.image !== null && existsSync(places.image)
        ? readFile(places.image)
        : SandboxProcess.image(places, limits, onBegun));
    try {
      return await SandboxProcess.start(places, role, limits, await used, onBegun);
    } catch (error) {
      if (image === used) {
        image = null;
      }
      throw error;
    }
  };
}

/** The number of failures in a row after which no more sandboxes are started on this machine. */
const MOST_FAILURES = 6;
/** Milliseconds to wait after a failure; doubled with each failure in a row, up to the longest. */
const FIRST_PAUSE = 25;
const LONGEST_PAUSE = 1000;

interface Waiting {
  readonly resolve: (sandbox: SandboxProcess) => void;
  readonly reject: (error: unknown) => void;
}

class Shelf {
  readonly ready: SandboxProcess[] = [];
  readonly waiting: Waiting[] = [];
  /** The number of sandboxes that are being started or reset. */
  coming = 0;
}

export class SandboxPool {
  private readonly begin: StartSandbox;
  private readonly shelves: Readonly<Record<SandboxRole, Shelf>> = { candidate: new Shelf(), tests: new Shelf() };
  private readonly living = new Set<SandboxProcess>();
  /** Processor seconds of ended sandboxes. */
  private spent = 0;
  /** Failures in a row; failures of attempts that began together count as one. */
  private failures = 0;
  /** The reason why no sandbox starts any more. */
  private given: SandboxFailure | null = null;

  constructor(begin: StartSandbox) {
    this.begin = begin;
  }

  /** True if this pool has given up: all further requests fail. */
  get lost(): boolean {
    return this.given !== null;
  }

  /** Processor seconds of all sandboxes so far; 0 if the system does not report them. */
  get processorSeconds(): number {
    return [...this.living].reduce((sum, sandbox) => sum + (sandbox.processorSeconds() ?? 0), this.spent);
  }

  /**
   * Returns a fresh sandbox, the first that is ready.
   * @throws SandboxFailure if none starts
   */
  async acquire(role: SandboxRole): Promise<SandboxProcess> {
    const shelf = this.shelves[role];
    if (this.given !== null) {
      throw this.given;
    }
    for (let sandbox = shelf.ready.pop(); sandbox !== undefined; sandbox = shelf.ready.pop()) {
      if (sandbox.usable) {
        return sandbox;
      }
    }
    const found = new Promise<SandboxProcess>((resolve, reject) => shelf.waiting.push({ resolve, reject }));
    if (shelf.coming < shelf.waiting.length) {
      this.warm(role);
    }
    return found;
  }

  /** Takes a sandbox back after its work. If it has ended, a replacement starts at once. */
  release(sandbox: SandboxProcess): void {
    this.await(
      sandbox.role,
      sandbox.reset().then((clean) => {
        if (clean) {
          return sandbox;
        }
        this.living.delete(sandbox);
        this.spent += sandbox.processorSeconds() ?? 0;
        return this.start(sandbox.role);
      }),
    );
  }

  /** Starts one more sandbox. */
  warm(role: SandboxRole): void {
    this.await(role, this.start(role));
  }

  /** Gives a sandbox that is being prepared to the first caller that waits, or keeps it ready. */
  private await(role: SandboxRole, coming: Promise<SandboxProcess>): void {
    const shelf = this.shelves[role];
    shelf.coming++;
    coming.then(
      (sandbox) => {
        shelf.coming--;
        const first = shelf.waiting.shift();
        if (first === undefined) {
          shelf.ready.push(sandbox);
        } else {
          first.resolve(sandbox);
        }
      },
      (error: unknown) => {
        shelf.coming--;
        // A spare that nobody waits for may fail silently: a caller that needs one tries again.
        shelf.waiting.shift()?.reject(error);
      },
    );
  }

  private async start(role: SandboxRole): Promise<SandboxProcess> {
    for (;;) {
      if (this.given !== null) {
        throw this.given;
      }
      const before = this.failures;
      try {
        const sandbox = await this.begin(role, (begun) => {
          this.living.add(begun);
          if (this.given !== null) {
            begun.kill();
          }
        });
        this.failures = 0;
        return sandbox;
      } catch (error) {
        if (this.failures === before) {
          this.failures++;
        }
        if (this.failures >= MOST_FAILURES) {
          this.giveUp(error instanceof Error ? error.message : String(error));
        }
        await this.pause(this.failures);
      }
    }
  }

  /** Waits for a while, longer with each failure in a row. A pool that has given up does not wait. */
  async pause(failures: number): Promise<void> {
    if (!this.lost) {
      await after(Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** failures));
    }
  }

  /** Starts no more sandboxes and ends the existing ones; their users get an error. */
  giveUp(why: string): void {
    this.given ??= new SandboxFailure(why);
    for (const sandbox of this.living) {
      sandbox.kill();
    }
  }
}
