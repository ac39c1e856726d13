/** Reads Python literals as data, as the published scripts do for overrides. Evaluates nothing. */

/** The largest depth of nested lists, tuples and dictionaries. */
const MAX_DEPTH = 32;

const WORDS: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ['True', true],
  ['False', false],
  ['None', null],
]);
const NAME = /[A-Za-z_][A-Za-z_0-9]*/y;
const NUMBER =
  /[+-]?(?:0[xX][0-9a-fA-F](?:_?[0-9a-fA-F])*|0[oO][0-7](?:_?[0-7])*|0[bB][01](?:_?[01])*|(?:\d(?:_?\d)*\.?(?:\d(?:_?\d)*)?|\.\d(?:_?\d)*)(?:[eE][+-]?\d(?:_?\d)*)?)(?![\w.])/y;
const BLANKS = /[ \t\r\n]*/y;
const ESCAPES: ReadonlyMap<string, string> = new Map([
  ['n', '\n'],
  ['t', '\t'],
  ['r', '\r'],
  ['b', '\b'],
  ['f', '\f'],
  ['v', '\v'],
  ['a', '\u0007'],
  ['0', '\0'],
  ['\\', '\\'],
  ["'", "'"],
  ['"', '"'],
]);
const CODE = /x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U000[0-9a-fA-F]{5}|U0010[0-9a-fA-F]{4}/y;

/**
 * Reads a text as Python's `ast.literal_eval` does. Tuples become lists, and the keys of a dictionary
 * become texts. Bytes, sets and complex numbers are not supported.
 * @returns null if the text is not a literal
 */
export function readPythonLiteral(text: string): { readonly value: unknown } | null {
  const reader = new Reader(text);
  const value = reader.whole();
  return reader.failed ? null : { value };
}

class Reader {
  failed = false;
  private readonly text: string;
  private at = 0;

  constructor(text: string) {
    this.text = text;
  }

  /** Reads one value, or several with commas between them: a tuple needs no parentheses. */
  whole(): unknown {
    const first = this.value(0);
    if (this.failed || this.at === this.text.length) {
      return first;
    }
    const rest = this.take(',') ? this.items('', 0) : this.fail();
    return Array.isArray(rest) ? [first, ...(rest as readonly unknown[])] : rest;
  }

  private value(depth: number): unknown {
    this.blanks();
    const character = this.text.charAt(this.at);
    if (depth > MAX_DEPTH) {
      return this.fail();
    }
    if (character === "'" || character === '"') {
      return this.quoted(character);
    }
    if (this.take('[')) {
      return this.items(']', depth + 1);
    }
    if (this.take('(')) {
      return this.parenthesised(depth + 1);
    }
    if (this.take('{')) {
      return this.dictionary(depth + 1);
    }
    const word = this.match(NAME);
    if (word !== null) {
      return WORDS.has(word) ? this.ended(WORDS.get(word)) : this.fail();
    }
    const number = this.match(NUMBER);
    return number === null ? this.fail() : this.ended(parsePythonNumber(number) ?? this.fail());
  }

  /** Reads items up to a closing bracket, or to the end of the text. */
  private items(close: string, depth: number): unknown[] {
    const found: unknown[] = [];
    this.blanks();
    while (!this.failed && !this.closes(close)) {
      found.push(this.value(depth));
      if (!this.take(',') && !this.atClose(close)) {
        this.fail();
      }
      this.blanks();
    }
    return found;
  }

  /** Reads a tuple, or one value in parentheses. */
  private parenthesised(depth: number): unknown {
    const start = this.at;
    const found = this.items(')', depth);
    const tuple =
      found.length !== 1 ||
      this.text
        .slice(start, this.at - 1)
        .trimEnd()
        .endsWith(',');
    return tuple ? found : found[0];
  }

  private dictionary(depth: number): unknown {
    const found = new Map<string, unknown>();
    this.blanks();
    while (!this.failed && !this.closes('}')) {
      const key = this.value(depth);
      if ((typeof key !== 'string' && typeof key !== 'number') || !this.take(':')) {
        return this.fail();
      }
      found.set(String(key), this.value(depth));
      if (!this.take(',') && !this.atClose('}')) {
        this.fail();
      }
      this.blanks();
    }
    return Object.fromEntries(found);
  }

  private quoted(quote: string): unknown {
    let result = '';
    for (this.at++; this.at < this.text.length; this.at++) {
      const character = this.text.charAt(this.at);
      if (character === quote) {
        this.at++;
        return this.ended(result);
      }
      result += character === '\\' ? this.escape() : character;
    }
    return this.fail();
  }

  /** Reads one escape sequence and stays at its last character. */
  private escape(): string {
    const code = this.matchAt(CODE, this.at + 1);
    if (code !== null) {
      this.at += code.length;
      return String.fromCodePoint(Number.parseInt(code.slice(1), 16));
    }
    const next = this.text.charAt(++this.at);
    // Python keeps a backslash that begins no escape sequence.
    return ESCAPES.get(next) ?? `\\${next}`;
  }

  private ended(value: unknown): unknown {
    this.blanks();
    return value;
  }

  private closes(close: string): boolean {
    const ended = this.atClose(close);
    this.at += ended ? close.length : 0;
    if (ended) {
      this.blanks();
    } else if (this.at >= this.text.length) {
      this.fail();
    }
    return ended;
  }

  private atClose(close: string): boolean {
    return close === '' ? this.at >= this.text.length : this.text.startsWith(close, this.at);
  }

  private take(character: string): boolean {
    this.blanks();
    const found = this.text.startsWith(character, this.at);
    this.at += found ? 1 : 0;
    return found;
  }

  private blanks(): void {
    this.match(BLANKS);
  }

  private match(pattern: RegExp): string | null {
    const found = this.matchAt(pattern, this.at);
    this.at += found?.length ?? 0;
    return found;
  }

  private matchAt(pattern: RegExp, at: number): string | null {
    pattern.lastIndex = at;
    return pattern.exec(this.text)?.[0] ?? null;
  }

  private fail(): null {
    this.failed = true;
    return null;
  }
}

/** Returns null for text that is not a number in Python, such as 012. */
function parsePythonNumber(written: string): number | null {
  const negative = written.startsWith('-');
  const digits = written.replace(/^[+-]/u, '').replaceAll('_', '');
  if (/^0\d*[1-9]\d*$/u.test(digits)) {
    return null;
  }
  const value = Number(digits);
  return negative ? -value : value;
}
