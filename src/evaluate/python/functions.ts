/** What is asked of a program in two functions, a helper and the main function: how they are written, and each test. */
import { z } from 'zod';
import type { HelperUsage } from '../../domain/message.ts';
import type { SandboxPool } from './pool.ts';
import { scored, type PythonLimits, type PythonRule, type PythonTests, type PythonVerdict } from './rules.ts';
import { countTests, tried, Trial, tryCandidate } from './trial.ts';

const NO_TESTS: PythonTests = { tests: [], test: '', entryPoint: null, setup: '' };
const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

/** What one test showed: its rule, and what happened, bounded. */
export type TestOutcome = readonly [rule: PythonRule, detail: string];

/**
 * Runs each test of one problem against one candidate, as tryCandidate does. A test at which the candidate reaches a
 * limit or leaves the interpreter fails, and the others run without it, each with all of its time; after
 * `mostTimeouts` tests that ran out of time the rest are not run and fail too.
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

/** How one test may end a candidate of which other tests may know more. */
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

/** The two functions of a program, to be parsed and not executed. */
export interface FunctionsSource {
  readonly joined: string;
  /** Empty where there is none. */
  readonly helper: string;
  readonly main: string;
  readonly helperName: string;
  readonly entryPoint: string;
  /** Lines before the functions. */
  readonly imports: string;
}

const inspectedSchema = z.object({
  helperReturns: z.boolean().nullable(),
  mainReturns: z.boolean().nullable(),
  syntax: z.tuple([z.int(), z.int(), z.string()]).nullable(),
  usage: z.object({ called: z.boolean(), used: z.boolean(), wrapper: z.boolean() }).nullable(),
});

/**
 * How two functions are written: whether each gives back a value (null where it cannot be parsed), where the program
 * cannot be parsed (line, column, why), and how the main function uses the helper.
 */
export type InspectedFunctions = z.output<typeof inspectedSchema>;

/** All that is known of a program in two functions. */
export interface FunctionsVerdict {
  readonly inspected: InspectedFunctions;
  /** Of each test, in order; empty where none was run. */
  readonly outcomes: readonly TestOutcome[];
  /** How the main function uses the helper when they run; null where that was not asked for, or nothing passed. */
  readonly executed: HelperUsage | null;
}

/** Parses two functions in a sandbox; what takes it to a limit counts as what cannot be parsed. */
export async function tryFunctions(
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
  const verdict = await tried(pool, limits, 1, async () => {
    const answer = await new Trial(NO_TESTS, pool, limits, 'each').inspect(request);
    if (typeof answer !== 'string') {
      return answer;
    }
    found.push(inspectedSchema.parse(JSON.parse(answer)));
    return scored(1, 'passed', '', 1, 1);
  });
  return found[0] ?? (verdict.masked === null ? unreadable(`${verdict.rule}: ${verdict.detail}`) : verdict);
}
