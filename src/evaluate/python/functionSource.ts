/**
 * The source of a program's two functions: takes the helper `aux` and the main function out of
 * messages, joins them, and splits their assertions (MAGRPO reference sections 7 and 8).
 */

import type { Problem, ProblemTests } from '../../domain/problem.ts';
import { extractCode, type CodeBlocks } from './code.ts';
import type { PythonTests } from './rules.ts';

export const HELPER_NAME = 'aux';

/** The source of two functions in a program; null if one is missing. */
export interface TwoFunctions {
  readonly helper: string | null;
  readonly main: string | null;
}

const IDENTIFIER = /^[A-Za-z_]\w{0,199}$/u;
/** Names that tests call besides the function that they test. */
const BUILTINS = new Set(
  (
    'abs all any bool bytes chr complex dict divmod enumerate filter float frozenset hash hex int isinstance iter len ' +
    'list map max min next oct ord pow print range repr reversed round set slice sorted str sum tuple type zip ' +
    'assert not'
  ).split(' '),
);

/**
 * Returns the function of a name in a program, from its `def` in the first column to the next line
 * that begins there. If there are several, returns the last one, which is the effective one. Null if
 * there is none.
 */
export function findFunctionSource(code: string, name: string): string | null {
  const lines = code.replaceAll('\r\n', '\n').split('\n');
  const first = lines.findLastIndex((line) => IDENTIFIER.test(name) && readDefinedName(line) === name);
  if (first < 0) {
    return null;
  }
  const rest = lines.slice(first + 1).findIndex((line) => /^[^\s#)\]}]/u.test(line));
  return lines
    .slice(first, rest < 0 ? undefined : first + 1 + rest)
    .join('\n')
    .trimEnd();
}

const readDefinedName = (line: string): string | null =>
  /^(?:async\s+)?def\s+([A-Za-z_]\w*)\s*\(/u.exec(line)?.[1] ?? null;

/** Returns true if a function's text appears to return a value; for functions that cannot be parsed. */
export const mentionsReturn = (source: string): boolean => /^(?:[^#\n]*[\s;:])?return\b[ \t]*[^\s#]/mu.test(source);

/**
 * Returns the function that the tests of a problem are about: the one that it names, else the first
 * non-builtin that its first test calls, else the first that its question defines. Null if there is
 * none.
 */
export function findEntryPoint({ question, tests }: Pick<Problem, 'question' | 'tests'>): string | null {
  if (tests === undefined) {
    return null;
  }
  const called = [...(tests.tests[0] ?? '').matchAll(/([A-Za-z_]\w{0,199})\s*\(/gu)].map(([, name = '']) => name);
  return (
    tests.entryPoint ??
    called.find((name) => !BUILTINS.has(name)) ??
    /^\s*def\s+([A-Za-z_]\w{0,199})\s*\(/mu.exec(question)?.[1] ??
    null
  );
}

/** Returns both functions of one program. */
export function splitFunctions(message: string, entryPoint: string, blocks?: CodeBlocks): TwoFunctions {
  const code = extractCode(message, blocks);
  return { helper: findFunctionSource(code, HELPER_NAME), main: findFunctionSource(code, entryPoint) };
}

/**
 * Takes the helper from its own message and the main function from the main role's, so that neither
 * role can replace the other's function.
 */
export const pickFunctions = (helper: string, main: string, entryPoint: string, blocks?: CodeBlocks): TwoFunctions => ({
  helper: splitFunctions(helper, entryPoint, blocks).helper,
  main: splitFunctions(main, entryPoint, blocks).main,
});

/** Returns the program of both functions: the imports of the prompt, the helper, the main function. */
export const joinProgram = ({ prefix }: Pick<ProblemTests, 'prefix'>, functions: TwoFunctions): string =>
  joinParts(joinImportLines(prefix), functions);

/** Returns the import lines of a prompt. */
export const joinImportLines = (prefix: string): string =>
  prefix
    .split('\n')
    .filter((line) => /^(?:import|from)\s/u.test(line))
    .join('\n');

export const joinParts = (imports: string, { helper, main }: TwoFunctions): string =>
  `${[imports, helper ?? '', main ?? ''].filter((part) => part !== '').join('\n\n\n')}\n`;

/**
 * Returns the messages of one turn as one fenced program: the helper from the first message and the
 * main function from the last, or both from a single message. If the function is unknown, returns the
 * last message.
 */
export function joinTurnProgram(
  { question, tests }: Pick<Problem, 'question' | 'tests'>,
  messages: readonly string[],
  blocks?: CodeBlocks,
): string {
  const [first = '', last = ''] = [messages[0], messages.at(-1)];
  const entryPoint = findEntryPoint({ question, ...(tests !== undefined && { tests }) });
  if (tests === undefined || entryPoint === null) {
    return last;
  }
  const found =
    messages.length === 1 ? splitFunctions(last, entryPoint, blocks) : pickFunctions(first, last, entryPoint, blocks);
  return `\`\`\`python\n${joinProgram(tests, found).trimEnd()}\n\`\`\``;
}

/**
 * Returns the tests of a problem as separate statements: its list, or each distinct assertion of
 * `check(candidate)`, with the function's name in place of `candidate`. A check with anything besides
 * assertions is one test.
 */
export function splitAssertions(tests: ProblemTests, entryPoint: string): PythonTests {
  const { setup, test } = tests;
  const whole: PythonTests = { tests: tests.tests, test, entryPoint: tests.entryPoint, setup };
  if (tests.tests.length > 0 || test.trim() === '') {
    return { ...whole, test: '', entryPoint: null };
  }
  const lines = test.replaceAll('\r\n', '\n').split('\n');
  const start = lines.findIndex((line) => /^def\s+check\s*\(\s*candidate\s*\)\s*:\s*(?:#.*)?$/u.test(line));
  const rest = lines.slice(start + 1);
  const end = rest.findIndex((line) => /^[^\s#)\]}]/u.test(line));
  const body = start < 0 ? null : splitStatements(end < 0 ? rest : rest.slice(0, end));
  const asserts = body?.filter((statement) => !/^(?:pass$|#|["'])/u.test(statement)) ?? [];
  if (asserts.length === 0 || !asserts.every((statement) => /^assert\b/u.test(statement))) {
    return whole;
  }
  const used = asserts.filter((statement) => /\bcandidate\b/u.test(statement));
  const named = [...new Set(used.map((statement) => statement.replaceAll(/\bcandidate\b/gu, entryPoint)))];
  const before = lines.slice(0, start).join('\n').trim();
  return named.length === 0
    ? whole
    : { tests: named, test: '', entryPoint: null, setup: [setup, before].filter((part) => part !== '').join('\n') };
}

/**
 * Returns the statements of a block without its indentation; null if one of them is itself a block, or
 * if a bracket or a string stays open.
 */
function splitStatements(lines: readonly string[]): string[] | null {
  const indent = /^\s*/u.exec(lines.find((line) => line.trim() !== '') ?? '')?.[0] ?? '';
  const found: string[] = [];
  let open = '';
  for (const line of lines) {
    if (open === '' && line.trim() === '') {
      continue;
    }
    if (open === '' && (!line.startsWith(indent) || /^\s/u.test(line.slice(indent.length)))) {
      return null;
    }
    open = open === '' ? line.slice(indent.length) : `${open}\n${line}`;
    if (isCompleteStatement(open)) {
      found.push(open.trimEnd());
      open = '';
    }
  }
  return open === '' ? found : null;
}

/** Returns true if a statement ends here: brackets and strings are closed, and no line continues. */
function isCompleteStatement(text: string): boolean {
  // Strings first, so that brackets and comments inside them do not count.
  const bare = text.replaceAll(
    /"""(?:[^\\]|\\[^])*?"""|'''(?:[^\\]|\\[^])*?'''|"(?:[^"\\\n]|\\[^])*"|'(?:[^'\\\n]|\\[^])*'|#[^\n]*/gu,
    '',
  );
  const depth = (bare.match(/[([{]/gu)?.length ?? 0) - (bare.match(/[)\]}]/gu)?.length ?? 0);
  return depth <= 0 && !/"""|'''/u.test(bare) && !bare.endsWith('\\');
}

/** Returns the first n tests, the last |n| if n is below 0, or all for 0. A single test stays whole. */
export function sliceTests(tests: PythonTests, slice: number): PythonTests {
  const { length } = tests.tests;
  if (slice === 0 || Math.abs(slice) >= length) {
    return tests;
  }
  return { ...tests, tests: slice > 0 ? tests.tests.slice(0, slice) : tests.tests.slice(slice) };
}
