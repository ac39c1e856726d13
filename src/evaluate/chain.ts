/** Scores a chain of letters by its rule. The check is exact and accepts every solution. */

/** The rule of a chain. Letters are numbers from 0 (A), below `ring`. */
export interface ChainKey {
  /** The number of letters to say. */
  readonly links: number;
  /** The number of letters on the ring, beginning with A; A follows the last one. */
  readonly ring: number;
  readonly from: number;
  readonly to: number;
  /** The allowed distances of a letter from the one before it. */
  readonly steps: ReadonlySet<number>;
  /** Letters that may not be said. */
  readonly without: ReadonlySet<number>;
}

export interface ChainVerdict {
  readonly score: 0 | 1;
  /** `chain: all 4 links hold`, or the first link that does not. */
  readonly rule: string;
}

const FORM =
  /^chain of (\d{1,3}), ring of (\d{1,2}): from ([A-Z]) to ([A-Z]) by (\d[\d ]{0,99})(?: without ([A-Z][A-Z ]{0,99}))?$/u;
const MOST_LINKS = 100;
const MOST_LETTERS = 26;
const FIRST = 'A'.charCodeAt(0);

const toLetterPlace = (letter: string): number => letter.charCodeAt(0) - FIRST;
const toLetter = (place: number): string => String.fromCharCode(FIRST + place);

/**
 * Reads `chain of 3, ring of 16: from J to E by 1 2 5 without A H N`; the last part may be missing.
 * @returns null if the text has another form, or names letters that are not on the ring
 */
export function parseChain(text: string): ChainKey | null {
  const [, links, ring, from = '', to = '', by = '', left = ''] = FORM.exec(text.trim()) ?? [];
  const listed = (parts: string): string[] => parts.split(' ').filter((part) => part !== '');
  const key = {
    links: Number(links),
    ring: Number(ring),
    from: toLetterPlace(from),
    to: toLetterPlace(to),
    steps: new Set(listed(by).map(Number)),
    without: new Set(listed(left).map(toLetterPlace)),
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

/** Returns the number of the letter that a message consists of, ignoring blanks, or null. */
export function readLetter(text: string, { ring }: Pick<ChainKey, 'ring'>): number | null {
  const letter = text.trim();
  return /^[A-Z]$/u.test(letter) && toLetterPlace(letter) < ring ? toLetterPlace(letter) : null;
}

/**
 * Scores the letters of a chain, separated by commas; blanks around them are ignored. All links must
 * hold.
 * @param text the messages of a turn's roles joined by commas, or one message with all of them
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
    const [link, place] = [`link ${index + 1}`, readLetter(letter, key)];
    if (place === null) {
      return wrong(`${link} is not a letter of the ring`);
    }
    if (!steps.has((place - before + ring) % ring)) {
      return wrong(`${link}, from ${toLetter(before)} to ${toLetter(place)}, is not one of the steps`);
    }
    if (without.has(place)) {
      return wrong(`${link} comes to ${toLetter(place)}, which is left out`);
    }
    before = place;
  }
  return before === to
    ? { score: 1, rule: `chain: all ${links} links hold` }
    : wrong(`it ends at ${toLetter(before)}, not at ${toLetter(to)}`);
}
