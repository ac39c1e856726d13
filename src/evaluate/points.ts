/** Scores a message by the points of its parts, as listed in the answer of its problem. */

/** The points of each possible part of a message, and the total. */
export interface PointsKey {
  /** Points by text, for each position of a part. */
  readonly parts: readonly ReadonlyMap<string, number>[];
  readonly total: number;
}

export interface PointsVerdict {
  /** From 0 to 1. */
  readonly score: number;
  /** `points: 49 of 68 (19, 30)`, or the reason why there are none. */
  readonly rule: string;
}

/**
 * Reads `red: 2, blue: 1; 7: 3; of 5`: semicolons separate the parts, commas separate the possible
 * texts of a part, and the total comes last. Points are decimal numbers of at least 0. The points of
 * the best parts may add up to less than the total, but not to more.
 * @returns null if the text has another form
 */
export function parsePoints(text: string): PointsKey | null {
  const fields = text.split(';').map((field) => field.trim());
  const total = readPointNumber(/^of (\S+)$/u.exec(fields.at(-1) ?? '')?.[1] ?? '');
  const parts = fields.slice(0, -1).map(readPartPoints);
  if (total === null || total === 0 || parts.length === 0) {
    return null;
  }
  let best = 0;
  for (const part of parts) {
    if (part === null) {
      return null;
    }
    best += [...part.values()].reduce((most, points) => Math.max(most, points), 0);
  }
  return best > total ? null : { parts: parts.filter((part) => part !== null), total };
}

/**
 * Adds up the points of a message's parts, ignoring case and the amount of whitespace. A message with
 * more or fewer parts than the key gets none.
 */
export function gradePoints({ parts, total }: PointsKey, message: string): PointsVerdict {
  const said = message.split(',', parts.length + 1).map(normalizePartText);
  if (said.length !== parts.length) {
    return { score: 0, rule: `points: the message does not have ${parts.length} parts` };
  }
  const points = parts.map((part, index) => part.get(said[index] ?? '') ?? 0);
  const sum = points.reduce((all, one) => all + one, 0);
  return { score: sum / total, rule: `points: ${sum} of ${total} (${points.join(', ')})` };
}

function readPartPoints(text: string): ReadonlyMap<string, number> | null {
  const choices = new Map<string, number>();
  for (const choice of text.split(',')) {
    const colon = choice.lastIndexOf(':');
    const [name, points] = [normalizePartText(choice.slice(0, colon)), readPointNumber(choice.slice(colon + 1).trim())];
    if (colon === -1 || name === '' || points === null || choices.has(name)) {
      return null;
    }
    choices.set(name, points);
  }
  return choices;
}

const readPointNumber = (text: string): number | null => (/^\d{1,9}(\.\d{1,9})?$/u.test(text) ? Number(text) : null);

/** Returns the form in which two texts are compared. */
const normalizePartText = (text: string): string => text.normalize('NFC').replace(/\s+/gu, ' ').trim().toLowerCase();
