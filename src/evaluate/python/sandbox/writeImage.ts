/** Writes the memory image from which sandboxes start; part of the build. */

import { rename, writeFile } from 'node:fs/promises';
import { pathToFileURL } from 'node:url';
import { DEFAULT_LIMITS } from '../rules.ts';
import { SandboxProcess } from './sandboxProcess.ts';

/**
 * Writes the image.
 * @param program the sandbox's bundle
 * @param pyodide the folder of the package pyodide
 * @param to the path of the image
 * @throws SandboxFailure if sandboxes do not start on this machine
 */
export async function writeImage(program: string, pyodide: string, to: string): Promise<void> {
  const places = { entry: pathToFileURL(program), pyodide, image: null };
  const image = await SandboxProcess.image(places, DEFAULT_LIMITS, () => undefined);
  // Written whole or not at all, because a build can be ended at any time.
  await writeFile(`${to}.new`, image);
  await rename(`${to}.new`, to);
}
