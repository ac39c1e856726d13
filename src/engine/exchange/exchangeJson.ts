/**
 * JSON as Python's json module reads and writes it. Numbers keep their text: hashes exceed 2^53, and
 * 1.0 differs from 1.
 */

/** Maximum depth of nesting; deeper values could exhaust the stack. */
const MOST_DEPTH = 64;

/** The text of a number, including NaN, Infinity and -Infinity, which Python writes. */
export class JsonNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  get value(): number {
    return Number(this.text);
  }
}

/** Objects are maps, since any name may be a key. */
export type JsonValue = null | boolean | string | JsonNumber | readonly JsonValue[] | ReadonlyMap<string, JsonValue>;

/** Parses a text. @throws Error that says, in one line, what is wrong at which character */
export function parseJson(text: string): JsonValue {
  const reader = new Reader(text);
  const value = reader.value(0);
  reader.end();
  return value;
}

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?|NaN|-?Infinity/uy;
const BLANKS = /[ \t\n\r]*/uy;

class Reader {
  private readonly text: string;
  private at = 0;

  constructor(text: string) {
    this.text = text;
  }

  value(depth: number): JsonValue {
    if (depth > MOST_DEPTH) {
      throw this.wrong(`nesting deeper than ${MOST_DEPTH}`);
    }
    this.take(BLANKS);
    const next = this.text.charAt(this.at);
    if (next === '{') {
      return this.object(depth);
    }
    if (next === '[') {
      return this.list(depth);
    }
    if (next === '"') {
      return this.string();
    }
    for (const [word, value] of [
      ['null', null],
      ['true', true],
      ['false', false],
    ] as const) {
      if (this.text.startsWith(word, this.at)) {
        this.at += word.length;
        return value;
      }
    }
    const number = this.take(NUMBER);
    if (number === '') {
      throw this.wrong('not a JSON value');
    }
    return new JsonNumber(number);
  }

  end(): void {
    this.take(BLANKS);
    if (this.at < this.text.length) {
      throw this.wrong('more after the end of the value');
    }
  }

  private object(depth: number): ReadonlyMap<string, JsonValue> {
    const entries = new Map<string, JsonValue>();
    this.at++;
    for (let first = true; !this.closes('}', first); first = false) {
      this.take(BLANKS);
      const key = this.string();
      this.take(BLANKS);
      this.expect(':');
      // The last value of a repeated key counts, as in Python.
      entries.set(key, this.value(depth + 1));
    }
    return entries;
  }

  private list(depth: number): readonly JsonValue[] {
    const items: JsonValue[] = [];
    this.at++;
    for (let first = true; !this.closes(']', first); first = false) {
      items.push(this.value(depth + 1));
    }
    return items;
  }

  /** Returns true at the closing mark. Otherwise takes a comma, except before the first item. */
  private closes(mark: string, first: boolean): boolean {
    this.take(BLANKS);
    if (this.text.charAt(this.at) === mark) {
      this.at++;
      return true;
    }
    if (!first) {
      this.expect(',');
      this.take(BLANKS);
      if (this.text.charAt(this.at) === mark) {
        throw this.wrong('a comma before the end');
      }
    }
    return false;
  }

  private string(): string {
    // Without a regular expression, whose stack would limit the length of a text.
    let end = this.at + 1;
    while (end < this.text.length && this.text.charAt(end) !== '"') {
      end += this.text.charAt(end) === '\\' ? 2 : 1;
    }
    const quoted = this.text.slice(this.at, end + 1);
    try {
      const text: unknown = JSON.parse(quoted);
      if (typeof text !== 'string') {
        throw this.wrong('not a string in quotes');
      }
      this.at = end + 1;
      return text;
    } catch {
      throw this.wrong('not a string in quotes');
    }
  }

  private expect(mark: string): void {
    if (this.text.charAt(this.at) !== mark) {
      throw this.wrong(`no ${mark}`);
    }
    this.at++;
  }

  private take(pattern: RegExp): string {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text)?.[0] ?? '';
    this.at += found.length;
    return found;
  }

  private wrong(what: string): Error {
    return new Error(`not valid JSON: ${what} at character ${this.at + 1}`);
  }
}

/** Formats JSON as `json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))` does. */
export function formatCanonicalJson(value: JsonValue): string {
  if (value instanceof JsonNumber) {
    return value.text;
  }
  if (value instanceof Map) {
    const entries = [...(value as ReadonlyMap<string, JsonValue>)].sort(([a], [b]) => compareCodePoints(a, b));
    return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${formatCanonicalJson(item)}`).join(',')}}`;
  }
  if (isList(value)) {
    return `[${value.map(formatCanonicalJson).join(',')}]`;
  }
  return JSON.stringify(value);
}

export function isList(value: JsonValue | undefined): value is readonly JsonValue[] {
  return Array.isArray(value);
}

/** Converts plain data to JSON with numbers in their shortest form; toPythonFloat makes Python's floats. */
export function toJsonValue(value: unknown): JsonValue {
  if (value === null || value === undefined) {
    return null;
  }
  if (typeof value === 'string' || typeof value === 'boolean') {
    return value;
  }
  if (typeof value === 'number' || typeof value === 'bigint') {
    return new JsonNumber(String(value));
  }
  if (value instanceof JsonNumber) {
    return value;
  }
  if (Array.isArray(value)) {
    return value.map(toJsonValue);
  }
  if (value instanceof Map) {
    return new Map([...value].map(([key, item]) => [String(key), toJsonValue(item)]));
  }
  return new Map(
    Object.entries(value)
      .filter(([, item]) => item !== undefined)
      .map(([key, item]) => [key, toJsonValue(item)]),
  );
}

/** Converts a JSON value to plain data for a schema, with numbers as doubles. */
export function toPlainData(value: JsonValue): unknown {
  if (value instanceof JsonNumber) {
    return value.value;
  }
  if (isList(value)) {
    return value.map(toPlainData);
  }
  // Object.fromEntries creates own keys of any name, such as __proto__.
  return value instanceof Map
    ? Object.fromEntries([...(value as ReadonlyMap<string, JsonValue>)].map(([key, item]) => [key, toPlainData(item)]))
    : value;
}

/** Formats a number as Python writes a float: 1.0, not 1. */
export function toPythonFloat(value: number): JsonNumber {
  return new JsonNumber(Number.isInteger(value) && Math.abs(value) < 1e16 ? `${value}.0` : String(value));
}

/** Compares strings by code points as Python does; UTF-16 units would put an emoji before U+FFFD. */
function compareCodePoints(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index++) {
    if (a.charCodeAt(index) === b.charCodeAt(index)) {
      continue;
    }
    return rankCodeUnit(a.charCodeAt(index)) - rankCodeUnit(b.charCodeAt(index));
  }
  return a.length - b.length;
}

/** Surrogates represent code points that are above all others. */
function rankCodeUnit(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}
