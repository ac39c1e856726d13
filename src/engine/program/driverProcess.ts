/** A driver: a program of the user's that reads a log as a line of JSON, and answers the next step. */

import { spawn, type ChildProcessByStdio } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { killOwned, spawnOwned } from '../../files/ownedProcess.ts';
import { maskText } from '../../logs/secrets.ts';
import { onAbort } from '../../shared/cancellation.ts';
import { withoutKeys } from '../../shared/endpointKeys.ts';
import { C3Error, CancelledError } from '../../shared/errors.ts';
import { isRecord } from '../../shared/guard.ts';
import { toOneLine } from '../../shared/text/oneLine.ts';

/** Maximum characters of one answer, and of the kept standard error. */
const MAX_ANSWER_CHARACTERS = 16 * 2 ** 20;
const MAX_ERROR_CHARACTERS = 2000;
/** Milliseconds that a driver has to end its own programs after the last request. */
const TIME_TO_END = 2000;

interface Waiting {
  readonly answer: PromiseWithResolvers<Readonly<Record<string, unknown>>>;
  readonly timer: NodeJS.Timeout;
}

export interface DriverSettings {
  /** What the user calls it: `driver node driver.mjs`. */
  readonly name: string;
  readonly command: readonly [string, ...string[]];
  readonly folder: string;
  /** Maximum milliseconds for one answer. */
  readonly timeLimit: number;
}

export class DriverProcess {
  private readonly settings: DriverSettings;
  private readonly child: ChildProcessByStdio<Writable, Readable, Readable>;
  private readonly waiting = new Map<number, Waiting>();
  private number = 0;
  private rest = '';
  private errors = '';
  private failure: C3Error | null = null;

  constructor(settings: DriverSettings) {
    this.settings = settings;
    const [program, ...args] = settings.command;
    this.child = spawnOwned(withoutKeys(process.env), (own) =>
      spawn(program, args, { ...own, cwd: settings.folder, stdio: ['pipe', 'pipe', 'pipe'] }),
    );
    this.child.once('error', (error) => this.fail(`it cannot be started (${error.message})`));
    // Programs that it started may still hold its streams open.
    this.child.once('exit', () => killOwned(this.child));
    // `close` follows after all its output was read.
    this.child.once('close', (code, signal) =>
      this.fail(`it ended with ${code === null ? String(signal) : `exit code ${code}`}`),
    );
    // A failed write means that the driver has ended, which `close` reports.
    this.child.stdin.on('error', () => undefined);
    this.child.stdout.setEncoding('utf8').on('data', (text: string) => this.hear(text));
    this.child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.errors = (this.errors + text).slice(-MAX_ERROR_CHARACTERS);
    });
  }

  /**
   * Asks for the next step.
   * @throws C3Error('engine') if the driver refuses to continue, or fails; CancelledError
   */
  async ask(body: object, signal: AbortSignal): Promise<Readonly<Record<string, unknown>>> {
    if (this.failure !== null) {
      throw this.failure;
    }
    const id = this.number++;
    const answer = Promise.withResolvers<Readonly<Record<string, unknown>>>();
    const { timeLimit } = this.settings;
    const timer = setTimeout(() => this.fail(`it gave no answer within ${timeLimit / 1000} s (time_limit)`), timeLimit);
    this.waiting.set(id, { answer, timer });
    const release = onAbort(signal, () => answer.reject(new CancelledError()));
    try {
      this.child.stdin.write(`${JSON.stringify({ id, ...body })}\n`);
      return await answer.promise;
    } finally {
      release();
      clearTimeout(timer);
      this.waiting.delete(id);
    }
  }

  /** Ends the driver, which gets time to end its own programs. */
  close(): void {
    // Nobody waits for the answers.
    for (const { answer } of this.waiting.values()) {
      answer.reject(new CancelledError());
    }
    this.refuse('it was ended');
    this.child.stdin.end();
    // The timer does not keep this process alive once the driver has ended.
    setTimeout(() => killOwned(this.child), TIME_TO_END).unref();
  }

  private hear(text: string): void {
    // Only new text is searched for line breaks, because a line may come in many pieces.
    const [first = '', ...others] = text.split('\n');
    this.rest += first;
    for (const other of others) {
      this.take(this.rest);
      this.rest = other;
    }
    if (this.rest.length > MAX_ANSWER_CHARACTERS) {
      this.fail(`a line has more than ${MAX_ANSWER_CHARACTERS} characters`);
    }
  }

  private take(line: string): void {
    if (line.trim() === '') {
      return;
    }
    let said: unknown;
    try {
      said = JSON.parse(line);
    } catch {
      said = null;
    }
    if (!isRecord(said) || typeof said['id'] !== 'number') {
      this.fail(
        `it wrote ${JSON.stringify(line.slice(0, 80))} instead of a line of JSON with an id; print other output to the standard error`,
      );
      return;
    }
    const { id, error } = said;
    const waiting = this.waiting.get(id);
    if (typeof error === 'string') {
      waiting?.answer.reject(this.error(toOneLine(error, MAX_ERROR_CHARACTERS)));
    } else {
      waiting?.answer.resolve(said);
    }
  }

  private fail(why: string): void {
    this.refuse(why);
    killOwned(this.child);
    // A process that escaped the kill may hold the stream open.
    this.child.stdout.destroy();
  }

  /** Refuses all open and later requests. The first reason stays. */
  private refuse(why: string): void {
    const said = toOneLine(this.errors.trim(), MAX_ERROR_CHARACTERS);
    this.failure ??= this.error(said === '' ? why : `${why}; it said: ${said}`);
    for (const { answer } of this.waiting.values()) {
      answer.reject(this.failure);
    }
  }

  private readonly error = (why: string): C3Error =>
    new C3Error(
      'engine',
      // The standard error may repeat the key of a server, and the command may contain one.
      maskText(`The ${toOneLine(this.settings.name, 200)} does not go on: ${why.replace(/\.$/u, '')}.`).text,
    );
}
