/** The type of a command, and its context in the process that runs it. */

import type { Readable, Writable } from 'node:stream';
import { CancelledError } from '../../shared/errors.ts';
import { readArguments } from './arguments.ts';
import type { Declaration, Given } from './declared/declaration.ts';

export type Input = Readable & { readonly isTTY?: boolean };
export type Output = Writable & { readonly isTTY?: boolean; readonly columns?: number };

/** Streams and environment of the process that a command runs in. */
export interface Streams {
  readonly stdin: Input;
  readonly stdout: Output;
  readonly stderr: Output;
  /** True if these are the process's own streams, which a started program can inherit. */
  readonly areInherited: boolean;
  /** The current folder. */
  readonly folder: string;
  readonly env: Readonly<NodeJS.ProcessEnv>;
  /** Aborts when the command must stop: the reader of its output has left, or Ctrl+C was typed. */
  readonly signal: AbortSignal;
}

export interface CommandContext {
  /** The command's name as typed. */
  readonly name: string;
  readonly streams: Streams;
  /** The folder that relative paths start from. */
  readonly folder: string;
  readonly signal: AbortSignal;
  /** Writes a line of the result. @throws CancelledError if the reader of the output has left */
  readonly print: (line: string) => void;
  /** Writes a remark to standard error. */
  readonly note: (line: string) => void;
  /** Shows progress in one line, which is replaced each time. Only on a terminal. */
  readonly showProgress: (line: string) => void;
  /** Ends the line of progress, if one is shown. */
  readonly endProgress: () => void;
  /** Reports that the work was done and found something wrong: the exit code becomes 1. */
  readonly fails: () => void;
}

/** A command: its declaration, and the function that runs it. */
export interface Command {
  readonly declared: Declaration;
  readonly run: (args: readonly string[], context: CommandContext) => Promise<void>;
}

/** The work of a command on its parsed arguments. */
export type CommandWork<Declared extends Declaration> = (
  given: Given<Declared>,
  context: CommandContext,
) => Promise<void>;

/** Creates a command that loads its work only after its arguments are parsed. */
export const defineCommand = <Declared extends Declaration>(
  declared: Declared,
  load: () => Promise<CommandWork<Declared>>,
): Command => ({
  declared,
  run: async (args, context) => {
    const given = readArguments(declared, args);
    await (
      await load()
    )(given, context);
  },
});

/** Creates the context of a command. @param fails is called when the exit code becomes 1 */
export function createCommandContext(name: string, streams: Streams, fails: () => void): CommandContext {
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
      // The reader has closed the output, so further work would be lost.
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
