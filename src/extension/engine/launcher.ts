/** The program `c3` for terminals: starts the command line with the Node that the extension runs on. */
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Launcher {
  readonly name: string;
  readonly text: string;
}

/**
 * @param node the editor's own program, or a Node
 * @param cli the entry of the command line
 */
export function launcherOf(platform: NodeJS.Platform, node: string, cli: string): Launcher {
  if (platform === 'win32') {
    // A percent sign names a variable.
    const quoted = [node, cli].map((path) => `"${path.replaceAll('%', '%%')}"`);
    return { name: 'c3.cmd', text: `@set ELECTRON_RUN_AS_NODE=1\r\n@${quoted.join(' ')} %*\r\n` };
  }
  const quoted = [node, cli].map((path) => `'${path.replaceAll("'", String.raw`'\''`)}'`);
  return { name: 'c3', text: `#!/bin/sh\nELECTRON_RUN_AS_NODE=1 exec ${quoted.join(' ')} "$@"\n` };
}

/** Writes it where it is not already so. @throws what the system says */
export function writeLauncher(folder: string, { name, text }: Launcher): void {
  const file = join(folder, name);
  mkdirSync(folder, { recursive: true });
  if (textOf(file) !== text) {
    writeFileSync(file, text);
  }
  chmodSync(file, 0o755);
}

function textOf(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return null;
  }
}
