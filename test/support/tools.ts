/**
 * Programs that the integration tests need in addition to the project's dependencies. Each is
 * installed into the cache on first use.
 */

import { existsSync } from 'node:fs';
import { readdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { cacheFolder, installOnce } from './cache.ts';
import { aptInstall, npm, onPath, run } from './command.ts';

/** code-server 4.139.1 is VS Code 1.139.1: server, web workbench and Node extension host. */
const CODE_SERVER = '4.139.1';
const VSCE = '4.1.0';

const NPM_QUIET = ['--no-audit', '--no-fund', '--loglevel', 'error'];
const PLATFORM = `${process.platform}-${process.arch}`;

/**
 * Returns the script that starts code-server. Run it with the Node of this process, for which its
 * native parts are built.
 * @throws Error in one sentence if code-server cannot run here (Windows, or no C++ compiler)
 */
export async function codeServer(): Promise<string> {
  if (process.platform === 'win32') {
    throw new Error(
      'The tests in a real VS Code need Linux or macOS (code-server does not run on Windows): run them there, or in WSL.',
    );
  }
  const folder = await installOnce(
    `code-server-${CODE_SERVER}-${PLATFORM}-abi${process.versions.modules}`,
    installCodeServer,
  );
  return join(folder, 'node_modules', 'code-server', 'out', 'node', 'entry.js');
}

async function installCodeServer(folder: string): Promise<void> {
  if (onPath('g++', 'clang++') === undefined || onPath('make') === undefined || onPath('python3') === undefined) {
    if (!(await aptInstall(['g++', 'make', 'python3']))) {
      throw new Error(
        'Building the native parts of code-server needs a C++ compiler, make and python3: install them and run the tests again.',
      );
    }
  }
  console.log(`Installing code-server ${CODE_SERVER} into ${cacheFolder()} (once, about a minute) ...`);
  const env = { ...process.env };
  // The Node from npm has its headers beside it. For another Node, the build tool finds the
  // headers.
  const nodeFolder = dirname(dirname(process.execPath));
  if (existsSync(join(nodeFolder, 'include', 'node', 'node.h'))) {
    env['npm_config_nodedir'] = nodeFolder;
  }
  await writeFile(join(folder, 'package.json'), '{ "private": true }\n');
  await npm(['install', '--ignore-scripts', ...NPM_QUIET, `code-server@${CODE_SERVER}`], { cwd: folder, env });
  const editor = join(folder, 'node_modules', 'code-server', 'lib', 'vscode');
  await npm(['install', '--omit=dev', '--ignore-scripts', ...NPM_QUIET], { cwd: editor, env });
  console.log('  building its native parts ...');
  await npm(['rebuild', '--ignore-scripts=false', ...NPM_QUIET, '@vscode/spdlog', '@vscode/native-watchdog'], {
    cwd: editor,
    env,
  });
  await npm(['install', '--omit=dev', '--ignore-scripts', ...NPM_QUIET], { cwd: join(editor, 'extensions'), env });
}

/** Returns the script of vsce, which packages extensions. Run it with the Node of this process. */
export async function vsce(): Promise<string> {
  const folder = await installOnce(`vsce-${VSCE}`, async (target) => {
    console.log(`Installing vsce ${VSCE} into ${cacheFolder()} (once) ...`);
    await writeFile(join(target, 'package.json'), '{ "private": true }\n');
    await npm(['install', '--ignore-scripts', ...NPM_QUIET, `@vscode/vsce@${VSCE}`], { cwd: target });
  });
  return join(folder, 'node_modules', '@vscode', 'vsce', 'vsce');
}

/**
 * Returns the path of a Chromium that starts: one on PATH, Debian's package, or Playwright's
 * download.
 * @throws Error in one sentence if none of the three is available
 */
export async function chromium(): Promise<string> {
  const found = await workingChromium();
  if (found !== undefined) {
    return found;
  }
  try {
    await aptInstall(['chromium', 'fonts-dejavu-core']);
    const installed = await workingChromium();
    if (installed !== undefined) {
      return installed;
    }
    return await playwrightChromium();
  } catch (error) {
    throw new Error(
      'The tests in a real VS Code need Chromium, and none could be installed: install chromium or google-chrome and run the tests again.',
      { cause: error },
    );
  }
}

async function workingChromium(): Promise<string | undefined> {
  for (const name of ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']) {
    const path = onPath(name);
    // On some systems the program of this name is a script that only explains how to install it.
    if (
      path !== undefined &&
      (await run(path, ['--version']).then(
        () => true,
        () => false,
      ))
    ) {
      return path;
    }
  }
  return undefined;
}

async function playwrightChromium(): Promise<string> {
  const browsers = join(cacheFolder(), 'browsers');
  console.log(`Downloading Chromium into ${browsers} (once) ...`);
  const script = join(import.meta.dirname, '..', '..', 'node_modules', 'playwright-core', 'cli.js');
  await run(process.execPath, [script, 'install', 'chromium-headless-shell'], {
    env: { ...process.env, PLAYWRIGHT_BROWSERS_PATH: browsers },
  });
  for (const entry of await readdir(browsers, { recursive: true })) {
    if (/(^|[\\/])(chrome-)?headless[_-]shell$/.test(entry)) {
      return join(browsers, entry);
    }
  }
  throw new Error(`Playwright's download left no Chromium in ${browsers}.`);
}
