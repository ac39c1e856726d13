/** Appends the folder of `c3` to the PATH of the editor's terminals. */

import { delimiter, join } from 'node:path';
import { Uri, type ExtensionContext } from 'vscode';
import { toErrorMessage } from '../../shared/errors.ts';
import type { Log } from '../common/log.ts';
import { createLauncher, writeLauncher } from './launcher.ts';

export function addToTerminals(
  { extensionUri, globalStorageUri, environmentVariableCollection: variables }: ExtensionContext,
  log: Log,
): void {
  const folder = join(globalStorageUri.fsPath, 'bin');
  const cli = Uri.joinPath(extensionUri, 'dist', 'cli.js').fsPath;
  try {
    writeLauncher(folder, createLauncher(process.platform, process.execPath, cli));
  } catch (error) {
    log.error(`c3 is not on the PATH of terminals: ${toErrorMessage(error)}`);
    return;
  }
  variables.description = 'Adds the command `c3`.';
  variables.append('PATH', `${delimiter}${folder}`);
}
