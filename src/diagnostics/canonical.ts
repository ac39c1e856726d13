/**
 * Converts a teammate's message to a symbol that can be counted: by the paper's method and by the
 * published code's, which differ (reference section 8.3).
 */

export const CANONICALIZATIONS = ['paper', 'code'] as const;
export type Canonicalization = (typeof CANONICALIZATIONS)[number];

const PAPER_LENGTH = 256;
/** Whitespace in Python, which differs from JavaScript's. */
const BLANK = /[\t-\r\u001c-\u0020\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/u;
const BLANKS = new RegExp(`${BLANK.source}+`, 'gu');
const LINE_ENDS = /\r\n|[\n\r\v\f\u001c-\u001e\u0085\u2028\u2029]/u;

/** Compiles a pattern in which _ matches Python's \s. */
function compilePythonPattern(pattern: string, flags: string): RegExp {
  return new RegExp(pattern.replaceAll('_', BLANK.source), flags);
}

/**
 * Returns the symbol of a text. The published tools hash it to 16 hex digits; the text distinguishes
 * equally well.
 */
export function toSymbol(text: string, canonicalisation: Canonicalization): string {
  return canonicalisation === 'paper' ? toPaperForm(text) : toCodeForm(text);
}

/** Appendix J: NFKC, whitespace collapsed, trimmed, cut at 256 characters; EMPTY if nothing is left. */
function toPaperForm(text: string): string {
  const collapsed = trimBlanks(text.normalize('NFKC').replace(BLANKS, ' '));
  // Characters are code points, as in Python.
  const cut = collapsed.length <= PAPER_LENGTH ? collapsed : Array.from(collapsed).slice(0, PAPER_LENGTH).join('');
  return cut === '' ? 'EMPTY' : cut;
}

/**
 * The published code: applies its sanitizer for mathematics, removes fence marks, unifies line ends,
 * collapses blanks within lines and blank lines, and trims.
 */
function toCodeForm(text: string): string {
  const unfenced = sanitizeMathematics(text).replace(/```(?:[a-zA-Z0-9_+-]+)?\n|\n```/gu, '\n');
  const lines = unfenced
    .replace(/\r\n?/gu, '\n')
    .split('\n')
    .map((line) => trimEnd(line).replace(/[ \t]+/gu, ' '));
  return trimBlanks(lines.filter((line, index) => line !== '' || lines[index - 1] !== '').join('\n'));
}

const SPECIAL_TOKENS = [
  '<|im_start|>',
  '<|im_end|>',
  '<|assistant|>',
  '<|user|>',
  '<|system|>',
  '<|tool|>',
  '<|endoftext|>',
  '</s>',
  '<s>',
];
/** Matches whole words by Python's definition. */
const ERROR_WORD = /(?<![\p{L}\p{N}_])(?:Traceback|Exception|[A-Za-z_]*Error)(?![\p{L}\p{N}_])/u;
const WRAPPED_TEXT = compilePythonPattern(
  '\\\\(?:text|mathrm|mathbf|textbf|textit|operatorname)_*\\{([^{}]*)\\}',
  'gu',
);
const TEMPLATE_WORD = /(?<![\p{L}\p{N}_])im_(?:start|end)(?![\p{L}\p{N}_])/gu;
const ROLE_HEADER = compilePythonPattern('\\*\\*_*(?:actor|reasoner|assistant|system|user)_*\\*\\*', 'giu');
const ROLE_PREFIX = compilePythonPattern('^_*(?:actor|reasoner|assistant|system|user)_*:_*', 'iu');
const ANSWER_PREFIX = compilePythonPattern('^_*(?:final_+answer|answer|final)_*:_*', 'iu');
const RULE_LINE = compilePythonPattern('^_*(?:={3,}|-{3,}|\\x5f{3,}|\\*{3,})_*$', 'u');
const FENCE = compilePythonPattern('```([A-Za-z0-9\\x5f-]*)_*\\n', 'gu');
const TOOL_FENCES = new Set(['python', 'py', 'output', 'bash', 'sh']);

/**
 * Applies the published sanitizer of mathematics (reference section 6.1): it removes marks of chat
 * templates, tool transcripts and error lines, and keeps mathematics.
 */
export function sanitizeMathematics(text: string): string {
  let clean = text.replace(WRAPPED_TEXT, (_, inner: string) => ` ${trimBlanks(inner)} `);
  for (const token of SPECIAL_TOKENS) {
    clean = clean.replaceAll(token, ' ');
  }
  clean = removeToolFences(clean.replace(TEMPLATE_WORD, ' ').replace(ROLE_HEADER, ' '));
  const lines = clean.split(LINE_ENDS);
  // Python's splitlines returns no empty last line.
  if (lines.at(-1) === '') {
    lines.pop();
  }
  const kept = lines
    .filter((line) => !RULE_LINE.test(line) && !ERROR_WORD.test(line))
    .map((line) => line.replace(ROLE_PREFIX, '').replace(ANSWER_PREFIX, ''));
  return trimBlanks(
    kept
      .join('\n')
      .replace(/[ \t]{2,}/gu, ' ')
      .replace(/\n{3,}/gu, '\n\n'),
  );
}

/** Removes fenced tool output. A regular expression would search for the end of every open fence again. */
function removeToolFences(text: string): string {
  const opening = new RegExp(FENCE);
  let clean = '';
  let from = 0;
  for (let match = opening.exec(text); match !== null; match = opening.exec(text)) {
    const body = match.index + match[0].length;
    const end = text.indexOf('```', body);
    if (end === -1) {
      break;
    }
    const drop = TOOL_FENCES.has((match[1] ?? '').toLowerCase()) || ERROR_WORD.test(text.slice(body, end));
    clean += text.slice(from, match.index) + (drop ? '\n' : text.slice(match.index, end + 3));
    from = end + 3;
    opening.lastIndex = from;
  }
  return clean + text.slice(from);
}

function isBlank(character: string): boolean {
  return BLANK.test(character);
}

function trimEnd(text: string): string {
  let end = text.length;
  while (end > 0 && isBlank(text.charAt(end - 1))) {
    end--;
  }
  return text.slice(0, end);
}

function trimBlanks(text: string): string {
  const rest = trimEnd(text);
  let start = 0;
  while (start < rest.length && isBlank(rest.charAt(start))) {
    start++;
  }
  return rest.slice(start);
}
