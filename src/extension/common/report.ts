/** Shows failures to the user: one line, a button for the remedy, and a button that opens the log. */

import { commands, Position, Range, Uri, window, workspace } from 'vscode';
import { C3Error, CancelledError, toErrorMessage, type ErrorAction } from '../../shared/errors.ts';
import type { Log } from './log.ts';
import { withoutLinks } from './plainText.ts';

/** Logs an error and shows it with its remedy. A cancellation is not shown. */
export async function showError(error: unknown, log: Log): Promise<void> {
  if (error instanceof CancelledError) {
    return;
  }
  const message = toErrorMessage(error);
  log.error(
    error instanceof Error && error.cause instanceof Error && error.cause.stack !== undefined
      ? `${message}\n${error.cause.stack}`
      : message,
  );
  const action = error instanceof C3Error ? error.action : null;
  const show = 'Show log';
  const chosen = await window.showErrorMessage(
    withoutLinks(message),
    ...(action === null ? [] : [labelAction(action)]),
    show,
  );
  if (chosen === show) {
    log.show();
  } else if (chosen !== undefined && action !== null) {
    await takeAction(action);
  }
}

function labelAction(action: ErrorAction): string {
  switch (action.kind) {
    case 'manageTrust':
      return 'Manage Workspace Trust';
    case 'openSetting':
      return `Open setting ${action.setting}`;
    case 'openPlace':
      return `Open line ${action.line}`;
  }
}

async function takeAction(action: ErrorAction): Promise<void> {
  if (action.kind === 'manageTrust') {
    await commands.executeCommand('workbench.trust.manage');
    return;
  }
  if (action.kind === 'openSetting') {
    // Workspace settings only if the workspace sets it: a read-only folder cannot keep settings.
    const ofWorkspace = workspace.getConfiguration().inspect(action.setting)?.workspaceValue !== undefined;
    const editor = ofWorkspace ? 'workbench.action.openWorkspaceSettings' : 'workbench.action.openSettings';
    await commands.executeCommand(editor, { query: `@id:${action.setting}` });
    return;
  }
  const document = await workspace.openTextDocument(Uri.file(action.file));
  const place = document.validatePosition(new Position(action.line - 1, action.column - 1));
  await window.showTextDocument(document, { selection: new Range(place, place) });
}
