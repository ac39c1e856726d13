/** The differences of two texts by a longest common subsequence of words, spaces and signs. Pure. */

export interface DiffPart {
  readonly kind: 'same' | 'removed' | 'added';
  readonly text: string;
}

/** Characters of each text that are compared; the rest of longer texts is cut off. */
export const DIFF_LIMIT = 4_000;
/**
 * Largest number of words of each text, between its common beginning and end, that are compared one by
 * one. If there are more, all of them count as different.
 */
const MOST_WORDS = 600;

/**
 * Returns the parts of two texts in reading order, removed text before the text added in its place.
 * The parts other than `added` join to `before`, those other than `removed` to `after`, each cut at
 * DIFF_LIMIT.
 */
export function diffWords(before: string, after: string): readonly DiffPart[] {
  const [a, b] = [splitDiffWords(before), splitDiffWords(after)];
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) {
    start++;
  }
  let end = 0;
  while (end < Math.min(a.length, b.length) - start && a[a.length - 1 - end] === b[b.length - 1 - end]) {
    end++;
  }
  const middle = diffMiddle(a.slice(start, a.length - end), b.slice(start, b.length - end));
  return joinNeighbors([toDiffPart('same', a.slice(0, start)), ...middle, toDiffPart('same', a.slice(a.length - end))]);
}

/** Splits a text into words, numbers, runs of white space and single signs. */
function splitDiffWords(text: string): readonly string[] {
  return cutAtLimit(text).match(/[\p{L}\p{M}]+|\p{N}+|\s+|[^\p{L}\p{M}\p{N}\s]/gu) ?? [];
}

/** Cuts a text between two characters, never within one. */
function cutAtLimit(text: string): string {
  if (text.length <= DIFF_LIMIT) {
    return text;
  }
  const last = text.charCodeAt(DIFF_LIMIT - 1);
  return text.slice(0, last >= 0xd800 && last < 0xdc00 ? DIFF_LIMIT - 1 : DIFF_LIMIT);
}

function toDiffPart(kind: DiffPart['kind'], words: readonly string[]): DiffPart {
  return { kind, text: words.join('') };
}

function diffMiddle(a: readonly string[], b: readonly string[]): readonly DiffPart[] {
  if (a.length === 0 || b.length === 0 || a.length > MOST_WORDS || b.length > MOST_WORDS) {
    return [toDiffPart('removed', a), toDiffPart('added', b)];
  }
  const width = b.length + 1;
  // Lengths of the longest common subsequence of the rests from i and j on.
  const lengths = new Uint16Array((a.length + 1) * width);
  const at = (i: number, j: number): number => lengths[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      lengths[i * width + j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const parts: DiffPart[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      parts.push(toDiffPart('same', a.slice(i, i + 1)));
      i++;
      j++;
    } else if (i < a.length && (j === b.length || at(i + 1, j) >= at(i, j + 1))) {
      parts.push(toDiffPart('removed', a.slice(i, i + 1)));
      i++;
    } else {
      parts.push(toDiffPart('added', b.slice(j, j + 1)));
      j++;
    }
  }
  return parts;
}

/** Joins neighbors of one kind. Between two common parts, removed text comes first. */
function joinNeighbors(parts: readonly DiffPart[]): readonly DiffPart[] {
  const result: DiffPart[] = [];
  let [removed, added, same] = ['', '', ''];
  const flush = (): void => {
    for (const [kind, text] of [
      ['same', same],
      ['removed', removed],
      ['added', added],
    ] as const) {
      if (text !== '') {
        result.push({ kind, text });
      }
    }
    [removed, added, same] = ['', '', ''];
  };
  for (const { kind, text } of parts) {
    if (text === '') {
      continue;
    }
    if (kind === 'same') {
      if (removed !== '' || added !== '') {
        flush();
      }
      same += text;
    } else if (kind === 'removed') {
      removed += text;
    } else {
      added += text;
    }
  }
  flush();
  return result;
}
