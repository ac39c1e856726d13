/** A command of the command line, and what it has of the process that it works in. */
import type { Readable, Writable } from 'node:stream';
import { CancelledError } from '../../shared/errors.ts';
import { readArguments } from './arguments.ts';
import type { Declaration, Given } from './declared/declaration.ts';

/** Where a command reads and writes. */
export type Input = Readable & { readonly isTTY?: boolean };
export type Output = Writable & { readonly isTTY?: boolean; readonly columns?: number };

/** What a command has of the process that it works in. */
export interface Streams {
  readonly stdin: Input;
  readonly stdout: Output;
  readonly stderr: Output;
  /** Whether the streams are those of the process, so that a program that a command starts has them as they are. */
  readonly areInherited: boolean;
  /** The current folder. */
  readonly folder: string;
  readonly env: Readonly<NodeJS.ProcessEnv>;
  /** Aborts where the command is to stop: its reader has left, or Ctrl+C was typed. */
  readonly signal: AbortSignal;
}

export interface CommandContext {
  /** The command's name, as it was typed. */
  readonly name: string;
  readonly streams: Streams;
  /** The folder that paths are relative to. */
  readonly folder: string;
  readonly signal: AbortSignal;
  /** Writes a line of the result. @throws CancelledError where its reader has left */
  readonly print: (line: string) => void;
  /** Writes a remark to standard error. */
  readonly note: (line: string) => void;
  /**
   * Shows how far the work is, on a terminal alone: the line takes the place of the one before, and whatever is written
   * next begins below it.
   */
  readonly showProgress: (line: string) => void;
  /** Ends the line of progress, where one is shown. */
  readonly endProgress: () => void;
  /** Says that the work was done and has shown that something is wrong: the exit code is 1. */
  readonly fails: () => void;
}

/** A command: how it is declared, and what it does with the arguments that it is given. */
export interface Command {
  readonly declared: Declaration;
  readonly run: (args: readonly string[], context: CommandContext) => Promise<void>;
}

/** What a command does with what it is given. */
export type Work<Declared extends Declaration> = (given: Given<Declared>, context: CommandContext) => Promise<void>;

/** A command that loads what it does once its arguments are read. */
export const command = <Declared extends Declaration>(
  declared: Declared,
  load: () => Promise<Work<Declared>>,
): Command => ({
  declared,
  run: async (args, context) => {
    const given = readArguments(declared, args);
    await (
      await load()
    )(given, context);
  },
});

/** What a command works with. @param fails hears that its exit code is 1 */
export function contextOf(name: string, streams: Streams, fails: () => void): CommandContext {
  const { stdout, stderr, folder, signal } = streams;
  let isProgressShown = false;
  const endProgress = (): void => {
    if (isProgressShown) {
      stderr.write('\n');
    }
    isProgressShown = false;
  };
  return {
    name,
    streams,
    folder,
    signal,
    print: (line) => {
      // The reader has closed the output: further work would be lost.
      if (stdout.errored !== null) {
        throw new CancelledError();
      }
      endProgress();
      stdout.write(`${line}\n`);
    },
    note: (line) => {
      endProgress();
      stderr.write(`${line}\n`);
    },
    showProgress: (line) => {
      if (stderr.isTTY === true) {
        stderr.write(`\r\u001b[2K${line}`);
        isProgressShown = true;
      }
    },
    endProgress,
    fails,
  };
}
