/** Which prompts begin alike, so that what they have in common is computed once. */
import { exactSlots, sameSlice } from '../model/exactThreads.ts';
import type { TransformerConfig } from '../model/transformer.ts';

/** Prompts of one row: the common prefix once, then what is each one's own. */
export interface PrefixGroup {
  readonly members: readonly number[];
  /** Tokens in common; every member has at least one more. */
  readonly prefix: number;
  /** Tokens of the row. */
  readonly length: number;
}

/** Sharing less than this share of the longest prompt costs more in attention over long rows than it saves. */
const WORTHWHILE_SHARE = 0.5;

/** Every prompt in a row of its own. */
export const separately = (prompts: readonly Int32Array[]): PrefixGroup[] =>
  prompts.map(({ length }, index) => ({ members: [index], prefix: length - 1, length }));

/**
 * Groups prompts by what they begin with; every prompt is in one group. Where padding would eat up what is saved, each
 * is alone. A row ends where its members' own tokens would reach another slice of attention's sums than they reach
 * in a row of their own (see exactSlots): sharing changes no bit.
 */
export function sharedPrefixes(config: TransformerConfig, prompts: readonly Int32Array[]): readonly PrefixGroup[] {
  const order = prompts.map((_, index) => index).sort((a, b) => compare(prompts[a], prompts[b]) || a - b);
  const groups: PrefixGroup[] = [];
  for (const index of order) {
    const joined = groups.length === 0 ? undefined : join(config, prompts, groups[groups.length - 1], index);
    if (joined === undefined) {
      groups.push({ members: [index], prefix: (prompts[index]?.length ?? 1) - 1, length: prompts[index]?.length ?? 0 });
    } else {
      groups[groups.length - 1] = joined;
    }
  }
  const slots = (of: readonly PrefixGroup[]): number => of.length * Math.max(...of.map(({ length }) => length));
  const alone = separately(prompts);
  return slots(groups) < slots(alone) ? groups : alone;
}

/** The group with one more member; undefined where that does not pay or would not be exact. */
function join(
  config: TransformerConfig,
  prompts: readonly Int32Array[],
  group: PrefixGroup | undefined,
  index: number,
): PrefixGroup | undefined {
  const [first, added] = [prompts[group?.members[0] ?? -1], prompts[index]];
  if (group === undefined || first === undefined || added === undefined) {
    return undefined;
  }
  const prefix = Math.min(group.prefix, common(first, added));
  const members = [...group.members, index];
  const lengths = members.map((member) => prompts[member]?.length ?? 0);
  if (prefix < WORTHWHILE_SHARE * Math.max(...lengths)) {
    return undefined;
  }
  const length = lengths.reduce((total, own) => total + own - prefix, prefix);
  return sameSlice(exactSlots(config), prefix, length - 1) ? { members, prefix, length } : undefined;
}

/** Leading tokens that both have, each keeping one of its own. */
function common(a: Int32Array, b: Int32Array): number {
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
