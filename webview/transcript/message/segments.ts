/**
 * Splits a message into prose, code and mathematics. Pure; linear in the length of the text.
 *
 * Everything that does not clearly match a rule is prose, which is kept as written:
 * - A code block lies between two lines of three or more ` or ~. The second line has the same sign, is
 *   at least as long and is otherwise blank. The first line may name a language in one word.
 * - A code span lies between two equally long runs of at most eight ` in one line.
 * - Mathematics lies between \( and \), \[ and \], or $$ and $$ in one paragraph, or between two $ in
 *   one line. Text between two $ neither begins nor ends with white space. The first $ does not follow
 *   a letter or a digit, the second does not precede one, and neither follows a backslash: $5 is
 *   money.
 * - \boxed{...} is mathematics without such signs too, if its braces are balanced and in one
 *   paragraph.
 * - Not mathematics are several words in a row outside of braces, words between $ without a
 *   mathematical sign, and text with invisible characters.
 * - Code and mathematics are not searched for further pieces. A piece that is not closed is prose.
 */

import { hasInvisibleControls } from '../../../src/shared/text/visible.ts';

/** Length of the longest text that is split, in UTF-16 units. */
export const LONGEST_TEXT = 100_000;
/** Length of the longest formula, and largest number of formulas in a text. */
export const LONGEST_FORMULA = 2_000;
export const MOST_FORMULAS = 200;
/** Limits for a text: code spans and code blocks, parsed boxes, and ` around a span. */
const MOST_SPANS = 2_000;
const MOST_BOXES = 400;
const MOST_TICKS = 8;

interface RemainingPieces {
  formulas: number;
  spans: number;
  boxes: number;
}

/** A piece of a text. The `written` of all pieces in order, joined, is the text. */
export interface Segment {
  readonly kind: 'prose' | 'block' | 'code' | 'formula';
  readonly written: string;
  /** Text between the signs. */
  readonly text: string;
  /** Language of a block; empty if it names none. */
  readonly language: string;
  /** True if a formula is on a line of its own. */
  readonly display: boolean;
}

/** Splits a text into pieces. */
export function splitSegments(text: string): readonly Segment[] {
  if (text.length > LONGEST_TEXT) {
    return [makeProse(text)];
  }
  const segments: Segment[] = [];
  const left: RemainingPieces = { formulas: MOST_FORMULAS, spans: MOST_SPANS, boxes: MOST_BOXES };
  let at = 0;
  for (const block of findCodeBlocks(text)) {
    splitInlineSegments(text.slice(at, block.start), left, segments);
    segments.push({
      kind: 'block',
      written: text.slice(block.start, block.end),
      text: text.slice(block.from, block.to),
      language: block.language,
      display: false,
    });
    at = block.end;
  }
  splitInlineSegments(text.slice(at), left, segments);
  return segments;
}

function makeProse(written: string): Segment {
  return { kind: 'prose', written, text: written, language: '', display: false };
}

interface Fence {
  readonly sign: string;
  readonly length: number;
  readonly language: string;
  readonly start: number;
  /** Index after the end of its line. */
  readonly end: number;
}

interface Block {
  readonly start: number;
  readonly from: number;
  readonly to: number;
  readonly end: number;
  readonly language: string;
}

function findCodeBlocks(text: string): readonly Block[] {
  const fences = [
    ...text.matchAll(/^ {0,3}(?<signs>`{3,}|~{3,})[ \t]*(?<language>[\w+#.-]{0,30})[ \t]*\r?(?:\n|$(?![\s\S]))/gmu),
  ].map(({ 0: line, index, groups }): Fence => {
    const { signs = '', language = '' } = groups ?? {};
    return { sign: signs.charAt(0), length: signs.length, language, start: index, end: index + line.length };
  });
  // For each fence, the length of the longest later fence that could close a block. This keeps the
  // search linear when blocks are never closed.
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

/** Finds the next match of a pattern. Queries that go forward scan each part of the text only once. */
class Ahead {
  private readonly text: string;
  private readonly pattern: RegExp;
  private found = -1;

  constructor(text: string, pattern: RegExp) {
    this.text = text;
    this.pattern = pattern;
  }

  /** Returns the index of the first match at or after `from`, or Infinity. */
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
function splitInlineSegments(text: string, left: RemainingPieces, segments: Segment[]): void {
  const lines = new Ahead(text, /\n/gu);
  const paragraphs = new Ahead(text, /\n[ \t\r]*\n/gu);
  const dollars = { one: new Ahead(text, /\$/gu), two: new Ahead(text, /\$\$/gu) };
  const round = { open: new Ahead(text, /\\\(/gu), close: new Ahead(text, /\\\)/gu) };
  const square = { open: new Ahead(text, /\\\[/gu), close: new Ahead(text, /\\\]/gu) };
  const runs = new Map<number, Ahead>();

  /** Returns the formula from `from` to a closing sign at `to`, or null if that is not mathematics. */
  const between = (from: number, to: number, width: number, display: boolean): Found | null => {
    if (to - from > LONGEST_FORMULA) {
      return null;
    }
    const tex = text.slice(from, to);
    if (!isFormula(tex) || (text.charAt(to) === '$' && isMoney(tex))) {
      return null;
    }
    // The line end after a formula on its own line belongs to the formula.
    const end = to + width;
    return { kind: 'formula', text: tex, end: display && text.charAt(end) === '\n' ? end + 1 : end, display };
  };

  /** Returns the formula between a sign that ends at `from` and its closing sign in the same paragraph. */
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
    const end = findBraceEnd(text, at + '\\boxed'.length, Math.min(at + LONGEST_FORMULA, paragraphs.from(at)));
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
      segments.push(makeProse(text.slice(at, index)));
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
    segments.push(makeProse(text.slice(at)));
  }
}

/** Returns the index after the brace that closes the one at `from`, or null before `bound`. */
function findBraceEnd(text: string, from: number, bound: number): number | null {
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

/** Returns true if text between signs of mathematics is a formula, not prose or blank. */
function isFormula(tex: string): boolean {
  const bare = tex.replaceAll(/\\[A-Za-z]+\*?|\{[^{}]*\}/gu, ' \\ ');
  return tex.trim() !== '' && !/(?<![A-Za-z])[A-Za-z]{2,}[ \t]+[A-Za-z]{2,}/u.test(bare) && !hasInvisibleControls(tex);
}

/** Returns true if text between dollar signs reads as words and sums of money. */
function isMoney(tex: string): boolean {
  return !/[\\^_=<>+*{}]/u.test(tex) && /\s/u.test(tex) && /^\d[^]*[,;:]\s|[A-Za-z]{2,}/u.test(tex);
}
