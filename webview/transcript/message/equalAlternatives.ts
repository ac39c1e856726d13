/** Alternatives with equal texts as one: what is known of them counts together. Pure. */
import type { Alternative } from '../../../src/domain/records.ts';
import type { VerificationMark } from '../../../src/domain/verification.ts';

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

/** From what is worst to what is best. */
const STATES: readonly VerificationMark['state'][] = ['different', 'notComparable', 'unverified', 'identical'];

/** What re-executing the replays of equal alternatives showed: the worst of it. Null where none has a replay. */
export function worstMark({ all }: Equal): VerificationMark | null {
  const marks = all.flatMap(({ verification }) => verification ?? []);
  return STATES.flatMap((state) => marks.find((mark) => mark.state === state) ?? [])[0] ?? null;
}
