/** A command of the command line, and what it has of the process that it works in. */
import type { Readable, Writable } from 'node:stream';
import { CancelledError } from '../../shared/errors.ts';

/** Where a command reads and writes. */
export type Input = Readable & { readonly isTTY?: boolean };
export type Output = Writable & { readonly isTTY?: boolean };

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
  /** Writes a line of progress or a remark to standard error. */
  readonly note: (line: string) => void;
  /** Says that the work was done and has shown that something is wrong: the exit code is 1. */
  readonly fails: () => void;
}

export interface Command {
  readonly usage: string;
  readonly summary: string;
  /**
   * Whether nothing is left half done: Ctrl+C then ends it at once, even if a damaged store keeps it reading without
   * end.
   */
  readonly onlyReads?: (args: readonly string[]) => boolean;
  readonly run: (args: readonly string[], context: CommandContext) => Promise<void>;
}

/** What a command works with. @param fails hears that its exit code is 1 */
export function contextOf(name: string, streams: Streams, fails: () => void): CommandContext {
  const { stdout, stderr, folder, signal } = streams;
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
      stdout.write(`${line}\n`);
    },
    note: (line) => {
      stderr.write(`${line}\n`);
    },
    fails,
  };
}
