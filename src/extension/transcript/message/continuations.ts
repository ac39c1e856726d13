/** What a message's replays can be continued with: what it was made with itself, and the snapshots of its run. */
import type { FullMessage } from '../../../domain/message.ts';
import { offeredSnapshots, type OfferedSnapshot, type OwnContinuation } from '../../../domain/replay.ts';
import type { StoreReader } from '../../../store/read/reader.ts';

export interface Continuations {
  readonly own: OwnContinuation;
  readonly snapshots: readonly OfferedSnapshot[];
}

/** The run's part costs a read of its snapshots. */
export function continuationsOf(
  reader: Pick<StoreReader, 'ownContinuation' | 'snapshotsOfRun'>,
  { id, run }: Pick<FullMessage, 'id' | 'run'>,
): Continuations {
  const all = reader
    .snapshotsOfRun(run)
    .map(({ id: snapshot, iteration: step, file }): OfferedSnapshot => ({
      id: snapshot,
      step,
      kept: step === 0 || file !== null,
    }));
  return { own: reader.ownContinuation(id), snapshots: offeredSnapshots(all) };
}
