/** Commands of the extension, as its panels give them. */
import { commands } from 'vscode';

/** Gives a command, without its prefix, and waits until it is done. */
export async function runCommand(name: string, ...given: readonly unknown[]): Promise<void> {
  await commands.executeCommand(`c3.${name}`, ...given);
}
