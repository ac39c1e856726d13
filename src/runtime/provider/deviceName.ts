/**
 * The name of the device behind a provider. ONNX Runtime does not say which adapter it took, so this names what the
 * system offers it: enough to keep results of one machine's graphics apart from another's.
 */
import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { traitsOf, type Provider } from '../../shared/devices.ts';
import { processorName } from '../session/session.ts';

const MAX_LENGTH = 200;
const DISPLAY_CLASS = 'HKLM\\SYSTEM\\CurrentControlSet\\Control\\Class\\{4d36e968-e325-11ce-bfc1-08002be10318}';
const UNNAMED = 'graphics adapter without a name';

/**
 * The provider's device. On the CPU the processor; elsewhere the graphics adapters that the system lists, or the Vulkan
 * driver that the environment forces.
 */
export async function deviceName(
  provider: Provider,
  platform: NodeJS.Platform = process.platform,
  root = '/',
): Promise<string> {
  // Apple's graphics are part of the processor.
  if (!traitsOf({ provider }).accelerator || platform === 'darwin') {
    return processorName();
  }
  const names = await adapters(provider, platform, root).catch(() => []);
  return (names.length === 0 ? UNNAMED : [...new Set(names)].join(', ')).slice(0, MAX_LENGTH);
}

async function adapters(provider: Provider, platform: NodeJS.Platform, root: string): Promise<string[]> {
  if (platform === 'win32') {
    return driverDescriptions(
      (await promisify(execFile)('reg', ['query', DISPLAY_CLASS, '/s', '/v', 'DriverDesc'], { timeout: 5000 })).stdout,
    );
  }
  const forced = process.env['VK_DRIVER_FILES'] ?? process.env['VK_ICD_FILENAMES'];
  if (traitsOf({ provider }).vulkan && forced !== undefined && forced !== '') {
    return forced.split(':').map((file) => `Vulkan driver ${basename(file, '.json')}`);
  }
  const named = await nvidiaModels(root);
  return named.length > 0 ? named : await pciAdapters(root);
}

/** Names out of the registry's listing: `    DriverDesc    REG_SZ    Name`. */
export const driverDescriptions = (listing: string): string[] =>
  Array.from(listing.matchAll(/^\s*DriverDesc\s+REG_SZ\s+(.+?)\s*$/gm), ([, name = '']) => name);

/** `Model: NVIDIA H100` in /proc/driver/nvidia/gpus/<address>/information. */
async function nvidiaModels(root: string): Promise<string[]> {
  const folder = join(root, 'proc', 'driver', 'nvidia', 'gpus');
  const names: string[] = [];
  for (const address of (await readdir(folder).catch(() => [])).sort()) {
    const text = await readFile(join(folder, address, 'information'), 'utf8').catch(() => '');
    const model = /^Model:\s*(.+?)\s*$/m.exec(text)?.[1];
    if (model !== undefined) {
      names.push(model);
    }
  }
  return names;
}

/** PCI identity of each card below /sys/class/drm. */
async function pciAdapters(root: string): Promise<string[]> {
  const folder = join(root, 'sys', 'class', 'drm');
  const names: string[] = [];
  for (const card of (await readdir(folder).catch(() => [])).filter((name) => /^card\d+$/.test(name)).sort()) {
    const [vendor, device] = await Promise.all(
      ['vendor', 'device'].map((file) => readFile(join(folder, card, 'device', file), 'utf8').catch(() => '')),
    );
    if (vendor !== undefined && vendor !== '') {
      names.push(`PCI ${vendor.trim()}:${(device ?? '').trim()}`);
    }
  }
  return names;
}
