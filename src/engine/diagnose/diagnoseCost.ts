/** What a run cost, and what replay added to it. */
import { addLedgers, EMPTY_LEDGER } from '../../diagnostics/ledger.ts';
import { reusedOf } from '../../replay/reuse.ts';
import type { BucketOrigin, Ledger } from '../../shared/records/records.ts';
import type { EpisodeCost, PositionCost, StoreReader } from '../../store/types.ts';
import type { Protocol } from '../../team/protocol.ts';
import type { StoredBucket } from './diagnoseBuckets.ts';

/** A ledger whose seconds may not be known. */
export interface ReplayOverhead extends Omit<Ledger, 'seconds'> {
  readonly seconds: number | null;
  readonly joules: number | null;
}

export interface Overhead {
  /** The run's own decisions: training and evaluations. */
  readonly ledger: Ledger;
  /** Beside them. Seconds and joules are those of the buckets measured here; null where nobody measured them. */
  readonly overhead: Readonly<Record<Exclude<BucketOrigin, 'training'>, ReplayOverhead>>;
}

/**
 * Costs as the store's rows say them; every message at a scored position was evaluated once, or took the score of an
 * equal one.
 */
export function costOf(
  store: StoreReader,
  run: string,
  protocol: Protocol,
  buckets: readonly StoredBucket[],
): Overhead {
  const replays = store.replayCosts(run);
  const episodes = store.episodeCosts(run);
  const reused = (origin: EpisodeCost['origin']): number => reusedOf(episodes, origin, protocol);
  const ledgerOf = (costs: readonly Omit<PositionCost, 'environment'>[], reusedEvaluations: number): Ledger =>
    addLedgers(
      { ...EMPTY_LEDGER, evaluatorCalls: -reusedEvaluations, reusedEvaluations },
      ...costs.map((cost) => one(cost, protocol)),
    );
  const rows = buckets.flatMap(({ row }) => (row === null ? [] : [row]));
  const total = (values: readonly (number | null)[]): number | null =>
    values.length === 0 || values.includes(null) ? null : values.reduce<number>((sum, value) => sum + (value ?? 0), 0);
  return {
    ledger: {
      ...ledgerOf(store.costs(run), reused(null)),
      seconds: store.account(run)?.seconds ?? store.run(run).summary?.seconds ?? 0,
    },
    overhead: {
      request: {
        ...ledgerOf(
          replays.filter(({ origin }) => origin === 'request'),
          reused('request'),
        ),
        seconds: null,
        joules: null,
      },
      diagnostic: {
        ...ledgerOf(
          replays.filter(({ origin }) => origin === 'diagnostic'),
          reused('diagnostic'),
        ),
        seconds: total(rows.map(({ seconds }) => seconds)),
        joules: total(rows.map(({ joules }) => joules)),
      },
    },
  };
}

function one(
  {
    eventType,
    position,
    decisions,
    promptTokens,
    reusedTokens,
    completionTokens,
    reusedCompletionTokens,
  }: Omit<PositionCost, 'environment'>,
  protocol: Protocol,
): Ledger {
  return {
    ...EMPTY_LEDGER,
    evaluatorCalls: protocol.occurrences[position]?.scored === true ? decisions : 0,
    tokens: {
      prompt: promptTokens,
      reused: reusedTokens,
      completion: completionTokens,
      reusedCompletion: reusedCompletionTokens,
    },
    decisions: { [eventType]: decisions },
  };
}
