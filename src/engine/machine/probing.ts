/** Examines providers in separate processes, so that a driver that crashes or hangs does no harm. */

import { fork } from 'node:child_process';
import { z } from 'zod';
import { killOwned, spawnOwned } from '../../files/ownedProcess.ts';
import { failedProbe, type Probe } from '../../runtime/provider/device.ts';
import type { ProbeReport, Provider } from '../../shared/devices.ts';
import { PROBE_ENTRY } from '../places.ts';

const TIME_LIMIT = 120_000;

const reportSchema = z.object({
  passed: z.boolean(),
  sentence: z.string(),
  invariance: z.string().nullable(),
  name: z.string(),
  speedup: z.number().nullable(),
});

/** Reports of providers; each provider is examined once in the lifetime of this process. */
const known = new Map<string, Promise<ProbeReport>>();

export const probeProvider: Probe = (provider, threads, timed) => {
  const key = `${provider} ${threads} ${String(timed)}`;
  const report = known.get(key) ?? examineProviderApart(provider, threads, timed);
  known.set(key, report);
  return report;
};

/** @param entry another program instead of the probe, for tests @param limit milliseconds */
export function examineProviderApart(
  provider: Provider,
  threads: number,
  timed: boolean,
  entry: URL = PROBE_ENTRY,
  limit = TIME_LIMIT,
): Promise<ProbeReport> {
  return new Promise((resolve) => {
    const fail = (sentence: string): void => resolve(failedProbe(sentence));
    // A driver that hangs does not notice that its parent has ended.
    const child = spawnOwned(process.env, (own) =>
      fork(entry, [provider, String(threads), timed ? 'timed' : 'untimed'], {
        ...own,
        stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
        execArgv: [],
        timeout: limit,
        killSignal: 'SIGKILL',
      }),
    );
    child.on('message', (message) => {
      const report = reportSchema.safeParse(message);
      if (report.success) {
        resolve(report.data);
      }
      child.disconnect();
    });
    child.on('error', (error) => fail(`its self-test did not start: ${error.message}`));
    child.on('exit', (code, signal) => {
      killOwned(child);
      fail(
        signal === 'SIGKILL'
          ? 'its self-test did not finish in time'
          : `its self-test ended with ${signal ?? `code ${String(code)}`}`,
      );
    });
  });
}
