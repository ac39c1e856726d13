/** Alternatives with equal texts as one: what is known of them counts together. Pure. */
import type { Alternative } from './records.ts';
import type { VerificationMark } from './verification.ts';

/** Alternatives of one text, in the bucket's order; never empty. A typed one is not one of those that were sampled. */
export interface Equal {
  /** Names it while further ones arrive, in whatever order. */
  readonly key: string;
  readonly first: Alternative;
  readonly all: readonly Alternative[];
}

/** Folds alternatives with equal texts, in the order of the first of each. */
export function equalAlternatives(alternatives: readonly Alternative[]): readonly Equal[] {
  const groups = Map.groupBy(alternatives, ({ text, finish }) => JSON.stringify([finish === 'typed', text]));
  return [...groups].flatMap(([key, all]) => {
    const [first] = all;
    return first === undefined ? [] : [{ key, first, all }];
  });
}

/** In the order in which they are looked for: what was said in the run, what somebody typed, what was sampled. */
export function inSight(groups: readonly Equal[]): readonly Equal[] {
  const rank = ({ first, all }: Equal): number =>
    all.some(({ original }) => original) ? 0 : first.finish === 'typed' ? 1 : 2;
  return groups.toSorted((a, b) => rank(a) - rank(b));
}

/** From what is worst to what is best. */
const STATES: readonly VerificationMark['state'][] = ['different', 'notComparable', 'unverified', 'identical'];

/** What re-executing the replays of equal alternatives showed: the worst of it. Null where none has a replay. */
export function worstMark({ all }: Equal): VerificationMark | null {
  const marks = all.flatMap(({ verification }) => verification ?? []);
  return STATES.flatMap((state) => marks.find((mark) => mark.state === state) ?? [])[0] ?? null;
}
