/** Examines a program of a helper and a main function: parses them, and runs each test. */

import { z } from 'zod';
import type { HelperUsage } from '../../domain/message.ts';
import type { SandboxPool } from './pool.ts';
import { scoreVerdict, type PythonLimits, type PythonRule, type PythonTests, type PythonVerdict } from './rules.ts';
import { countTests, retryTrial, Trial, tryCandidate } from './trial.ts';

const NO_TESTS: PythonTests = { tests: [], test: '', entryPoint: null, setup: '' };
const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

/** The rule of one test's result, and a bounded detail. */
export type TestOutcome = readonly [rule: PythonRule, detail: string];

/**
 * Runs each test of one problem against one candidate, as tryCandidate does. A test in which the
 * candidate reaches a limit or leaves the interpreter fails, and the other tests run without it, each
 * with its full time. After `mostTimeouts` tests that ran out of time, the rest are not run and fail
 * too.
 * @returns an outcome for each test, in order; or a masked verdict
 */
export async function tryEachTest(
  code: string,
  tests: PythonTests,
  pool: SandboxPool,
  limits: PythonLimits,
  mostTimeouts: number,
): Promise<readonly TestOutcome[] | PythonVerdict> {
  const together = await tryCandidate(code, tests, pool, limits, 'each');
  if (together.masked !== null || together.outcomes !== undefined) {
    return together.outcomes ?? together;
  }
  const same: TestOutcome = [together.rule, together.detail];
  if (!LIMITS_OF_TESTS.has(together.rule) || tests.tests.length < 2) {
    return Array.from({ length: countTests(tests) }, () => same);
  }
  const outcomes: TestOutcome[] = [];
  for (let timeouts = 0; outcomes.length < tests.tests.length;) {
    const test = tests.tests[outcomes.length] ?? '';
    if (timeouts >= mostTimeouts) {
      outcomes.push(['time-limit', `not run after ${timeouts} tests ran out of time`]);
      continue;
    }
    const alone = await tryCandidate(code, { ...tests, tests: [test], test: '' }, pool, limits, 'each');
    if (alone.masked !== null) {
      return alone;
    }
    timeouts += alone.rule === 'time-limit' ? 1 : 0;
    outcomes.push(alone.outcomes?.[0] ?? [alone.rule, alone.detail]);
  }
  return outcomes;
}

/** Rules with which one test may end a candidate although other tests could still run. */
const LIMITS_OF_TESTS: ReadonlySet<PythonRule> = new Set([
  'exit',
  'time-limit',
  'memory-limit',
  'output-limit',
  'message-limit',
  'call-limit',
  'forbidden',
  'crash',
  'test-limit',
]);

/** The source of a program's two functions, for parsing only. */
export interface FunctionsSource {
  readonly joined: string;
  /** Empty if there is none. */
  readonly helper: string;
  readonly main: string;
  readonly helperName: string;
  readonly entryPoint: string;
  /** The lines before the functions. */
  readonly imports: string;
}

const inspectedSchema = z.object({
  helperReturns: z.boolean().nullable(),
  mainReturns: z.boolean().nullable(),
  syntax: z.tuple([z.int(), z.int(), z.string()]).nullable(),
  usage: z.object({ called: z.boolean(), used: z.boolean(), wrapper: z.boolean() }).nullable(),
});

/**
 * The result of parsing two functions: if each returns a value (null if it cannot be parsed), the
 * syntax error of the program (line, column, message), and the main function's use of the helper.
 */
export type InspectedFunctions = z.output<typeof inspectedSchema>;

export interface FunctionsVerdict {
  readonly inspected: InspectedFunctions;
  /** The outcome of each test, in order; empty if none was run. */
  readonly outcomes: readonly TestOutcome[];
  /** The main function's use of the helper at run time; null if not requested, or if nothing passed. */
  readonly executed: HelperUsage | null;
}

/** Parses two functions in a sandbox. Functions that reach a limit count as unparsable. */
export async function inspectFunctions(
  source: FunctionsSource,
  pool: SandboxPool,
  limits: PythonLimits,
): Promise<InspectedFunctions | PythonVerdict> {
  const unreadable = (why: string): InspectedFunctions => ({
    helperReturns: null,
    mainReturns: null,
    syntax: [1, 1, why],
    usage: null,
  });
  if (source.joined.length > limits.code) {
    return unreadable(`${source.joined.length} characters`);
  }
  const request = encode(`N${JSON.stringify(source)}`);
  const found: InspectedFunctions[] = [];
  const verdict = await retryTrial(pool, limits, 1, async () => {
    const answer = await new Trial(NO_TESTS, pool, limits, 'each').inspect(request);
    if (typeof answer !== 'string') {
      return answer;
    }
    found.push(inspectedSchema.parse(JSON.parse(answer)));
    return scoreVerdict(1, 'passed', '', 1, 1);
  });
  return found[0] ?? (verdict.masked === null ? unreadable(`${verdict.rule}: ${verdict.detail}`) : verdict);
}
