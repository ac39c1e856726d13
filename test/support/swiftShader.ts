/**
 * WebGPU without a GPU: SwiftShader, Chromium's software renderer, behind the system's Vulkan
 * loader.
 */

import { existsSync, realpathSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { aptInstall, run } from './command.ts';
import { chromium } from './tools.ts';

const DRIVER = 'vk_swiftshader_icd.json';
const DEBIAN = '/usr/lib/chromium';

/**
 * Makes WebGPU of this process and its children use SwiftShader, and installs missing parts. Does
 * nothing on systems other than Linux. Call it before the first WebGPU session.
 * @throws Error in one sentence if the driver or the loader is not available
 */
export async function useSwiftShader(): Promise<void> {
  if (process.platform !== 'linux') {
    return;
  }
  process.env['VK_ICD_FILENAMES'] = await installSwiftShader();
  process.env['XDG_RUNTIME_DIR'] ??= tmpdir();
}

/**
 * Installs missing parts on Linux.
 * @returns the driver's file
 * @throws Error in one sentence if the driver or the loader is not available
 */
export async function installSwiftShader(): Promise<string> {
  const found = await driver();
  if (!(await hasLoader()) && !((await aptInstall(['libvulkan1'])) && (await hasLoader()))) {
    throw new Error(
      'The WebGPU tests need the Vulkan loader libvulkan.so.1: install libvulkan1 (Debian, Ubuntu) or vulkan-loader and run the tests again.',
    );
  }
  return found;
}

async function driver(): Promise<string> {
  const installed = join(DEBIAN, DRIVER);
  if (existsSync(installed)) {
    return installed;
  }
  const program = await chromium();
  for (const folder of [DEBIAN, dirname(realpathSync(program))]) {
    if (existsSync(join(folder, DRIVER))) {
      return join(folder, DRIVER);
    }
  }
  throw new Error(
    `The WebGPU tests need SwiftShader, and ${program} comes without ${DRIVER}: install Debian's chromium, or Google Chrome.`,
  );
}

const hasLoader = (): Promise<boolean> =>
  run('/bin/sh', ['-c', '/sbin/ldconfig -p | grep -F libvulkan.so.1']).then(
    () => true,
    () => false,
  );
