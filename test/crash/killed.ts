/** `c3 run` as a child process that is killed at a given moment, while a reader looks on. */

import { existsSync, mkdirSync, watch } from 'node:fs';
import { join } from 'node:path';
import { toErrorMessage } from '../../src/shared/errors.ts';
import { connect } from '../../src/store/files/sqlite.ts';
import { startC3 } from '../unit/engine/workspace.ts';
import { halfWrittenIn, type Sizes } from './tables.ts';

/** When a process is killed. */
export type Moment =
  | { readonly kind: 'line'; readonly line: RegExp; /** Milliseconds after the line. */ readonly later?: number }
  | { readonly kind: 'start'; readonly later: number }
  /** The messages of an iteration are stored and its optimiser step is not. */
  | { readonly kind: 'step' }
  /** A file of this name is begun or moved in the folder of weights. */
  | { readonly kind: 'file'; readonly name: RegExp };

export interface Ending {
  readonly killed: boolean;
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

const LOOK_EVERY = 4;

/** Looks at a store again and again through a connection of its own. */
export class Onlooker {
  /** What was half written at any moment. */
  readonly found = new Set<string>();
  looks = 0;
  onStep: (() => void) | undefined;
  private readonly path: string;
  private readonly sizes: Sizes;
  private readonly timer: NodeJS.Timeout;
  private store: { readonly look: () => boolean; readonly close: () => void } | undefined;

  constructor(folder: string, sizes: Sizes) {
    this.path = join(folder, '.c3', 'c3.sqlite');
    this.sizes = sizes;
    this.timer = setInterval(() => {
      try {
        this.look();
      } catch (error) {
        this.found.add(`the store could not be read: ${toErrorMessage(error)}`);
      }
    }, LOOK_EVERY);
  }

  close(): void {
    clearInterval(this.timer);
    this.store?.close();
  }

  private look(): void {
    this.store ??= this.open();
    if (this.store === undefined) {
      return;
    }
    this.looks++;
    if (this.store.look()) {
      this.onStep?.();
    }
  }

  /** Opens the store for reading; undefined while there is none. */
  private open(): { look: () => boolean; close: () => void } | undefined {
    if (!existsSync(this.path)) {
      return undefined;
    }
    const db = connect(this.path, 'read');
    // A store is made in one transaction too.
    if (db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'run_account'").get() === undefined) {
      db.close();
      return undefined;
    }
    const halfWritten = halfWrittenIn(db, this.sizes);
    const version = db.prepare<[], number>('PRAGMA data_version').pluck();
    const between = db.prepare('SELECT 1 FROM step WHERE metrics IS NULL');
    let seen: number | undefined;
    return {
      /** Whether the messages of an iteration were stored since the last look, and its optimiser step was not. */
      look: (): boolean => {
        const now = version.get();
        // Nothing was committed since: the store is unchanged.
        if (now === seen) {
          return false;
        }
        for (const what of halfWritten()) {
          this.found.add(what);
        }
        seen = now;
        return between.get() !== undefined;
      },
      close: (): void => {
        db.close();
      },
    };
  }
}

/**
 * Starts `c3` with arguments and kills it at a moment; null lets it come to its end.
 * @param later lines of which any kills it too: the run has passed the moment
 */
export async function runUntil(
  folder: string,
  args: readonly string[],
  moment: Moment | null,
  later: readonly RegExp[],
  onlooker: Onlooker,
): Promise<Ending> {
  const weights = join(folder, '.c3', 'snapshots');
  mkdirSync(weights, { recursive: true });
  const child = startC3(folder, args);
  child.stdin.end();
  let [stdout, stderr] = ['', ''];
  const kill = (): void => {
    child.kill('SIGKILL');
  };
  const timers: NodeJS.Timeout[] = [];
  if (moment?.kind === 'start') {
    timers.push(setTimeout(kill, moment.later));
  }
  const watcher =
    moment?.kind === 'file'
      ? watch(weights, (_, name) => {
          if (name !== null && moment.name.test(name)) {
            kill();
          }
        })
      : undefined;
  onlooker.onStep = moment?.kind === 'step' ? kill : undefined;
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk.toString();
    if (moment === null) {
      return;
    }
    if (later.some((line) => line.test(stderr))) {
      kill();
    }
    if (moment.kind !== 'line' || !moment.line.test(stderr)) {
      return;
    }
    if (moment.later === undefined) {
      kill();
    } else {
      timers.push(setTimeout(kill, moment.later));
    }
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => {
      for (const timer of timers) {
        clearTimeout(timer);
      }
      watcher?.close();
      onlooker.onStep = undefined;
      resolve({ killed: signal === 'SIGKILL', code, stdout, stderr });
    });
  });
}
