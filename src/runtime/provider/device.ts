/** Chooses the provider of a run from the supported and requested ones, by self-tests. */

import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { listSupportedBackends } from 'onnxruntime-node';
import type { AbortFlag } from '../../shared/cancellation.ts';
import {
  AUTOMATIC,
  AUTOMATIC_PROVIDERS,
  DEFAULT_PROVIDER,
  isDefaultRequest,
  PROVIDERS,
  findTraits,
  type DeviceRequest,
  type ProbeReport,
  type Provider,
} from '../../shared/devices.ts';
import { toErrorMessage, CancelledError } from '../../shared/errors.ts';
import { Generator } from '../generate/generate.ts';
import { initialParameters } from '../model/model.ts';
import type { TransformerConfig } from '../model/transformer.ts';
import { streamKey } from '../random.ts';
import { processorName, type DeviceSettings } from '../session/session.ts';
import { Trainer } from '../train/trainer.ts';
import { initialState } from '../train/trainingState.ts';
import { describeInvariance, measureBatchInvariance } from './batchInvariance.ts';
import { testDevice } from './selfTest.ts';

/** `auto` needs a clearly faster device, so that a busy moment does not change the choice. */
const CLEARLY_FASTER = 1.5;
/** Time limit of the measurement. Only slow devices need longer for all shapes. */
const INVARIANCE_SECONDS = 4;

/**
 * Returns the providers that the installed ONNX Runtime supports. The libraries of CUDA may still be
 * missing, because they are a separate download.
 */
export function offeredProviders(): ReadonlySet<Provider> {
  const names = new Set(listSupportedBackends().map(({ name }) => name));
  return new Set(PROVIDERS.filter((provider) => names.has(provider)));
}

/** Examines one provider, in a process of its own that a failing driver may end. */
export type Probe = (provider: Provider, threads: number, timed: boolean) => Promise<ProbeReport>;

export interface ResolvedDevice {
  readonly settings: DeviceSettings;
  /** A remark about the choice for the user, or null if the run computes on the requested device. */
  readonly remark: string | null;
}

/**
 * Chooses the device of a run. A provider is used only if its self-test passes; otherwise the CPU
 * takes its place.
 * @param threads threads of the CPU
 */
export async function resolveDevice(
  request: DeviceRequest,
  threads: number,
  probe: Probe,
  offered = offeredProviders(),
): Promise<ResolvedDevice> {
  const cpu: DeviceSettings = { threads, provider: DEFAULT_PROVIDER, name: processorName() };
  if (isDefaultRequest(request)) {
    return { settings: cpu, remark: null };
  }
  const asked = request === AUTOMATIC ? AUTOMATIC_PROVIDERS : [request];
  const automatic = request === AUTOMATIC;
  const reasons: string[] = [];
  for (const provider of asked) {
    const { title } = findTraits({ provider });
    if (!offered.has(provider)) {
      // With `auto`, providers that this build lacks are not reported.
      if (!automatic) {
        reasons.push(`${title}: ${describeMissingProvider()}`);
      }
      continue;
    }
    const { passed, sentence, name, speedup } = await probe(provider, threads, automatic);
    if (!passed) {
      reasons.push(`${title}: ${sentence}`);
    } else if (automatic && (speedup === null || speedup < CLEARLY_FASTER)) {
      reasons.push(`${title}: not clearly faster than the CPU here`);
    } else {
      return {
        settings: { threads, provider, name },
        remark: automatic ? `The run computes on ${title} (${name}).` : null,
      };
    }
  }
  return {
    settings: cpu,
    remark: `${reasons.length === 0 ? 'No accelerator is available' : reasons.join('; ')}; the run computes on the CPU.`,
  };
}

export const describeMissingProvider = (): string =>
  `not available in this build (${process.platform}-${process.arch})`;

/**
 * Examines a provider in this process.
 * @param timed true to compare its speed with that of the CPU
 */
export async function examineProvider(provider: Provider, threads: number, timed: boolean): Promise<ProbeReport> {
  const name = await deviceName(provider);
  const device: DeviceSettings = { threads, provider, name };
  try {
    const { passed, sentence } = await testDevice(device);
    if (!passed) {
      return { ...failedProbe(sentence), name };
    }
    const measured = await measureBatchInvariance(device, INVARIANCE_SECONDS);
    const invariance = describeInvariance(measured);
    if (measured.differing > 0) {
      return { ...failedProbe(`failed: results depend on the batch (${invariance})`), invariance, name };
    }
    return { passed, sentence, invariance, name, speedup: timed ? await measureSpeedup(device) : null };
  } catch (error) {
    return { ...failedProbe(shortenProviderError(toErrorMessage(error))), name };
  }
}

/** Returns the report of a provider that cannot be trusted. */
export const failedProbe = (sentence: string): ProbeReport => ({
  passed: false,
  sentence,
  invariance: null,
  name: '',
  speedup: null,
});

/** Returns the speedup over the CPU, or null if the device is slower. */
async function measureSpeedup(device: DeviceSettings): Promise<number | null> {
  const cpu = await measureDeviceSeconds({ threads: device.threads }, Infinity);
  if (cpu === null) {
    return null;
  }
  const seconds = await measureDeviceSeconds(device, cpu);
  return seconds === null ? null : cpu / seconds;
}

export function shortenProviderError(message: string): string {
  if (/No supported adapters|Failed to get a WebGPU adapter/.test(message)) {
    return 'no adapter found';
  }
  if (/Failed to load shared library|cannot open shared object/.test(message)) {
    return 'its libraries are not installed';
  }
  if (/backend not found|no available backend/.test(message)) {
    return describeMissingProvider();
  }
  const line = message.replace(/\s+/g, ' ').trim();
  return line.length > 200 ? `${line.slice(0, 199)}…` : line;
}

// The device names of providers. ONNX Runtime does not report its adapter, so these are the adapters
// that the system lists: enough to distinguish results of different graphics hardware.

const MAX_LENGTH = 200;
const DISPLAY_CLASS = 'HKLM\\SYSTEM\\CurrentControlSet\\Control\\Class\\{4d36e968-e325-11ce-bfc1-08002be10318}';
const UNNAMED = 'graphics adapter without a name';

/**
 * Returns the name of a provider's device: the processor for the CPU, otherwise the graphics adapters
 * that the system lists, or the Vulkan driver that the environment forces.
 */
export async function deviceName(
  provider: Provider,
  platform: NodeJS.Platform = process.platform,
  root = '/',
): Promise<string> {
  // Apple's graphics are part of the processor.
  if (!findTraits({ provider }).accelerator || platform === 'darwin') {
    return processorName();
  }
  const names = await listGraphicsAdapters(provider, platform, root).catch(() => []);
  return (names.length === 0 ? UNNAMED : [...new Set(names)].join(', ')).slice(0, MAX_LENGTH);
}

async function listGraphicsAdapters(provider: Provider, platform: NodeJS.Platform, root: string): Promise<string[]> {
  if (platform === 'win32') {
    return parseDriverDescriptions(
      (await promisify(execFile)('reg', ['query', DISPLAY_CLASS, '/s', '/v', 'DriverDesc'], { timeout: 5000 })).stdout,
    );
  }
  const forced = process.env['VK_DRIVER_FILES'] ?? process.env['VK_ICD_FILENAMES'];
  if (findTraits({ provider }).vulkan && forced !== undefined && forced !== '') {
    return forced.split(':').map((file) => `Vulkan driver ${basename(file, '.json')}`);
  }
  const named = await readNvidiaModels(root);
  return named.length > 0 ? named : await readPciAdapters(root);
}

/** Reads names from the registry's listing: `    DriverDesc    REG_SZ    Name`. */
export const parseDriverDescriptions = (listing: string): string[] =>
  Array.from(listing.matchAll(/^\s*DriverDesc\s+REG_SZ\s+(.+?)\s*$/gm), ([, name = '']) => name);

/** Reads `Model: NVIDIA H100` from /proc/driver/nvidia/gpus/<address>/information. */
async function readNvidiaModels(root: string): Promise<string[]> {
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

/** Reads the PCI identity of each card below /sys/class/drm. */
async function readPciAdapters(root: string): Promise<string[]> {
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

// The speed of a device on the work of a run: the measurement behind `device: auto`.

/** The sizes of the bundled team's model, with fewer layers. */
const SHAPE: TransformerConfig = {
  vocabularySize: 512,
  hiddenSize: 192,
  intermediateSize: 512,
  layers: 2,
  heads: 6,
  keyValueHeads: 3,
  headDim: 32,
  rmsEpsilon: 1e-6,
  ropeTheta: 10000,
  maxPositions: 128,
  tieEmbeddings: true,
};
const ROWS = 32;
const NEW_TOKENS = 16;
/** Seconds that compiling shaders may take. */
const WARM_UP = 3;

/**
 * Measures the seconds of one small generation and one optimizer step on its completions, with warm
 * graphs.
 * @param limit seconds after which it stops between two steps of the work; the first, cold round has
 *   WARM_UP more
 * @returns null if it stopped
 */
async function measureDeviceSeconds(device: DeviceSettings, limit: number): Promise<number | null> {
  const parameters = initialParameters(SHAPE, 1);
  const requests = Array.from({ length: ROWS }, (_, row) => ({
    prompt: Int32Array.from({ length: 16 }, (__, position) => (31 * row + 7 * position) % SHAPE.vocabularySize),
    maxNewTokens: NEW_TOKENS,
    endToken: -1,
    temperature: 1,
    topP: 1,
    topK: 0,
    streamKey: streamKey({ seed: 0, scope: 'speed', uidSha: '', role: '', turn: 0, sibling: row }),
  }));
  const generator = await Generator.create(SHAPE, device);
  const trainer = new Trainer(SHAPE, device);
  const round = async (end: number): Promise<void> => {
    // Native calls block the timers of the thread, so the clock is read directly.
    const signal: AbortFlag = {
      get aborted() {
        return performance.now() > end;
      },
    };
    const completions = await generator.generate(parameters, requests, { signal });
    const contexts = completions.map(({ tokens, logprobs }, row) => ({
      prompt: requests[row]?.prompt ?? new Int32Array(),
      messages: [{ tokens, behaviour: logprobs, reference: logprobs, advantages: logprobs }],
    }));
    await trainer.step(
      initialState(parameters),
      contexts,
      { loss: 'ppo', learningRate: 1e-4, temperature: 1, klCoefficient: 0.01 },
      signal,
    );
  };
  try {
    await round(performance.now() + 1000 * (limit + WARM_UP));
    const started = performance.now();
    await round(started + 1000 * limit);
    return (performance.now() - started) / 1000;
  } catch (error) {
    if (error instanceof CancelledError) {
      return null;
    }
    throw error;
  } finally {
    await generator.release();
    await trainer.release();
  }
}
