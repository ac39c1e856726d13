/**
 * Scoring by a command of the user's: JSON on its standard input, a number from 0 to 1 on its standard output. It is
 * started without a shell, bounded in time and output, and what goes wrong with it is never a score.
 */
import { spawn } from 'node:child_process';
import { killOwned, spawnOwned } from '../files/ownedProcess.ts';
import { anyOf, onAbort, throwIfAborted } from '../shared/cancellation.ts';
import { withoutKeys } from '../shared/endpointKeys.ts';
import { CancelledError, messageOf } from '../shared/errors.ts';
import type { Problem } from '../domain/problem.ts';
import { oneLine } from '../shared/text/oneLine.ts';
import type { Evaluator, Graded } from './evaluator.ts';
import { EvaluatorLost } from './lost.ts';

export interface CommandSettings {
  /** The program and its arguments. */
  readonly command: readonly string[];
  /** Where it is started. */
  readonly folder: string;
  /** Milliseconds. */
  readonly timeLimit: number;
}

/** Processes at a time. */
const TOGETHER = 4;
/** Characters of what it prints; a number has fewer. */
const MOST_OUTPUT = 4096;
const MOST_WORDS = 200;
const NUMBER = /^(?:0|1|0?\.\d+|[01]\.\d*|\d(?:\.\d+)?e-\d+)$/iu;

/** @throws nothing itself; its `evaluate` throws EvaluatorLost where the command cannot be started */
export function commandEvaluator(settings: CommandSettings): Evaluator {
  let free = TOGETHER;
  const waiting: (() => void)[] = [];
  return {
    name: 'command',
    evaluate: async (problem, text, signal = new AbortController().signal) => {
      while (free === 0) {
        const { promise, resolve } = Promise.withResolvers<null>();
        waiting.push(() => {
          resolve(null);
        });
        await promise;
      }
      throwIfAborted(signal);
      free--;
      try {
        return await runOnce(settings, problem, text, signal);
      } finally {
        free++;
        waiting.shift()?.();
      }
    },
  };
}

const masked = (why: string): Graded => ({ score: null, rule: 'command', masked: `The scoring command ${why}.` });

/** Runs it for one message. @throws EvaluatorLost where it cannot be started; CancelledError */
async function runOnce(
  { command: [program = '', ...args], folder, timeLimit }: CommandSettings,
  { uid, question, answer }: Problem,
  text: string,
  signal: AbortSignal,
): Promise<Graded> {
  const late = AbortSignal.timeout(timeLimit);
  const child = spawnOwned(withoutKeys(process.env), (own) =>
    spawn(program, args, { ...own, cwd: folder, shell: false, windowsHide: true, stdio: ['pipe', 'pipe', 'pipe'] }),
  );
  const end = (): void => {
    killOwned(child);
    // One that could not be found may hold them open.
    child.stdout.destroy();
    child.stderr.destroy();
  };
  const said = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (chunk: string) => {
      said[name] = `${said[name]}${chunk}`.slice(0, MOST_OUTPUT);
      if (said.stdout.length === MOST_OUTPUT) {
        end();
      }
    });
  }
  // One that does not read its input ends all the same.
  child.stdin.on('error', () => undefined);
  child.stdin.end(`${JSON.stringify({ uid, question, answer, text })}\n`);
  const release = onAbort(anyOf(signal, late), end);
  const { promise, resolve, reject } = Promise.withResolvers<string | null>();
  child.once('error', (error) => {
    reject(
      new EvaluatorLost(
        `The scoring command ${JSON.stringify(program.slice(0, MOST_WORDS))} could not be started (${messageOf(error)}); check scorer.command.`,
        'the scoring command can be started',
      ),
    );
  });
  child.once('close', (code, ended) => {
    resolve(code === 0 ? null : ended === null ? `ended with ${String(code)}` : `was ended by ${ended}`);
  });
  const failed = await promise.finally(() => {
    release();
    killOwned(child);
  });
  if (signal.aborted) {
    throw new CancelledError();
  }
  if (said.stdout.length === MOST_OUTPUT) {
    return masked(`printed ${String(MOST_OUTPUT)} characters and more`);
  }
  if (late.aborted) {
    return masked(`took longer than ${String(timeLimit / 1000)} s`);
  }
  if (failed !== null) {
    const words = oneLine(said.stderr.trim(), MOST_WORDS);
    return masked(`${failed}${words === '' ? '' : `: ${words}`}`);
  }
  const printed = said.stdout.trim();
  const score = NUMBER.test(printed) ? Number(printed) : Number.NaN;
  return score >= 0 && score <= 1
    ? { score, rule: 'command' }
    : masked(`printed ${JSON.stringify(printed.slice(0, 60))}, which is no number from 0 to 1`);
}
