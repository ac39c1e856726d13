/** What a message's replays can be continued with: what it was made with itself, and the snapshots of its run. */
import { offeredSnapshots, type OfferedSnapshot, type OwnContinuation } from '../shared/continuation.ts';
import { isRecord } from '../shared/guard.ts';
import { OTHER_MODEL, type Decision } from '../shared/records.ts';
import type { StoreReader } from '../store/reader.ts';

export interface Continuations {
  readonly own: OwnContinuation;
  readonly snapshots: readonly OfferedSnapshot[];
}

/** The run's part costs a read of its configuration and its snapshots. */
export function continuationsOf(reader: Pick<StoreReader, 'snapshots' | 'snapshotsOfRun' | 'runConfig'>, { run, snapshot, sampling }: Pick<Decision, 'run' | 'snapshot' | 'sampling'>): Continuations {
  const iteration = reader.snapshots(snapshot).find((record) => record.run === run)?.iteration ?? OTHER_MODEL;
  const temperature = sampling.temperature > 0 ? sampling.temperature : runTemperature(reader.runConfig(run));
  const all = reader.snapshotsOfRun(run).map(({ id, iteration: step, file }): OfferedSnapshot => ({ id, step, kept: step === 0 || file !== null }));
  return { own: { snapshot, step: iteration === OTHER_MODEL ? null : iteration, temperature }, snapshots: offeredSnapshots(all) };
}

/** The temperature that a stored configuration samples at; null where it does not say. */
function runTemperature(configuration: string): number | null {
  let value: unknown;
  try {
    value = JSON.parse(configuration);
  } catch {
    return null;
  }
  for (const key of ['config', 'sampling', 'temperature']) value = isRecord(value) ? value[key] : undefined;
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}
