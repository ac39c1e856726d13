/** What replacing an agent of a trained team came to, before the run began: kept with the run's recipe. */
import { list, nullable, number, object, text, integer, type Guarded } from '../shared/guard.ts';
import type { Interval } from './records.ts';
import { storedRecipe } from './storedRecipe.ts';

const finite = number(-Number.MAX_VALUE, Number.MAX_VALUE);
const interval = nullable(object({ value: finite, low: nullable(finite), high: nullable(finite), n: integer() }));

const isSwapShock = object({
  /** Asked for, for all of it together. */
  evaluatorCalls: integer(),
  /** Greedy share of the held-out questions that each team solves; null where it was not measured. */
  before: interval,
  direct: interval,
  aligned: interval,
  /** Less that of the team before the swap, with the bootstrap over the same questions. */
  directChange: interval,
  alignedChange: interval,
});

const isReplacement = object({
  /** The earlier run. */
  run: text(200),
  role: text(200),
  /** What took the place, in words. */
  by: text(4_000),
  probes: integer(),
  /**
   * KL(old || new) of held-out probes in nats per message: before each step of stage 0 and after the last; of a direct
   * swap once.
   */
  kls: list(finite, 10_001),
  /** Where stage 0 was to end; null where there was none. */
  delta: nullable(finite),
  shock: nullable(isSwapShock),
});

export type SwapShock = Guarded<typeof isSwapShock>;
export type Replacement = Guarded<typeof isReplacement>;

/** Under which the recipe of a run keeps it. */
export const REPLACEMENT_KEY = 'replacement';

/** What a run's row says of a replacement; null where it began without one. @param runConfig the row's JSON */
export function replacementOf(runConfig: string): Replacement | null {
  const found = storedRecipe(runConfig)[REPLACEMENT_KEY];
  return isReplacement(found) ? found : null;
}

/** The teams of a swap whose returns were measured, in their order. */
export function shockRows({
  before,
  direct,
  aligned,
}: SwapShock): readonly { readonly label: string; readonly value: Interval | null }[] {
  return [
    { label: 'Before the swap', value: before },
    { label: 'After a direct swap', value: direct },
    { label: 'After stage 0', value: aligned },
  ];
}

/** `72.0 % [65.0, 78.1]`, or that it was not measured. */
const shareWords = (value: Interval | null): string =>
  value === null
    ? 'not measured'
    : `${(100 * value.value).toFixed(1)} %${value.low === null || value.high === null ? '' : ` [${(100 * value.low).toFixed(1)}, ${(100 * value.high).toFixed(1)}]`}`;

/** A swap's cost in one sentence. */
export function shockWords({ before, direct, aligned, directChange, alignedChange }: SwapShock): string {
  const points = (change: Interval | null): string =>
    change === null
      ? ''
      : ` (${(100 * change.value).toFixed(1)} points${change.low === null || change.high === null ? '' : ` [${(100 * change.low).toFixed(1)}, ${(100 * change.high).toFixed(1)}]`})`;
  const last = aligned === null ? '' : `, ${shareWords(aligned)}${points(alignedChange)} after stage 0`;
  return `Swap shock, greedy on ${String(before?.n ?? 0)} held-out questions: ${shareWords(before)} before the swap, ${shareWords(direct)}${points(directChange)} after a direct swap${last}.`;
}
