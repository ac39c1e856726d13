/** What this machine offers: providers with a self-test, versions, and the state of the store. */
import { existsSync } from 'node:fs';
import type { DoctorReport, ProviderReport } from '../shared/engineProtocol.ts';
import { messageOf } from '../shared/errors.ts';
import { deviceSelfTest, listProviders, runtimeVersion } from '../runtime/selfTest.ts';
import { openStoreForReading } from '../store/reader.ts';
import { VERSION } from './version.ts';

/** Looks at everything; a part that fails says so and hides nothing else. */
export async function examine(storePath: string): Promise<DoctorReport> {
  const providers: ProviderReport[] = [];
  for (const { name, usable } of listProviders()) {
    providers.push({ name, available: usable, selfTest: usable ? await deviceSelfTest({ threads: 2 }).catch((error: unknown) => `failed: ${messageOf(error)}`) : null });
  }
  return {
    providers,
    versions: {
      'c3-replay': VERSION,
      node: process.versions.node,
      'onnxruntime-node': runtimeVersion(),
      platform: `${process.platform}-${process.arch}`,
    },
    store: { path: storePath, state: storeState(storePath) },
  };
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
