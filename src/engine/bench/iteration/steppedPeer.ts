/** A Python program that makes one iteration whenever it is asked to, so that it can take turns with others. */
import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { z } from 'zod';
import { endOwned, spawnOwned } from '../../../files/ownedProcess.ts';
import type { TransformerConfig } from '../../../runtime/model/transformer.ts';
import { anyOf, unlessCancelled } from '../../../shared/cancellation.ts';
import { C3Error, messageOf } from '../../../shared/errors.ts';
import { peerWords, type BenchOptions } from '../report.ts';
import { failure, installedPythons, missing, worse, type PeerFailure } from '../speed/peer.ts';
import { ITERATION_PROGRAM } from './iterationProgram.ts';

/** What is to be done in every iteration. */
export interface IterationTask {
  readonly shape: TransformerConfig;
  readonly threads: number;
  /** Token ids, all prompts of one length. */
  readonly prompts: readonly (readonly number[])[];
  /** Completions of each prompt. */
  readonly group: number;
  /** Tokens of every completion. */
  readonly new: number;
  /** Sequences of one micro-batch. */
  readonly rows: number;
  readonly learningRate: number;
  readonly klCoefficient: number;
}

export const PEERS = ['pytorch', 'trl'] as const;
export type IterationPeer = (typeof PEERS)[number];

export interface SteppedSettings {
  /** Commands to try, one after the other. */
  readonly pythons?: readonly string[];
  /** Milliseconds after which an answer is not waited for any longer. */
  readonly limit?: number;
}

const LIMIT = 240_000;
/** Characters of what a peer says on its error stream that are read. */
const LONGEST_ERRORS = 10_000;

const answerSchema = z.union([
  z.object({ missing: z.string() }),
  z.object({ name: z.string().max(200) }),
  z.object({ done: z.literal(true), processor: z.number().nonnegative() }),
]);
type Answer = z.infer<typeof answerSchema>;

/** A peer that is ready, or why there is none. */
export type SteppedOutcome = { readonly status: 'ready'; readonly peer: SteppedPeer } | PeerFailure;

/** A program that waits for its turn; to be ended. */
export class SteppedPeer {
  readonly name: string;
  private readonly talk: Talk;

  private constructor(name: string, talk: Talk) {
    this.name = name;
    this.talk = talk;
  }

  /**
   * Starts a peer with the first Python that has it; a note says what came of it.
   * @throws CancelledError, when the program has been ended
   */
  static async start(
    which: IterationPeer,
    task: IterationTask,
    options: BenchOptions,
    { pythons = installedPythons(), limit = LIMIT }: SteppedSettings = {},
  ): Promise<SteppedOutcome> {
    let found = failure('not-installed', 'no Python on PATH');
    for (const python of pythons) {
      const talk = new Talk(python, [which, JSON.stringify(task)], options.signal, limit);
      const answer = await talk.answer();
      if (!('status' in answer) && 'name' in answer) {
        options.note(`peer: ${answer.name}`);
        return { status: 'ready', peer: new SteppedPeer(answer.name, talk) };
      }
      await talk.end();
      found = worse(
        found,
        'status' in answer
          ? answer
          : 'missing' in answer
            ? missing(python, answer.missing)
            : failure('failed', `${python} made an iteration that nobody asked for`),
      );
    }
    options.note(`${which}: ${peerWords(found)}`);
    return found;
  }

  /**
   * One iteration.
   * @returns the seconds that it took of processors
   * @throws C3Error('engine') with what went wrong in the program; CancelledError
   */
  async step(): Promise<number> {
    this.talk.ask();
    const answer = await this.talk.answer();
    if ('status' in answer || !('done' in answer)) {
      const why = 'status' in answer ? answer.reason : 'it gave another answer than asked for';
      throw new C3Error('engine', `${this.name} did not finish an iteration: ${why}; measure again without it.`);
    }
    return answer.processor;
  }

  /** Ends the program. @returns once it has ended */
  end(): Promise<void> {
    return this.talk.end();
  }
}

/** The lines of one process. */
class Talk {
  private readonly python: string;
  private readonly signal: AbortSignal;
  private readonly limit: number;
  private readonly child: ChildProcessByStdio<Writable, Readable, Readable>;
  private readonly lines: AsyncIterator<string>;
  private errors = '';
  private readonly ended: Promise<PeerFailure>;

  constructor(python: string, args: readonly string[], signal: AbortSignal, limit: number) {
    this.python = python;
    this.signal = signal;
    this.limit = limit;
    this.child = spawnOwned(process.env, (own) =>
      spawn(python, ['-c', ITERATION_PROGRAM, ...args], { ...own, stdio: ['pipe', 'pipe', 'pipe'] }),
    );
    this.child.stdin.on('error', () => undefined);
    this.child.stderr.on('data', (chunk: Buffer) => {
      this.errors = (this.errors + chunk.toString()).slice(-LONGEST_ERRORS);
    });
    this.lines = createInterface({ input: this.child.stdout })[Symbol.asyncIterator]();
    this.ended = new Promise((resolve) => {
      this.child.once('error', (error) => {
        const status = 'code' in error && error.code === 'ENOENT' ? 'not-installed' : 'failed';
        resolve(failure(status, messageOf(error)));
      });
      this.child.once('close', (code, killedBy) => {
        const last = this.errors.trimEnd().split('\n').at(-1)?.slice(0, 200) ?? '';
        const how = killedBy === null ? `exit code ${String(code)}` : `signal ${killedBy}`;
        resolve(failure('failed', `${python} ended with ${how}${last === '' ? '' : `: ${last}`}`));
      });
    });
  }

  ask(): void {
    this.child.stdin.write('\n');
  }

  /** The next line, or how the process ended or was given up. @throws CancelledError, when it has been ended */
  async answer(): Promise<Answer | PeerFailure> {
    const late = AbortSignal.timeout(this.limit);
    try {
      const next = await unlessCancelled(this.lines.next(), anyOf(this.signal, late));
      return next.done === true ? await this.ended : this.read(next.value);
    } catch (error) {
      await this.end();
      await this.ended;
      if (this.signal.aborted) {
        throw error;
      }
      return failure('too-slow', `${this.python} took longer than ${this.limit / 1000} s`);
    }
  }

  async end(): Promise<void> {
    this.child.stdout.destroy();
    this.child.stderr.destroy();
    await endOwned(this.child, 0);
  }

  private read(line: string): Answer | PeerFailure {
    try {
      const answer = answerSchema.safeParse(JSON.parse(line));
      if (answer.success) {
        return answer.data;
      }
    } catch {
      // Not even JSON.
    }
    return failure('failed', `${this.python} printed something else than an answer`);
  }
}
