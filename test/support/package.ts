/**
 * Packages the built extension for one platform: node test/support/package.ts [--target linux-x64]
 * The package holds the native binaries of that platform only.
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from './command.ts';
import { vsce } from './tools.ts';

const ROOT = join(import.meta.dirname, '..', '..');

/** Platforms for which both native packages carry binaries. */
const TARGETS = ['linux-x64', 'linux-arm64', 'win32-x64', 'win32-arm64', 'darwin-arm64'];

/**
 * Packages dist/ as it is.
 * @param target a platform as VS Code names it; this machine's when left out
 * @param into the folder of the package; it is made where it is missing
 * @returns the absolute path of the .vsix file
 */
export async function packageExtension(
  target = `${process.platform}-${process.arch}`,
  into = join(ROOT, 'dist'),
): Promise<string> {
  if (!TARGETS.includes(target)) {
    throw new Error(`There is no package for "${target}": choose one of ${TARGETS.join(', ')}.`);
  }
  const vsix = join(into, `c3-replay-${target}.vsix`);
  await withList(target, async (list) => {
    const args = [
      'package',
      '--target',
      target,
      '--out',
      vsix,
      '--ignoreFile',
      list,
      '--allow-missing-repository',
      '--no-rewrite-relative-links',
    ];
    await run(process.execPath, [await vsce(), ...args], { cwd: ROOT });
  });
  return vsix;
}

/** The files that a package for a platform would hold, by their paths. */
export async function packagedFiles(target = `${process.platform}-${process.arch}`): Promise<readonly string[]> {
  const printed = await withList(target, async (list) =>
    run(process.execPath, [await vsce(), 'ls', '--ignoreFile', list], { cwd: ROOT, all: true }),
  );
  return printed.split('\n').filter((line) => line !== '');
}

/** The list of what is packaged, with the native parts of one platform. */
async function withList<Result>(target: string, work: (list: string) => Promise<Result>): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), 'c3-package-'));
  try {
    const list = join(folder, 'vscodeignore');
    const binaries = [
      `!node_modules/better-sqlite3/prebuilds/${target}.node`,
      `!node_modules/onnxruntime-node/bin/*/${target.replace('-', '/')}/**`,
    ];
    await writeFile(list, `${await readFile(join(ROOT, '.vscodeignore'), 'utf8')}${binaries.join('\n')}\n`);
    return await work(list);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
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
