/** Groups prompts with a common prefix, so that the prefix is computed once. */

import { exactSlots, sameSlice } from '../model/exactThreads.ts';
import type { TransformerConfig } from '../model/transformer.ts';

/** The prompts of one row: the common prefix once, then the rest of each prompt. */
export interface PrefixGroup {
  readonly members: readonly number[];
  /** Tokens in common; every member has at least one more. */
  readonly prefix: number;
  /** Tokens of the row. */
  readonly length: number;
}

/** Smallest share of the longest prompt with which a common prefix saves more than it costs. */
const WORTHWHILE_SHARE = 0.5;

/** Puts every prompt in a row of its own. */
export const groupSeparately = (prompts: readonly Int32Array[]): PrefixGroup[] =>
  prompts.map(({ length }, index) => ({ members: [index], prefix: length - 1, length }));

/**
 * Groups prompts by common prefix; every prompt is in one group. If padding would cost more than
 * sharing saves, each prompt gets its own row. A row ends before the own tokens of its members would
 * reach another slice of attention's sums than in a row of their own (see exactSlots), so sharing
 * changes no bit.
 */
export function groupBySharedPrefix(config: TransformerConfig, prompts: readonly Int32Array[]): readonly PrefixGroup[] {
  const order = prompts.map((_, index) => index).sort((a, b) => compare(prompts[a], prompts[b]) || a - b);
  const groups: PrefixGroup[] = [];
  for (const index of order) {
    const joined = groups.length === 0 ? undefined : extendGroup(config, prompts, groups[groups.length - 1], index);
    if (joined === undefined) {
      groups.push({ members: [index], prefix: (prompts[index]?.length ?? 1) - 1, length: prompts[index]?.length ?? 0 });
    } else {
      groups[groups.length - 1] = joined;
    }
  }
  const slots = (of: readonly PrefixGroup[]): number => of.length * Math.max(...of.map(({ length }) => length));
  const alone = groupSeparately(prompts);
  return slots(groups) < slots(alone) ? groups : alone;
}

/** Returns the group with one more member, or undefined if that does not pay or would not be exact. */
function extendGroup(
  config: TransformerConfig,
  prompts: readonly Int32Array[],
  group: PrefixGroup | undefined,
  index: number,
): PrefixGroup | undefined {
  const [first, added] = [prompts[group?.members[0] ?? -1], prompts[index]];
  if (group === undefined || first === undefined || added === undefined) {
    return undefined;
  }
  const prefix = Math.min(group.prefix, countCommonTokens(first, added));
  const members = [...group.members, index];
  const lengths = members.map((member) => prompts[member]?.length ?? 0);
  if (prefix < WORTHWHILE_SHARE * Math.max(...lengths)) {
    return undefined;
  }
  const length = lengths.reduce((total, own) => total + own - prefix, prefix);
  return sameSlice(exactSlots(config), prefix, length - 1) ? { members, prefix, length } : undefined;
}

/** Counts the leading tokens that both prompts have. Each prompt keeps at least one token of its own. */
function countCommonTokens(a: Int32Array, b: Int32Array): number {
  const longest = Math.min(a.length, b.length) - 1;
  let length = 0;
  while (length < longest && a[length] === b[length]) {
    length++;
  }
  return length;
}

function compare(a: Int32Array | undefined, b: Int32Array | undefined): number {
  if (a === undefined || b === undefined) {
    return 0;
  }
  const shorter = Math.min(a.length, b.length);
  for (let place = 0; place < shorter; place++) {
    if (a[place] !== b[place]) {
      return (a[place] ?? 0) - (b[place] ?? 0);
    }
  }
  return a.length - b.length;
}
