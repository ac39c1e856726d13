/** Asks the user a question at the terminal while a command runs. */

import { createInterface } from 'node:readline';
import { onAbort } from '../../shared/cancellation.ts';
import { CancelledError } from '../../shared/errors.ts';
import { writeWaitQuestion, type LongWait } from '../../shared/longWait.ts';
import type { CommandContext } from './command.ts';

/**
 * Asks whether to wait for a server.
 * @returns false for any answer other than yes, and without a terminal
 * @throws CancelledError
 */
export async function askAtTerminal(
  { streams: { stdin, stderr }, note, endProgress }: Pick<CommandContext, 'streams' | 'note' | 'endProgress'>,
  wait: LongWait,
  signal: AbortSignal,
): Promise<boolean> {
  if (stdin.isTTY !== true || stderr.isTTY !== true) {
    return false;
  }
  // The terminal edits the line itself, so that Ctrl+C still sends a signal.
  const lines = createInterface({ input: stdin, terminal: false });
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  lines.once('line', resolve).once('close', () => resolve(''));
  const release = onAbort(signal, () => reject(new CancelledError()));
  try {
    endProgress();
    stderr.write(`${writeWaitQuestion(wait)} [y/N] `);
    const waits = /^\s*y(?:es)?\s*$/iu.test(await promise);
    if (waits) {
      note(`Waiting until ${new Date(Date.now() + wait.milliseconds).toLocaleTimeString()}; Ctrl+C stops.`);
    }
    return waits;
  } finally {
    release();
    lines.close();
  }
}
