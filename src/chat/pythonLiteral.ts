/**
 * Reads literals of Python, as `repr` and `str` write them: lists and dictionaries of strings,
 * numbers, None, True and False. Nothing is evaluated, and any other expression is rejected.
 */

import { parseStructured } from './fields.ts';

/** The most levels of nested values. */
const MOST_DEPTH = 256;

const ESCAPED: ReadonlyMap<string, string> = new Map([
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
  ['a', '\u0007'],
  ['b', '\b'],
  ['f', '\f'],
  ['v', '\v'],
  ['\n', ''],
  ['\\', '\\'],
  ["'", "'"],
  ['"', '"'],
]);
const WORDS: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ['None', null],
  ['True', true],
  ['False', false],
  ['nan', null],
  ['inf', null],
]);
/** Numbers that JSON does not have. */
const NO_NUMBERS: ReadonlySet<string> = new Set(['nan', 'inf']);

/**
 * Returns the value of a text that is a list or a dictionary of Python, or undefined for any other
 * text.
 * @param onNoNumber is called for each number that JSON does not have, which is read as null
 */
export function parsePythonLiteral(text: string, onNoNumber: () => void = () => undefined): unknown {
  if (!/^\s*[[{]/u.test(text)) {
    return undefined;
  }
  try {
    const reader = new LiteralReader(text, onNoNumber);
    const value = reader.value(0);
    return reader.isAtEnd() ? value : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) {
      return undefined;
    }
    throw error;
  }
}

/** Opens a text with an object or a list, in JSON or as a Python literal. Keeps other values. */
export function parseJsonOrPython(value: unknown): unknown {
  const given = parseStructured(value);
  return typeof given === 'string' ? (parsePythonLiteral(given) ?? given) : given;
}

class LiteralReader {
  private readonly text: string;
  private readonly onNoNumber: () => void;
  private at = 0;

  constructor(text: string, onNoNumber: () => void) {
    this.text = text;
    this.onNoNumber = onNoNumber;
  }

  /** @throws SyntaxError if the text is not a literal */
  value(depth: number): unknown {
    if (depth > MOST_DEPTH) {
      throw new SyntaxError('too deep');
    }
    this.take(/\s*/uy);
    const next = this.text[this.at];
    if (next === '[' || next === '(') {
      return this.list(next === '[' ? ']' : ')', depth);
    }
    if (next === '{') {
      return this.dictionary(depth);
    }
    if (this.isText()) {
      return this.texts();
    }
    const number = this.take(/[+-]?(?:\d[\d_]*\.?\d*|\.\d+)(?:e[+-]?\d+)?/iuy);
    return number === '' ? this.word(depth) : Number(number.replaceAll('_', ''));
  }

  isAtEnd(): boolean {
    this.take(/\s*/uy);
    return this.at === this.text.length;
  }

  /** Reads None, True or False, or NumPy's `array([...], dtype=object)`. */
  private word(depth: number): unknown {
    const word = this.take(/-?[a-z]+/iuy);
    if (word === 'array' && this.take(/\(/uy) !== '') {
      const value = this.value(depth + 1);
      this.expect(/\s*(?:,\s*dtype=[\w<>'"]+\s*)?\)/uy);
      return value;
    }
    const name = word.replace('-', '');
    if (!WORDS.has(name)) {
      throw new SyntaxError('no literal');
    }
    if (NO_NUMBERS.has(name)) {
      this.onNoNumber();
    }
    return WORDS.get(name);
  }

  /** Parses a list or a tuple. NumPy prints no commas. A single value in parentheses is that value. */
  private list(end: string, depth: number): unknown {
    const items: unknown[] = [];
    let commas = 0;
    this.at++;
    while (!this.ends(end)) {
      items.push(this.value(depth + 1));
      commas += this.take(/\s*,/uy) === '' ? 0 : 1;
    }
    return end === ')' && items.length === 1 && commas === 0 ? items[0] : items;
  }

  private dictionary(depth: number): unknown {
    const entries: [string, unknown][] = [];
    this.at++;
    while (!this.ends('}')) {
      const key = this.value(depth + 1);
      this.expect(/\s*:/uy);
      entries.push([String(key), this.value(depth + 1)]);
      if (this.take(/\s*,/uy) === '' && !this.ends('}', false)) {
        throw new SyntaxError('no comma');
      }
    }
    return Object.fromEntries(entries);
  }

  private ends(end: string, isTaken = true): boolean {
    this.take(/\s*/uy);
    const isEnd = this.text[this.at] === end;
    this.at += isEnd && isTaken ? 1 : 0;
    return isEnd;
  }

  private isText(): boolean {
    return /[bu]?['"]/uy.test(this.text.slice(this.at, this.at + 2));
  }

  /** Reads one string literal, or several in a row, because Python splits long ones. */
  private texts(): string {
    const parts: string[] = [];
    do {
      parts.push(this.single());
      this.take(/\s*/uy);
    } while (this.isText());
    return parts.join('').toWellFormed();
  }

  private single(): string {
    this.take(/[bu]/uy);
    const quote = this.text[this.at] ?? '';
    const plain = quote === '"' ? /[^"\\]*/uy : /[^'\\]*/uy;
    const parts: string[] = [];
    this.at++;
    for (;;) {
      parts.push(this.take(plain));
      const next = this.text[this.at];
      this.at++;
      if (next === quote) {
        return parts.join('');
      }
      if (next === undefined) {
        throw new SyntaxError('no end');
      }
      parts.push(this.escape());
    }
  }

  private escape(): string {
    const code = this.take(/x[\da-fA-F]{2}|u[\da-fA-F]{4}|U00[\da-fA-F]{6}/uy);
    if (code !== '') {
      const number = Number.parseInt(code.slice(1), 16);
      return number > MOST_CODE ? '\u{fffd}' : String.fromCodePoint(number);
    }
    const next = this.text[this.at] ?? '';
    this.at++;
    return ESCAPED.get(next) ?? `\\${next}`;
  }

  private take(pattern: RegExp): string {
    pattern.lastIndex = this.at;
    const [found = ''] = pattern.exec(this.text) ?? [];
    this.at += found.length;
    return found;
  }

  private expect(pattern: RegExp): void {
    if (this.take(pattern) === '') {
      throw new SyntaxError('no literal');
    }
  }
}
const MOST_CODE = 0x10ffff;
