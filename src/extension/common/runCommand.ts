/** Runs commands of the extension on behalf of its panels. */

import { commands } from 'vscode';

/** Runs a command and waits for its end. @param name the command id without its prefix `c3.` */
export async function runCommand(name: string, ...given: readonly unknown[]): Promise<void> {
  await commands.executeCommand(`c3.${name}`, ...given);
}
