/** How a failure reaches the user: one line, with the way to the log. Cancellation is no failure. */
import { window } from 'vscode';
import { CancelledError, messageOf } from '../shared/errors.ts';
import type { Log } from './log.ts';
import { withoutLinks } from './plainText.ts';

/** Shows what went wrong and offers the log. */
export async function report(error: unknown, log: Log): Promise<void> {
  if (error instanceof CancelledError) return;
  const message = messageOf(error);
  log.error(error instanceof Error && error.cause instanceof Error && error.cause.stack !== undefined ? `${message}\n${error.cause.stack}` : message);
  const show = 'Show log';
  if ((await window.showErrorMessage(withoutLinks(message), show)) === show) log.show();
}
