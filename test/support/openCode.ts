/**
 * Opens a folder in VS Code with the extension: npm run code [-- FOLDER]. Uses the `code` on PATH.
 * Without it, serves the browser edition of VS Code until it is interrupted. dist/ must be built.
 */

import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { installExtension, serverArguments } from '../integration/harness/server.ts';
import { cacheFolder } from './cache.ts';
import { onPath } from './command.ts';
import { codeServer } from './tools.ts';

const ROOT = join(import.meta.dirname, '..', '..');

const folder = resolve(process.env['INIT_CWD'] ?? '.', process.argv[2] ?? '.');
const code = onPath('code');
if (code === undefined) {
  await serve();
} else {
  openDesktop(code);
}

function openDesktop(program: string): void {
  const args = [`--extensionDevelopmentPath=${ROOT}`, folder];
  // On Windows `code` is a script, which needs a shell and quoted paths.
  const shell = program.endsWith('.cmd');
  const child = spawn(shell ? `"${program}"` : program, shell ? args.map((arg) => `"${arg}"`) : args, {
    stdio: 'inherit',
    shell,
  });
  child.on('error', fail);
  child.on('close', (status) => {
    process.exitCode = status ?? 1;
  });
}

async function serve(): Promise<void> {
  const home = join(cacheFolder(), 'browser-edition');
  const extensions = join(home, 'extensions');
  await mkdir(join(home, 'data', 'User'), { recursive: true });
  await writeFile(join(home, 'config.yaml'), '');
  await rm(extensions, { recursive: true, force: true });
  await installExtension(extensions);
  const password = randomBytes(12).toString('base64url');
  const args = [...serverArguments(home, extensions), '--auth', 'password', '--bind-addr', '127.0.0.1:0', folder];
  const child = spawn(process.execPath, [await codeServer(), ...args], {
    env: { ...process.env, EXTENSIONS_GALLERY: '{}', PASSWORD: password },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  child.on('error', fail);
  child.stdout.on('data', (chunk: Buffer) => {
    const address = /HTTP server listening on (http:\/\/\S+)/.exec(chunk.toString('utf8'))?.[1];
    if (address !== undefined) {
      console.log(
        `VS Code's browser edition is at ${address}?folder=${encodeURIComponent(folder)}\nPassword: ${password}\nCtrl+C ends it.`,
      );
    }
  });
  child.on('close', (status) => {
    process.exitCode = status ?? 0;
  });
}

function fail(error: Error): void {
  console.error(error.message);
  process.exitCode = 1;
}
