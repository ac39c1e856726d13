/** Examines this machine: providers with a self-test, versions, and the state of the store. */

import { existsSync } from 'node:fs';
import { examineApart } from '../../client/examineStore.ts';
import { offeredProviders, describeMissingProvider } from '../../runtime/provider/device.ts';
import { runtimeVersion } from '../../runtime/session/session.ts';
import { PROVIDERS } from '../../shared/devices.ts';
import type { DoctorReport, ProviderReport } from '../../shared/protocols/engineProtocol.ts';
import { EXAMINE_ENTRY } from '../places.ts';
import { VERSION } from '../version.ts';
import { examineProviderApart as probeApart } from './probing.ts';

const THREADS = 2;
const EXAMINE_MILLISECONDS = 600_000;

/**
 * Examines everything. A part that fails is reported and does not hide the others.
 * @param all true to check the hash of every row of the store
 */
export async function examineMachine(storePath: string, all = false): Promise<DoctorReport> {
  return {
    providers: await examineProviders(),
    versions: {
      'c3-replay': VERSION,
      node: process.versions.node,
      'onnxruntime-node': runtimeVersion(),
      platform: `${process.platform}-${process.arch}`,
    },
    store: { path: storePath, ...(await examineStoreState(storePath, all)) },
  };
}

/** Reports every provider that the product knows. Those of this build are tested again, in parallel. */
async function examineProviders(): Promise<ProviderReport[]> {
  const offered = offeredProviders();
  return Promise.all(
    PROVIDERS.map(async (name) => {
      if (!offered.has(name)) {
        return { name, available: false, selfTest: describeMissingProvider(), batchInvariance: null, device: null };
      }
      const { passed, sentence, invariance, name: device } = await probeApart(name, THREADS, false);
      return {
        name,
        available: passed,
        selfTest: sentence,
        batchInvariance: invariance,
        device: passed ? device : null,
      };
    }),
  );
}

async function examineStoreState(
  path: string,
  all: boolean,
): Promise<Pick<DoctorReport['store'], 'state' | 'findings' | 'extent'>> {
  if (!existsSync(path)) {
    return { state: 'none yet; the first run creates it', findings: [], extent: '' };
  }
  const { findings, extent, refusal, counts } = await examineApart(
    path,
    all ? 'all' : 'sampled',
    EXAMINE_ENTRY,
    EXAMINE_MILLISECONDS,
  );
  if (refusal !== null) {
    return { state: refusal, findings, extent };
  }
  const held =
    counts === null
      ? ''
      : `: ${counts.runs} runs, ${counts.messages} messages, ${counts.episodes} episodes, ` +
        `${counts.buckets} buckets, ${counts.replays} replays`;
  const health =
    findings.length > 0
      ? `damaged, ${findings.length} ${findings.length === 1 ? 'finding' : 'findings'}`
      : counts === null
        ? 'of an older version'
        : 'healthy';
  return { state: `${health}${held}`, findings, extent };
}
