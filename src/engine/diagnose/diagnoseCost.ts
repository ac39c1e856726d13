/** What a run cost, and what replay added to it. */
import type { BucketOrigin } from '../../domain/replay.ts';
import { addLedgers, votesCost, type Ledger } from '../../domain/run.ts';
import { storedCost } from '../../replay/storedCost.ts';
import type { EpisodeCost, StoreReader } from '../../store/types.ts';
import type { Protocol } from '../../team/protocol.ts';
import type { StoredBucket } from './diagnoseBuckets.ts';

/** A ledger whose seconds may not be known. */
export interface ReplayOverhead extends Omit<Ledger, 'seconds'> {
  readonly seconds: number | null;
  readonly joules: number | null;
}

export interface Overhead {
  /** The run's own messages: training and evaluations. */
  readonly ledger: Ledger;
  /** Beside them. Seconds and joules are those of the buckets measured here; null where nobody measured them. */
  readonly overhead: Readonly<Record<Exclude<BucketOrigin, 'training'>, ReplayOverhead>>;
}

/** Costs as the store's rows say them. */
export function costOf(
  store: StoreReader,
  run: string,
  protocol: Protocol,
  buckets: readonly StoredBucket[],
): Overhead {
  const replays = store.replayCosts(run);
  const episodes = store.episodeCosts(run);
  const replayed = (origin: EpisodeCost['origin']): Ledger =>
    storedCost(
      replays.filter((cost) => cost.origin === origin),
      episodes,
      origin,
      protocol,
    );
  const [newest] = store.steps(run, Math.max(0, store.countSteps(run) - 1), 1);
  const rows = buckets.flatMap(({ row }) => (row === null ? [] : [row]));
  const total = (values: readonly (number | null)[]): number | null =>
    values.length === 0 || values.includes(null) ? null : values.reduce<number>((sum, value) => sum + (value ?? 0), 0);
  return {
    ledger: {
      ...addLedgers(storedCost(store.costs(run), episodes, null, protocol), votesCost(newest?.ledger)),
      seconds: store.account(run)?.seconds ?? store.run(run).summary?.seconds ?? 0,
    },
    overhead: {
      request: { ...replayed('request'), seconds: null, joules: null },
      diagnostic: {
        ...replayed('diagnostic'),
        seconds: total(rows.map(({ seconds }) => seconds)),
        joules: total(rows.map(({ joules }) => joules)),
      },
    },
  };
}
