/** What this machine offers: providers with a self-test, versions, and the state of the store. */
import { existsSync } from 'node:fs';
import type { DoctorReport, ProviderReport } from '../shared/engineProtocol.ts';
import { messageOf } from '../shared/errors.ts';
import { PROVIDERS } from '../shared/devices.ts';
import { offeredProviders, notOffered } from '../runtime/device.ts';
import { runtimeVersion } from '../runtime/session.ts';
import { openStoreForReading } from '../store/reader.ts';
import { examineApart } from './probing.ts';
import { VERSION } from './version.ts';

const THREADS = 2;

/** Looks at everything; a part that fails says so and hides nothing else. */
export async function examine(storePath: string): Promise<DoctorReport> {
  return {
    providers: await examineProviders(),
    versions: {
      'c3-replay': VERSION,
      node: process.versions.node,
      'onnxruntime-node': runtimeVersion(),
      platform: `${process.platform}-${process.arch}`,
    },
    store: { path: storePath, state: storeState(storePath) },
  };
}

/** Every provider that the product knows, those of this build examined anew and side by side. */
async function examineProviders(): Promise<ProviderReport[]> {
  const offered = offeredProviders();
  return Promise.all(
    PROVIDERS.map(async (name) => {
      if (!offered.has(name)) return { name, available: false, selfTest: notOffered(), batchInvariance: null, device: null };
      const { passed, sentence, invariance, name: device } = await examineApart(name, THREADS, false);
      return { name, available: passed, selfTest: sentence, batchInvariance: invariance, device: passed ? device : null };
    }),
  );
}

function storeState(path: string): string {
  if (!existsSync(path)) return 'none yet; the first run creates it';
  try {
    const reader = openStoreForReading(path);
    try {
      const { runs, decisions, episodes, buckets, replays } = reader.counts();
      return `healthy: ${String(runs)} runs, ${String(decisions)} decisions, ${String(episodes)} episodes, ${String(buckets)} buckets, ${String(replays)} replays`;
    } finally {
      reader.close();
    }
  } catch (error) {
    return messageOf(error);
  }
}
