/**
 * Scores messages with a command of the user's: JSON on its standard input, a number from 0 to 1 on
 * its standard output. It is started without a shell, with limits on time and output, and its failures
 * are never a score.
 */

import type { Problem } from '../domain/problem.ts';
import { runOwned } from '../files/runOwned.ts';
import { NEVER } from '../shared/cancellation.ts';
import { withoutKeys } from '../shared/endpointKeys.ts';
import { toErrorMessage } from '../shared/errors.ts';
import { Lanes } from '../shared/lanes.ts';
import { toOneLine } from '../shared/text/oneLine.ts';
import type { Evaluator, Graded } from './evaluator.ts';
import { EvaluatorLost } from './lost.ts';

export interface CommandSettings {
  readonly command: readonly string[];
  /** The folder in which it is started. */
  readonly folder: string;
  /** In milliseconds. */
  readonly timeLimit: number;
}

/** The most scoring commands that this process runs at once. */
const lanes = new Lanes(4);
/** The largest number of characters of its output; a number has fewer. */
const MOST_OUTPUT = 4096;
const MOST_WORDS = 200;
const NUMBER = /^(?:0|1|0?\.\d+|[01]\.\d*|\d(?:\.\d+)?e-\d+)$/iu;

/** Returns the evaluator. Its `evaluate` throws EvaluatorLost if the command cannot be started. */
export function makeCommandEvaluator(settings: CommandSettings): Evaluator {
  return {
    name: 'command',
    evaluate: (problem, text, signal = NEVER) =>
      lanes.within(signal, () => runScoringCommand(settings, problem, text, signal)),
  };
}

const maskCommand = (why: string): Graded => ({ score: null, rule: 'command', masked: `The scoring command ${why}.` });

/**
 * Runs the command for one message.
 * @throws EvaluatorLost if it cannot be started; CancelledError
 */
async function runScoringCommand(
  { command: [program = '', ...args], folder, timeLimit }: CommandSettings,
  { uid, question, answer }: Problem,
  text: string,
  signal: AbortSignal,
): Promise<Graded> {
  const { end, stdout, stderr } = await runOwned(
    {
      command: [program, ...args],
      env: withoutKeys(process.env),
      folder,
      input: `${JSON.stringify({ uid, question, answer, text })}\n`,
      milliseconds: timeLimit,
      most: MOST_OUTPUT,
    },
    signal,
  );
  switch (end.kind) {
    case 'unstarted':
      throw new EvaluatorLost(
        `The scoring command ${JSON.stringify(program.slice(0, MOST_WORDS))} could not be started (${toErrorMessage(end.error)}); check scorer.command.`,
        'the scoring command can be started',
      );
    case 'flood':
      return maskCommand(`printed ${MOST_OUTPUT} characters and more`);
    case 'late':
      return maskCommand(`took longer than ${timeLimit / 1000} s`);
    case 'signal':
      return maskCommand(`was ended by ${end.signal}${formatErrorOutput(stderr)}`);
    case 'exit':
      return end.code === 0
        ? readPrintedScore(stdout.trim())
        : maskCommand(`ended with ${end.code}${formatErrorOutput(stderr)}`);
  }
}

function formatErrorOutput(stderr: string): string {
  const words = toOneLine(stderr.trim(), MOST_WORDS);
  return words === '' ? '' : `: ${words}`;
}

function readPrintedScore(printed: string): Graded {
  const score = NUMBER.test(printed) ? Number(printed) : Number.NaN;
  return score >= 0 && score <= 1
    ? { score, rule: 'command' }
    : maskCommand(`printed ${JSON.stringify(printed.slice(0, 60))}, which is no number from 0 to 1`);
}
