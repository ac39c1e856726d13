/** Examines a program of a helper and a main function, for the ladder's scores and for feedback. */

import type { Examined } from '../domain/message.ts';
import type { Problem } from '../domain/problem.ts';
import { EvaluatorLost } from './lost.ts';
import {
  splitAssertions,
  findEntryPoint,
  splitFunctions,
  HELPER_NAME,
  joinImportLines,
  joinProgram,
  mentionsReturn,
  sliceTests,
} from './python/functionSource.ts';
import type { FunctionsVerdict } from './python/functions.ts';
import type { PythonGrader } from './python/grader.ts';

/** The largest number of characters kept of a test's output. */
const MOST_DETAIL = 300;

/**
 * Examines a program against the tests of its problem. The result is the same for the same arguments.
 * @param program a message or an event that contains both functions
 * @param slice the tests to run: the first n, the last |n| if it is below 0, all for 0
 * @param executes true also finds out, by execution, how the main function uses the helper
 * @throws EvaluatorLost; CancelledError
 */
export async function examineProgram(
  grader: Pick<PythonGrader, 'functions'>,
  problem: Problem,
  program: string,
  slice: number,
  signal?: AbortSignal,
  executes = false,
): Promise<Examined> {
  const { tests, uid } = problem;
  const entryPoint = findEntryPoint(problem);
  if (tests === undefined || entryPoint === null) {
    return { rule: 'no-tests', masked: `Problem ${uid} has no tests of a function.` };
  }
  const found = splitFunctions(program, entryPoint);
  const asked = sliceTests(splitAssertions(tests, entryPoint), slice);
  const source = {
    joined: joinProgram(tests, found),
    helper: found.helper ?? '',
    main: found.main ?? '',
    helperName: HELPER_NAME,
    entryPoint,
    imports: joinImportLines(tests.prefix),
  };
  const verdict = await grader.functions(source, asked, signal, executes);
  if ('masked' in verdict) {
    if (verdict.rule === 'sandbox') {
      throw new EvaluatorLost(verdict.masked ?? '');
    }
    return { rule: verdict.rule, masked: verdict.masked ?? `The tests of problem ${uid} showed nothing.` };
  }
  const { inspected, outcomes, executed } = verdict;
  const sources = asked.tests.length > 0 ? asked.tests : [asked.test];
  return {
    entryPoint,
    helper: toExaminedFunction(found.helper, inspected.helperReturns),
    main: toExaminedFunction(found.main, inspected.mainReturns),
    syntax: toSyntaxFault(inspected),
    usage: inspected.usage,
    ...(executed !== null && { executed }),
    tests: outcomes.map(([rule, detail], index) => ({
      source: sources[index] ?? '',
      passed: rule === 'passed',
      detail: rule === 'passed' ? '' : (detail || rule).slice(0, MOST_DETAIL),
    })),
    testCount: sources.length,
  };
}

const toExaminedFunction = (
  source: string | null,
  returns: boolean | null,
): { source: string | null; returns: boolean } => ({
  source,
  returns: source !== null && (returns ?? mentionsReturn(source)),
});

function toSyntaxFault({
  syntax,
}: FunctionsVerdict['inspected']): { line: number; column: number; message: string } | null {
  if (syntax === null) {
    return null;
  }
  const [line, column, message] = syntax;
  return { line, column, message };
}
