/**
 * The two functions of a program as texts: the helper `aux` and the main function, taken out of messages and joined,
 * and the assertions that test them (MAGRPO reference sections 7 and 8).
 */
import type { Problem, ProblemTests } from '../../domain/problem.ts';
import { extractCode, type CodeBlocks } from './code.ts';
import type { PythonTests } from './rules.ts';

/** What the helper's function is called. */
export const HELPER_NAME = 'aux';

/** The places of two functions in a program; null where one is missing. */
export interface TwoFunctions {
  readonly helper: string | null;
  readonly main: string | null;
}

const IDENTIFIER = /^[A-Za-z_]\w{0,199}$/u;
/** What tests call besides the function that they test. */
const BUILTINS = new Set(
  (
    'abs all any bool bytes chr complex dict divmod enumerate filter float frozenset hash hex int isinstance iter len ' +
    'list map max min next oct ord pow print range repr reversed round set slice sorted str sum tuple type zip ' +
    'assert not'
  ).split(' '),
);

/**
 * The function of a name in a program, from its `def` in the first column to the next line that begins there; of
 * several the last, which is the one that holds. Null where there is none.
 */
export function functionNamed(code: string, name: string): string | null {
  const lines = code.replaceAll('\r\n', '\n').split('\n');
  const first = lines.findLastIndex((line) => IDENTIFIER.test(name) && definitionOf(line) === name);
  if (first < 0) {
    return null;
  }
  const rest = lines.slice(first + 1).findIndex((line) => /^[^\s#)\]}]/u.test(line));
  return lines
    .slice(first, rest < 0 ? undefined : first + 1 + rest)
    .join('\n')
    .trimEnd();
}

const definitionOf = (line: string): string | null =>
  /^(?:async\s+)?def\s+([A-Za-z_]\w*)\s*\(/u.exec(line)?.[1] ?? null;

/** Whether a function gives back a value, by its text alone: where it cannot be parsed. */
export const mentionsReturn = (source: string): boolean => /^(?:[^#\n]*[\s;:])?return\b[ \t]*[^\s#]/mu.test(source);

/**
 * The function that the tests of a problem are about: the one that it names, else the first that its question
 * defines, else the first that its first test calls and that is no builtin. Null where none is known.
 */
export function entryPointOf({ question, tests }: Pick<Problem, 'question' | 'tests'>): string | null {
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

/** Both functions of one program. */
export function functionsIn(message: string, entryPoint: string, blocks?: CodeBlocks): TwoFunctions {
  const code = extractCode(message, blocks);
  return { helper: functionNamed(code, HELPER_NAME), main: functionNamed(code, entryPoint) };
}

/** The helper out of its own message and the main function out of the main role's: neither can replace the other's. */
export const functionsOf = (helper: string, main: string, entryPoint: string, blocks?: CodeBlocks): TwoFunctions => ({
  helper: functionsIn(helper, entryPoint, blocks).helper,
  main: functionsIn(main, entryPoint, blocks).main,
});

/** The program of both: the imports of the prompt, the helper, the main function. */
export const joinedProgram = ({ prefix }: Pick<ProblemTests, 'prefix'>, functions: TwoFunctions): string =>
  joinedParts(importsOf(prefix), functions);

/** The lines of a prompt that import. */
export const importsOf = (prefix: string): string =>
  prefix
    .split('\n')
    .filter((line) => /^(?:import|from)\s/u.test(line))
    .join('\n');

/** Imports and functions as one program. */
export const joinedParts = (imports: string, { helper, main }: TwoFunctions): string =>
  `${[imports, helper ?? '', main ?? ''].filter((part) => part !== '').join('\n\n\n')}\n`;

/**
 * What the messages of one turn are as one program, fenced: the helper out of the first and the main function out of
 * the last; of one message alone both. Where no function is known, it is the last message.
 */
export function programOfTurn(
  { question, tests }: Pick<Problem, 'question' | 'tests'>,
  messages: readonly string[],
  blocks?: CodeBlocks,
): string {
  const [first = '', last = ''] = [messages[0], messages.at(-1)];
  const entryPoint = entryPointOf({ question, ...(tests !== undefined && { tests }) });
  if (tests === undefined || entryPoint === null) {
    return last;
  }
  const found =
    messages.length === 1 ? functionsIn(last, entryPoint, blocks) : functionsOf(first, last, entryPoint, blocks);
  return `\`\`\`python\n${joinedProgram(tests, found).trimEnd()}\n\`\`\``;
}

/**
 * The tests of a problem as statements of their own: its list, or the assertions of `check(candidate)`, each once,
 * with the function's name in the place of `candidate`. A check that holds anything but assertions is one test.
 */
export function assertionsOf(tests: ProblemTests, entryPoint: string): PythonTests {
  const { setup, test } = tests;
  const whole: PythonTests = { tests: tests.tests, test, entryPoint: tests.entryPoint, setup };
  if (tests.tests.length > 0 || test.trim() === '') {
    return { ...whole, test: '', entryPoint: null };
  }
  const lines = test.replaceAll('\r\n', '\n').split('\n');
  const start = lines.findIndex((line) => /^def\s+check\s*\(\s*candidate\s*\)\s*:\s*(?:#.*)?$/u.test(line));
  const rest = lines.slice(start + 1);
  const end = rest.findIndex((line) => /^[^\s#)\]}]/u.test(line));
  const body = start < 0 ? null : statementsOf(end < 0 ? rest : rest.slice(0, end));
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
 * The statements of a block, without its indentation; null where one of them is a block itself, or where a bracket or a
 * text stays open.
 */
function statementsOf(lines: readonly string[]): string[] | null {
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
    if (isClosed(open)) {
      found.push(open.trimEnd());
      open = '';
    }
  }
  return open === '' ? found : null;
}

/** Whether a statement ends here: its brackets are closed, its texts too, and nothing continues the line. */
function isClosed(text: string): boolean {
  // Texts first, so that brackets and comments within them do not count.
  const bare = text.replaceAll(
    /"""(?:[^\\]|\\[^])*?"""|'''(?:[^\\]|\\[^])*?'''|"(?:[^"\\\n]|\\[^])*"|'(?:[^'\\\n]|\\[^])*'|#[^\n]*/gu,
    '',
  );
  const depth = (bare.match(/[([{]/gu)?.length ?? 0) - (bare.match(/[)\]}]/gu)?.length ?? 0);
  return depth <= 0 && !/"""|'''/u.test(bare) && !bare.endsWith('\\');
}

/**
 * Some of the tests: the first n, the last |n| where n is below 0, all for 0. What is one test stays so.
 */
export function slicedTests(tests: PythonTests, slice: number): PythonTests {
  const { length } = tests.tests;
  if (slice === 0 || Math.abs(slice) >= length) {
    return tests;
  }
  return { ...tests, tests: slice > 0 ? tests.tests.slice(0, slice) : tests.tests.slice(slice) };
}
