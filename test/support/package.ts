/**
 * Packages the built extension for one platform: node test/support/package.ts [--target linux-x64]
 * The package holds the native binaries of that platform only.
 */

import { constants } from 'node:fs';
import { copyFile, glob, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { run } from './command.ts';
import { vsce } from './tools.ts';

const ROOT = join(import.meta.dirname, '..', '..');

/** Platforms for which both native packages have binaries. */
const TARGETS = ['linux-x64', 'linux-arm64', 'win32-x64', 'win32-arm64', 'darwin-arm64'];
const THIS_PLATFORM = `${process.platform}-${process.arch}`;

/**
 * Packages dist/ as it is.
 * @param target a platform in VS Code's notation; the default is this machine's
 * @param into the folder of the package, which is created if it is missing
 * @returns the absolute path of the .vsix file
 */
export async function packageExtension(target = THIS_PLATFORM, into = join(ROOT, 'dist')): Promise<string> {
  if (!TARGETS.includes(target)) {
    throw new Error(`There is no package for "${target}": choose one of ${TARGETS.join(', ')}.`);
  }
  const vsix = join(into, `c3-replay-${target}.vsix`);
  const folder = await mkdtemp(join(tmpdir(), 'c3-package-'));
  try {
    const list = join(folder, 'vscodeignore');
    await writeFile(list, (await readPackageList(target)).join('\n'));
    const args = [
      ...['package', '--target', target, '--out', vsix, '--ignoreFile', list],
      ...['--allow-missing-repository', '--no-rewrite-relative-links'],
    ];
    await run(process.execPath, [await vsce(), ...args], { cwd: ROOT });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return vsix;
}

/** Returns the sorted paths of the files in a package for a platform, relative to the root. */
export async function listPackagedFiles(target = THIS_PLATFORM): Promise<readonly string[]> {
  const kept = (await readPackageList(target)).flatMap((line) => (line.startsWith('!') ? line.slice(1) : []));
  const files: string[] = [];
  for await (const entry of glob(kept, { cwd: ROOT, withFileTypes: true })) {
    if (entry.isFile()) {
      files.push(relative(ROOT, join(entry.parentPath, entry.name)).replaceAll('\\', '/'));
    }
  }
  return files.sort();
}

/** Copies the files of a package for this platform into a folder. */
export async function copyPackaged(into: string): Promise<void> {
  for (const file of await listPackagedFiles()) {
    await mkdir(dirname(join(into, file)), { recursive: true });
    await copyFile(join(ROOT, file), join(into, file), constants.COPYFILE_FICLONE);
  }
}

/**
 * Returns the lines of the .vscodeignore: all files are excluded, and lines with "!" include files.
 */
async function readPackageList(target: string): Promise<readonly string[]> {
  return [
    ...(await readFile(join(ROOT, '.vscodeignore'), 'utf8')).trimEnd().split('\n'),
    // Only the native parts of this platform.
    `!node_modules/better-sqlite3/prebuilds/${target}.node`,
    `!node_modules/onnxruntime-node/bin/*/${target.replace('-', '/')}/**`,
  ];
}

if (process.argv[1] === import.meta.filename) {
  const flag = process.argv.indexOf('--target');
  try {
    console.log(`Packaged ${await packageExtension(flag < 0 ? undefined : process.argv[flag + 1])}`);
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  }
}
