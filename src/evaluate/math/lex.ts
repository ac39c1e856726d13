/**
 * Splits a short answer into tokens: numbers, words, brackets and operators. LaTeX and plain text
 * become the same tokens. Nothing is evaluated.
 */

import { normalizeCharacters } from './characters.ts';
import { LimitReached, LIMITS, Unreadable, type Budget } from './exact/budget.ts';
import { reduceFraction, raiseToInteger, times, toRational, plus } from './exact/numbers.ts';
import type { Rational } from './exact/rational.ts';

export interface Token {
  /**
   * `name`: a variable, constant or function; `word`: a longer run of letters; `matrix`: the begin or
   * end of one; `symbol`: the rest.
   */
  readonly kind: 'number' | 'name' | 'word' | 'matrix' | 'symbol';
  /** For a number: only digits if it is whole, with a point otherwise. */
  readonly text: string;
  /** True if white space comes before it. */
  readonly space: boolean;
  /** True inside \text{...} and similar commands. */
  readonly prose: boolean;
  readonly value: Rational | null;
}

const TEXT_COMMANDS = /^(?:text|textbf|textit|textrm|textnormal|mathrm|mbox|hbox|operatorname)$/;
const STYLE_COMMANDS =
  /^(?:mathbf|mathit|mathsf|mathcal|boldsymbol|bm|boxed|fbox|displaystyle|textstyle|left|right|middle|bigl?|bigr|Bigl?|Bigr|biggl?|biggr|limits|nolimits|mathstrut|hfill|underline)$/;
const SPACE_COMMANDS = /^(?:quad|qquad|enspace|thinspace|space|medspace|thickspace)$/;
const SYMBOL_COMMANDS: Readonly<Record<string, string>> = {
  cdot: '*',
  times: '*',
  ast: '*',
  div: '/',
  le: '<=',
  leq: '<=',
  leqslant: '<=',
  ge: '>=',
  geq: '>=',
  geqslant: '>=',
  lt: '<',
  gt: '>',
  ne: '!=',
  neq: '!=',
  approx: 'approx',
  in: 'in',
  cup: 'cup',
  union: 'cup',
  pm: '+-',
  mp: '-+',
  lbrace: '\\{',
  rbrace: '\\}',
  lbrack: '[',
  rbrack: ']',
  lvert: '|',
  rvert: '|',
  vert: '|',
  mid: '|',
  colon: ':',
  langle: '(',
  rangle: ')',
  emptyset: 'emptyset',
  varnothing: 'emptyset',
  frac: 'frac',
  dfrac: 'frac',
  tfrac: 'frac',
  cfrac: 'frac',
  sqrt: 'sqrt',
  surd: 'surd',
  cbrt: 'cbrt',
  binom: 'binom',
  dbinom: 'binom',
  tbinom: 'binom',
};
const ESCAPED: Readonly<Record<string, string>> = {
  '{': '\\{',
  '}': '\\}',
  '%': '%',
  $: '$',
  '|': '||',
  '\\': ';;',
  '&': '&',
  '#': '#',
  _: '_',
};
export const FUNCTIONS: ReadonlySet<string> = new Set([
  'sin',
  'cos',
  'tan',
  'cot',
  'sec',
  'csc',
  'arcsin',
  'arccos',
  'arctan',
  'sinh',
  'cosh',
  'tanh',
  'ln',
  'log',
  'lg',
  'exp',
]);
const GREEK =
  /^(?:alpha|beta|gamma|delta|(?:var)?epsilon|zeta|eta|(?:var)?theta|iota|kappa|lambda|mu|nu|xi|pi|(?:var)?rho|sigma|tau|upsilon|(?:var)?phi|chi|psi|omega|Gamma|Delta|Theta|Lambda|Xi|Pi|Sigma|Phi|Psi|Omega|infty|ell)$/;
const GREEK_LETTERS: ReadonlyMap<string, string> = new Map(
  Array.from('αβγδεζηθικλμνξπρστυφχψωΓΔΘΛΞΠΣΦΨΩϵϑϕ', (letter, at) => [
    letter,
    'alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon phi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega epsilon theta phi'.split(
      ' ',
    )[at] ?? letter,
  ]),
);

const GROUPED = /([1-9]\d{0,2})((?:(?:,|\{,\}|,\\!|\\!,\\!|\\,)\d{3})+)(?!\d)(?:\.(\d+))?/uy;
/** 1 000 000. In 3 100/200 the blank makes a mixed number. */
const SPACED = /([1-9]\d{0,2})((?:(?: |~|\\ )\d{3})+)(?!\d|\s*\/)(?:\.(\d+))?/uy;
const COMMA_FREE = /([1-9]\d{0,2})((?:(?:\{,\}|,\\!|\\!,\\!|\\,)\d{3})+)(?!\d)(?:\.(\d+))?/uy;
const PLAIN = /(\d+)(?:\.(\d*))?|\.(\d+)/uy;
const REPEATING = /\\(?:overline|bar|dot)\s?\{(\d+)\}/uy;
const EXPONENT = /[eE]([+-]?\d{1,6})(?![\p{L}\d.])/uy;
const DEGREE = /\^\s?(?:\\circ|\{\s?\\circ\s?\}|\\degree|\{\s?\\degree\s?\})/uy;
const COMMAND = /\\([A-Za-z]+)\s?/uy;
const ENVIRONMENT = /\\(begin|end)\s?\{([A-Za-z]+)\*?\}(?:\{[lcr|]{0,20}\})?/uy;
const LETTERS = /\p{Script=Han}+|\p{Script=Greek}|(?:(?!\p{Script=Han}|\p{Script=Greek})\p{L})+/uy;
/** 201_3: digits in another base keep their base as a unit. */
const BASE = /_(?:\{(\d{1,2})\}|(\d))/uy;
const BLACKBOARD = /\{?([A-Z])\}?/uy;
const SUBSCRIPT = /_(?:\{([A-Za-z0-9]{1,8})\}|([A-Za-z]|\d+))/uy;
const PRIMES = /'{1,3}/uy;
const LONG_SYMBOL = /\*\*|<=|>=|!=|==|[-+*/^()[\]{}|,;:=<>!%$&'"?_\u00a3\u20ac\u00a5]/uy;

/**
 * Returns the tokens of an answer.
 * @throws Unreadable for characters and commands outside mathematics, LimitReached for depth and size
 */
export function tokenizeAnswer(answer: string, budget: Budget): readonly Token[] {
  const plain = normalizeCharacters(answer);
  if (plain.length > LIMITS.answer) {
    throw new LimitReached();
  }
  return new Lexer(removeMathDelimiters(plain), budget).run();
}

/** Removes dollars in pairs, which delimit mathematics; a single one is money. */
function removeMathDelimiters(text: string): string {
  const bare = text.replaceAll(/\\[()[\]]/gu, ' ');
  const dollars = [...bare.matchAll(/(?<!\\)\$/gu)].length;
  return dollars % 2 === 0 ? bare.replaceAll(/(?<!\\)\$/gu, ' ') : bare;
}

class Lexer {
  private readonly source: string;
  private readonly budget: Budget;
  private readonly tokens: Token[] = [];
  /** Open braces. Those of \text and of styles produce no tokens. */
  private readonly braces: ('plain' | 'prose' | 'style')[] = [];
  private nextBrace: 'plain' | 'prose' | 'style' = 'plain';
  /** The number of open (, [ and \{. Commas inside them separate. */
  private depth = 0;
  private at = 0;
  private space = false;

  constructor(source: string, budget: Budget) {
    this.source = source;
    this.budget = budget;
  }

  run(): readonly Token[] {
    while (this.at < this.source.length) {
      this.budget.spend(1);
      this.step();
    }
    if (this.braces.length > 0) {
      throw new Unreadable();
    }
    return this.tokens;
  }

  private step(): void {
    const character = this.source.charAt(this.at);
    if (/\s|~/u.test(character)) {
      this.at++;
      this.space = true;
    } else if (/[\d.]/u.test(character)) {
      this.number();
    } else if (this.match(DEGREE) !== null) {
      this.push('word', 'degree');
    } else if (character === '\\') {
      this.command();
    } else if (character === '{' || character === '}') {
      this.brace(character);
    } else if (/\p{L}/u.test(character)) {
      this.letters();
    } else {
      this.symbol();
    }
  }

  private match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.source);
    if (found !== null) {
      this.at = pattern.lastIndex;
    }
    return found;
  }

  private push(kind: Token['kind'], text: string, value: Rational | null = null): void {
    if (/^[([]$|^\\\{$/u.test(text)) {
      this.depth++;
    } else if (/^[)\]]$|^\\\}$/u.test(text)) {
      this.depth--;
    }
    if (this.depth + this.braces.length > LIMITS.depth) {
      throw new LimitReached();
    }
    this.tokens.push({ kind, text, space: this.space, prose: this.braces.includes('prose'), value });
    this.space = false;
  }

  private number(): void {
    const grouped = this.match(SPACED) ?? this.match(this.depth > 0 ? COMMA_FREE : GROUPED);
    const plain = grouped ?? this.match(PLAIN);
    if (plain === null) {
      throw new Unreadable();
    }
    const before = grouped === null ? (plain[1] ?? '') : (plain[1] ?? '') + (plain[2] ?? '').replaceAll(/\D/gu, '');
    const after = grouped === null ? (plain[2] ?? plain[3] ?? '') : (plain[3] ?? '');
    const pointed = plain[0].includes('.');
    let value = reduceFraction(this.budget, BigInt(before + after || '0'), 10n ** BigInt(after.length));
    const repeating = pointed ? this.match(REPEATING)?.[1] : undefined;
    if (repeating !== undefined) {
      const nines = 10n ** BigInt(repeating.length) - 1n;
      value = plus(
        this.budget,
        value,
        reduceFraction(this.budget, BigInt(repeating), nines * 10n ** BigInt(after.length)),
      );
    }
    const exponent = this.match(EXPONENT)?.[1];
    if (exponent !== undefined) {
      value = times(this.budget, value, raiseToInteger(this.budget, toRational(10), Number(exponent)));
    }
    this.push('number', pointed || exponent !== undefined ? `${before}.${after}` : before, value);
    const base = this.match(BASE);
    if (base !== null) {
      this.tokens.push({
        kind: 'word',
        text: `base ${base[1] ?? base[2] ?? ''}`,
        space: false,
        prose: true,
        value: null,
      });
    }
  }

  private command(): void {
    const environment = this.match(ENVIRONMENT);
    if (environment !== null) {
      if (!/^(?:[pbv]?matrix|array|cases)$/u.test(environment[2] ?? '')) {
        throw new Unreadable();
      }
      this.push(
        'matrix',
        `${environment[1] ?? ''} ${environment[2] === 'vmatrix' ? 'determinant' : environment[2] === 'cases' ? 'cases' : 'matrix'}`,
      );
      return;
    }
    const name = this.match(COMMAND)?.[1];
    if (name === undefined) {
      const escaped = this.source.charAt(this.at + 1);
      this.at += 2;
      const symbol = ESCAPED[escaped];
      if (symbol !== undefined) {
        this.push('symbol', symbol);
      } else if (/[,;:!\s/]/u.test(escaped)) {
        this.space ||= escaped !== '!';
      } else {
        throw new Unreadable();
      }
    } else if (TEXT_COMMANDS.test(name)) {
      this.nextBrace = 'prose';
    } else if (STYLE_COMMANDS.test(name)) {
      this.nextBrace = this.source.charAt(this.at) === '{' ? 'style' : 'plain';
      // \left. draws nothing.
      if (this.source.charAt(this.at) === '.' && /^(?:left|right)$/u.test(name)) {
        this.at++;
      }
    } else if (SPACE_COMMANDS.test(name)) {
      this.space = true;
    } else if (name === 'mathbb') {
      this.push('name', `bb${this.match(BLACKBOARD)?.[1] ?? ''}`);
    } else if (name === 'degree' || name === 'degrees') {
      this.push('word', 'degree');
    } else if (GREEK.test(name)) {
      this.name(name.replace(/^var/u, ''));
    } else if (FUNCTIONS.has(name)) {
      this.push('name', name);
    } else {
      const symbol = SYMBOL_COMMANDS[name];
      if (symbol === undefined) {
        throw new Unreadable();
      }
      this.push('symbol', symbol);
    }
  }

  private brace(character: string): void {
    this.at++;
    if (character === '{') {
      this.braces.push(this.nextBrace);
      if (this.nextBrace === 'plain') {
        this.push('symbol', '{');
      } else if (this.braces.length > LIMITS.depth) {
        throw new LimitReached();
      }
      this.nextBrace = 'plain';
      return;
    }
    const closed = this.braces.pop();
    if (closed === undefined) {
      throw new Unreadable();
    }
    if (closed === 'plain') {
      this.push('symbol', '}');
    }
  }

  private letters(): void {
    const run = this.match(LETTERS)?.[0];
    if (run === undefined) {
      throw new Unreadable();
    }
    const greek = GREEK_LETTERS.get(run);
    if (greek !== undefined) {
      this.name(greek);
    } else if (run.length === 1 && !/\p{Script=Han}/u.test(run)) {
      this.name(run);
    } else if (run === 'pi' || FUNCTIONS.has(run)) {
      this.push('name', run);
    } else if (/^(?:inf|infty|infinity|oo)$/iu.test(run)) {
      this.push('name', 'infty');
    } else if (run === 'sqrt' || run === 'cbrt') {
      this.push('symbol', run);
    } else if (run === 'percent') {
      this.push('symbol', '%');
    } else {
      this.push('word', run);
    }
  }

  /** Reads the subscript and the primes of a name. */
  private name(letter: string): void {
    const subscript = this.match(SUBSCRIPT);
    const primes = this.match(PRIMES)?.[0] ?? '';
    this.push('name', letter + (subscript === null ? '' : `_${subscript[1] ?? subscript[2] ?? ''}`) + primes);
  }

  private symbol(): void {
    const symbol = this.match(LONG_SYMBOL)?.[0];
    if (symbol === undefined) {
      throw new Unreadable();
    }
    this.push('symbol', symbol === '**' ? '^' : symbol === '==' ? '=' : symbol);
  }
}
