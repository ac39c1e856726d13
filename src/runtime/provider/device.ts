/** Which provider a run computes on: what the runtime offers, what was asked for, and what passed its self-test. */
import { listSupportedBackends } from 'onnxruntime-node';
import {
  AUTOMATIC,
  AUTOMATIC_PROVIDERS,
  DEFAULT_PROVIDER,
  isDefaultRequest,
  PROVIDERS,
  traitsOf,
  type DeviceRequest,
  type ProbeReport,
  type Provider,
} from '../../shared/devices.ts';
import { messageOf } from '../../shared/errors.ts';
import { processorName, type DeviceSettings } from '../session/session.ts';
import { describeInvariance, measureBatchInvariance } from './batchInvariance.ts';
import { deviceName } from './deviceName.ts';
import { deviceSeconds } from './deviceSpeed.ts';
import { deviceSelfTest } from './selfTest.ts';

/** `auto` leaves the CPU only for a device that is clearly faster, so that a busy moment does not change the choice. */
const CLEARLY_FASTER = 1.5;
/** A device on which this is not enough for every shape is a slow one. */
const INVARIANCE_SECONDS = 4;

/**
 * Providers that the installed runtime knows; CUDA's libraries may still be missing, for they are a download of their
 * own.
 */
export function offeredProviders(): ReadonlySet<Provider> {
  const names = new Set(listSupportedBackends().map(({ name }) => name));
  return new Set(PROVIDERS.filter((provider) => names.has(provider)));
}

/** Examines one provider; runs in a process of its own, because a driver that fails may take its process with it. */
export type Probe = (provider: Provider, threads: number, timed: boolean) => Promise<ProbeReport>;

export interface ResolvedDevice {
  readonly settings: DeviceSettings;
  /** What the user should know of the choice; null where the run computes on what was asked for. */
  readonly remark: string | null;
}

/**
 * Decides where a run computes. Whatever was asked for, a provider is trusted only when its self-test passed, and the
 * CPU takes its place otherwise.
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
    const { title } = traitsOf({ provider });
    if (!offered.has(provider)) {
      // Whoever asks for nothing in particular need not hear what this machine's build lacks.
      if (!automatic) {
        reasons.push(`${title}: ${notOffered()}`);
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

export const notOffered = (): string => `not available in this build (${process.platform}-${process.arch})`;

/** Examines a provider in this process. @param timed also compares its speed with the CPU's */
export async function examineProvider(provider: Provider, threads: number, timed: boolean): Promise<ProbeReport> {
  const name = await deviceName(provider);
  const device: DeviceSettings = { threads, provider, name };
  try {
    const { passed, sentence } = await deviceSelfTest(device);
    if (!passed) {
      return { ...untested(sentence), name };
    }
    const measured = await measureBatchInvariance(device, INVARIANCE_SECONDS);
    const invariance = describeInvariance(measured);
    if (measured.differing > 0) {
      return { ...untested(`failed: results depend on the batch (${invariance})`), invariance, name };
    }
    return { passed, sentence, invariance, name, speedup: timed ? await measureSpeedup(device) : null };
  } catch (error) {
    return { ...untested(plainReason(messageOf(error))), name };
  }
}

/** The report of a provider that cannot be trusted. */
export const untested = (sentence: string): ProbeReport => ({
  passed: false,
  sentence,
  invariance: null,
  name: '',
  speedup: null,
});

/** How many times faster than the CPU; null where it is slower. */
async function measureSpeedup(device: DeviceSettings): Promise<number | null> {
  const cpu = await deviceSeconds({ threads: device.threads }, Infinity);
  if (cpu === null) {
    return null;
  }
  const seconds = await deviceSeconds(device, cpu);
  return seconds === null ? null : cpu / seconds;
}

/** A provider's own words made short. */
export function plainReason(message: string): string {
  if (/No supported adapters|Failed to get a WebGPU adapter/.test(message)) {
    return 'no adapter found';
  }
  if (/Failed to load shared library|cannot open shared object/.test(message)) {
    return 'its libraries are not installed';
  }
  if (/backend not found|no available backend/.test(message)) {
    return notOffered();
  }
  const line = message.replace(/\s+/g, ' ').trim();
  return line.length > 200 ? `${line.slice(0, 199)}…` : line;
}
