/** Writes the program `c3` for terminals, which starts the command line with the extension's Node. */

import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Launcher {
  readonly name: string;
  readonly text: string;
}

/**
 * Returns the launcher for a platform.
 * @param node path of the editor's executable or of Node
 * @param cli path of the command line's entry
 */
export function createLauncher(platform: NodeJS.Platform, node: string, cli: string): Launcher {
  if (platform === 'win32') {
    // In a batch file, a single percent sign begins a variable.
    const quoted = [node, cli].map((path) => `"${path.replaceAll('%', '%%')}"`);
    return { name: 'c3.cmd', text: `@set ELECTRON_RUN_AS_NODE=1\r\n@${quoted.join(' ')} %*\r\n` };
  }
  const quoted = [node, cli].map((path) => `'${path.replaceAll("'", String.raw`'\''`)}'`);
  return { name: 'c3', text: `#!/bin/sh\nELECTRON_RUN_AS_NODE=1 exec ${quoted.join(' ')} "$@"\n` };
}

/** Writes a launcher if it is missing or differs. @throws the error of the file system */
export function writeLauncher(folder: string, { name, text }: Launcher): void {
  const file = join(folder, name);
  mkdirSync(folder, { recursive: true });
  if (tryReadText(file) !== text) {
    writeFileSync(file, text);
  }
  chmodSync(file, 0o755);
}

function tryReadText(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return null;
  }
}
