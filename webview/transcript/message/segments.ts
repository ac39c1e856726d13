/**
 * What a message is made of: prose, code and mathematics. Pure; linear in the length of the text.
 *
 * Whatever is in doubt is prose, which is kept as it was written:
 * - A block of code lies between two lines of three or more ` or ~, the second of the same sign, at least as long and
 *   otherwise blank. The first may name a language in one word.
 * - Code in a line lies between two equally long runs of at most eight ` in that line.
 * - Mathematics lies between \( and \), \[ and \], $$ and $$ in one paragraph, or between two $ in one line: what these
 *   two hold begins and ends with no blank, the first does not follow a letter or a digit, the second is followed by
 *   none, and neither follows a backslash: $5 is money.
 * - \boxed{...} is mathematics outside of these too, with its braces in pairs and in one paragraph.
 * - No mathematics are: several words in a row outside of braces, between dollars words without a sign of mathematics,
 *   and what holds characters that are not seen. Nothing is looked for inside code and mathematics. What is not closed
 *   is prose.
 */
import { hides } from '../../../src/shared/text/visible.ts';

/** Longest text that is looked at, in UTF-16 units. */
export const LONGEST_TEXT = 100_000;
/** Longest formula, and most formulas in one text. */
export const LONGEST_FORMULA = 2_000;
export const MOST_FORMULAS = 200;
/** Most pieces of code in lines, blocks of code, and boxes that are followed to their last brace, in one text. */
const MOST_SPANS = 2_000;
const MOST_BOXES = 400;
const MOST_TICKS = 8;

interface Left {
  formulas: number;
  spans: number;
  boxes: number;
}

/** A piece of a text. The `written` of all, in order, are the text. */
export interface Segment {
  readonly kind: 'prose' | 'block' | 'code' | 'formula';
  readonly written: string;
  /** What lies between the signs. */
  readonly text: string;
  /** Language of a block; empty where none is named. */
  readonly language: string;
  /** Whether a formula is on a line of its own. */
  readonly display: boolean;
}

/** Cuts a text into its pieces. */
export function segmentsOf(text: string): readonly Segment[] {
  if (text.length > LONGEST_TEXT) {
    return [prose(text)];
  }
  const segments: Segment[] = [];
  const left: Left = { formulas: MOST_FORMULAS, spans: MOST_SPANS, boxes: MOST_BOXES };
  let at = 0;
  for (const block of blocksOf(text)) {
    inLines(text.slice(at, block.start), left, segments);
    segments.push({
      kind: 'block',
      written: text.slice(block.start, block.end),
      text: text.slice(block.from, block.to),
      language: block.language,
      display: false,
    });
    at = block.end;
  }
  inLines(text.slice(at), left, segments);
  return segments;
}

function prose(written: string): Segment {
  return { kind: 'prose', written, text: written, language: '', display: false };
}

interface Fence {
  readonly sign: string;
  readonly length: number;
  readonly language: string;
  readonly start: number;
  /** Behind its line's end. */
  readonly end: number;
}

interface Block {
  readonly start: number;
  readonly from: number;
  readonly to: number;
  readonly end: number;
  readonly language: string;
}

function blocksOf(text: string): readonly Block[] {
  const fences = [
    ...text.matchAll(/^ {0,3}(?<signs>`{3,}|~{3,})[ \t]*(?<language>[\w+#.-]{0,30})[ \t]*\r?(?:\n|$(?![\s\S]))/gmu),
  ].map(({ 0: line, index, groups }): Fence => {
    const { signs = '', language = '' } = groups ?? {};
    return { sign: signs.charAt(0), length: signs.length, language, start: index, end: index + line.length };
  });
  // The longest line from here on that could close a block: looked up, so that what is never closed is looked for once.
  const longest = fences.map(() => new Map<string, number>());
  for (let index = fences.length - 1, ahead = new Map<string, number>(); index >= 0; index--) {
    longest[index] = ahead;
    const fence = fences[index];
    if (fence?.language === '') {
      ahead = new Map(ahead).set(fence.sign, Math.max(fence.length, ahead.get(fence.sign) ?? 0));
    }
  }
  const blocks: Block[] = [];
  for (let index = 0; index < fences.length && blocks.length < MOST_SPANS; index++) {
    const open = fences[index];
    if (open === undefined || (longest[index]?.get(open.sign) ?? 0) < open.length) {
      continue;
    }
    let close = fences[++index];
    while (close !== undefined && (close.sign !== open.sign || close.length < open.length || close.language !== '')) {
      close = fences[++index];
    }
    if (close !== undefined) {
      blocks.push({ start: open.start, from: open.end, to: close.start, end: close.end, language: open.language });
    }
  }
  return blocks;
}

/** Where a pattern is found next: each place of the text is looked at once for all questions that go forward. */
class Ahead {
  private readonly text: string;
  private readonly pattern: RegExp;
  private found = -1;

  constructor(text: string, pattern: RegExp) {
    this.text = text;
    this.pattern = pattern;
  }

  /** The first place from `from` on; Infinity where there is none. */
  from(from: number): number {
    if (this.found < from) {
      this.pattern.lastIndex = from;
      this.found = this.pattern.exec(this.text)?.index ?? Infinity;
    }
    return this.found;
  }
}

interface Found {
  readonly kind: 'code' | 'formula';
  readonly text: string;
  readonly end: number;
  readonly display: boolean;
}

/** Finds code and mathematics in text without blocks. */
function inLines(text: string, left: Left, segments: Segment[]): void {
  const lines = new Ahead(text, /\n/gu);
  const paragraphs = new Ahead(text, /\n[ \t\r]*\n/gu);
  const dollars = { one: new Ahead(text, /\$/gu), two: new Ahead(text, /\$\$/gu) };
  const round = { open: new Ahead(text, /\\\(/gu), close: new Ahead(text, /\\\)/gu) };
  const square = { open: new Ahead(text, /\\\[/gu), close: new Ahead(text, /\\\]/gu) };
  const runs = new Map<number, Ahead>();

  /** What lies from `from` to a closing sign at `to`; null where that is no mathematics. */
  const between = (from: number, to: number, width: number, display: boolean): Found | null => {
    if (to - from > LONGEST_FORMULA) {
      return null;
    }
    const tex = text.slice(from, to);
    if (!isFormula(tex) || (text.charAt(to) === '$' && isMoney(tex))) {
      return null;
    }
    // A line's end behind a formula that has its own line is that formula's.
    const end = to + width;
    return { kind: 'formula', text: tex, end: display && text.charAt(end) === '\n' ? end + 1 : end, display };
  };

  /** What lies in one paragraph between a sign that ends at `from` and the one that closes it. */
  const inParagraph = (
    from: number,
    { open, close }: { readonly open?: Ahead; readonly close: Ahead },
    display: boolean,
  ): Found | null => {
    const to = close.from(from);
    return to < paragraphs.from(from) && to < (open?.from(from) ?? Infinity) ? between(from, to, 2, display) : null;
  };

  const code = (at: number, ticks: number): Found | null => {
    if (ticks > MOST_TICKS || left.spans === 0) {
      return null;
    }
    const closing = runs.get(ticks) ?? new Ahead(text, new RegExp(`(?<!\`)\`{${ticks}}(?!\`)`, 'gu'));
    runs.set(ticks, closing);
    const from = at + ticks;
    const to = closing.from(from);
    return to < lines.from(from) ? { kind: 'code', text: text.slice(from, to), end: to + ticks, display: false } : null;
  };

  const dollar = (at: number): Found | null => {
    const from = at + 1;
    const to = dollars.one.from(from);
    if (to >= lines.from(from) || /[\p{L}\p{N}]/u.test(text.charAt(at - 1)) || /\s/u.test(text.charAt(from))) {
      return null;
    }
    return /[\\\s]/u.test(text.charAt(to - 1)) || /[\p{L}\p{N}$]/u.test(text.charAt(to + 1))
      ? null
      : between(from, to, 1, false);
  };

  const boxed = (at: number): Found | null => {
    if (left.boxes-- <= 0) {
      return null;
    }
    const end = braceEnd(text, at + '\\boxed'.length, Math.min(at + LONGEST_FORMULA, paragraphs.from(at)));
    return end === null || !isFormula(text.slice(at + '\\boxed{'.length, end - 1))
      ? null
      : { kind: 'formula', text: text.slice(at, end), end, display: false };
  };

  let at = 0;
  for (const { 0: sign, index } of text.matchAll(/(?<!\\)(?:`+|\$\$?|\\[([]|\\boxed(?=\{))/gu)) {
    if (index < at) {
      continue;
    }
    if (!sign.startsWith('`') && left.formulas === 0) {
      continue;
    }
    const from = index + sign.length;
    const found = sign.startsWith('`')
      ? code(index, sign.length)
      : sign === '$'
        ? dollar(index)
        : sign === '\\boxed'
          ? boxed(index)
          : sign === '$$'
            ? inParagraph(from, { close: dollars.two }, true)
            : sign === '\\['
              ? inParagraph(from, square, true)
              : inParagraph(from, round, false);
    if (found === null) {
      continue;
    }
    if (index > at) {
      segments.push(prose(text.slice(at, index)));
    }
    segments.push({
      kind: found.kind,
      written: text.slice(index, found.end),
      text: found.text,
      language: '',
      display: found.display,
    });
    if (found.kind === 'code') {
      left.spans--;
    } else {
      left.formulas--;
    }
    at = found.end;
  }
  if (at < text.length) {
    segments.push(prose(text.slice(at)));
  }
}

/** Behind the brace that closes the one at `from`; null where none does before `bound`. */
function braceEnd(text: string, from: number, bound: number): number | null {
  let depth = 0;
  for (let at = from; at < bound && at < text.length; at++) {
    const sign = text.charAt(at);
    if (sign === '\\') {
      at++;
    } else if (sign === '{') {
      depth++;
    } else if (sign === '}') {
      depth--;
    }
    if (depth === 0) {
      return at + 1;
    }
  }
  return null;
}

/** Whether what lies between signs of mathematics is to be set: prose, nothing at all and what is not seen are not. */
function isFormula(tex: string): boolean {
  const bare = tex.replaceAll(/\\[A-Za-z]+\*?|\{[^{}]*\}/gu, ' \\ ');
  return tex.trim() !== '' && !/(?<![A-Za-z])[A-Za-z]{2,}[ \t]+[A-Za-z]{2,}/u.test(bare) && !hides(tex);
}

/** Whether what lies between dollars reads as words and sums of money. */
function isMoney(tex: string): boolean {
  return !/[\\^_=<>+*{}]/u.test(tex) && /\s/u.test(tex) && /^\d[^]*[,;:]\s|[A-Za-z]{2,}/u.test(tex);
}
