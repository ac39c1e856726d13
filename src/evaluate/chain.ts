/** Scores a chain of letters by its rule: exactly, whichever of its solutions a team has found. */

/** What a chain has to keep to; letters by their places in the alphabet, from 0, below `ring`. */
export interface ChainKey {
  /** How many letters are said. */
  readonly links: number;
  /** How many letters there are, A the first of them; after the last one comes A. */
  readonly ring: number;
  readonly from: number;
  readonly to: number;
  /** How far a letter may be after the one before it. */
  readonly steps: ReadonlySet<number>;
  /** Letters that may not be said. */
  readonly without: ReadonlySet<number>;
}

export interface ChainVerdict {
  readonly score: 0 | 1;
  /** `chain: all 4 links hold`, or which one is the first that does not. */
  readonly rule: string;
}

const FORM =
  /^chain of (\d{1,3}), ring of (\d{1,2}): from ([A-Z]) to ([A-Z]) by (\d[\d ]{0,99})(?: without ([A-Z][A-Z ]{0,99}))?$/u;
const MOST_LINKS = 100;
const MOST_LETTERS = 26;
const FIRST = 'A'.charCodeAt(0);

const placeOf = (letter: string): number => letter.charCodeAt(0) - FIRST;
const letterAt = (place: number): string => String.fromCharCode(FIRST + place);

/**
 * Reads `chain of 3, ring of 16: from J to E by 1 2 5 without A H N`; the last part may be missing.
 * @returns null where the text has another form, or names letters that are not on the ring
 */
export function parseChain(text: string): ChainKey | null {
  const [, links, ring, from = '', to = '', by = '', left = ''] = FORM.exec(text.trim()) ?? [];
  const listed = (parts: string): string[] => parts.split(' ').filter((part) => part !== '');
  const key = {
    links: Number(links),
    ring: Number(ring),
    from: placeOf(from),
    to: placeOf(to),
    steps: new Set(listed(by).map(Number)),
    without: new Set(listed(left).map(placeOf)),
  };
  const isOn = (place: number): boolean => place < key.ring;
  const valid =
    key.links >= 1 &&
    key.links <= MOST_LINKS &&
    key.ring <= MOST_LETTERS &&
    [...key.steps].every((step) => step > 0 && isOn(step)) &&
    listed(left).every(({ length }) => length === 1) &&
    [key.from, key.to, ...key.without].every(isOn);
  return valid ? key : null;
}

/** The letter of the ring that a message is, by its place; null where it is none. Blanks around it do not count. */
export function letterOf(text: string, { ring }: Pick<ChainKey, 'ring'>): number | null {
  const letter = text.trim();
  return /^[A-Z]$/u.test(letter) && placeOf(letter) < ring ? placeOf(letter) : null;
}

/**
 * Scores the letters of a chain, separated by commas; blanks around them do not count. All links have to hold.
 * @param text what the roles of a turn said, or one message with all of it
 */
export function gradeChain(key: ChainKey, text: string): ChainVerdict {
  const { ring, from, to, links, steps, without } = key;
  const wrong = (why: string): ChainVerdict => ({ score: 0, rule: `chain: ${why}` });
  const said = text.split(',', links + 1);
  if (said.length !== links) {
    return wrong(`not ${links} letters`);
  }
  let before = from;
  for (const [index, letter] of said.entries()) {
    const [link, place] = [`link ${index + 1}`, letterOf(letter, key)];
    if (place === null) {
      return wrong(`${link} is not a letter of the ring`);
    }
    if (!steps.has((place - before + ring) % ring)) {
      return wrong(`${link}, from ${letterAt(before)} to ${letterAt(place)}, is not one of the steps`);
    }
    if (without.has(place)) {
      return wrong(`${link} comes to ${letterAt(place)}, which is left out`);
    }
    before = place;
  }
  return before === to
    ? { score: 1, rule: `chain: all ${links} links hold` }
    : wrong(`it ends at ${letterAt(before)}, not at ${letterAt(to)}`);
}
