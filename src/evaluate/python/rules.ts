/** What is asked of the Python evaluator and what it answers. */

/**
 * Tests of one problem. MBPP: `tests` (and `setup`); HumanEval and MBPP+: `test`, with `entryPoint` where it defines
 * check(candidate).
 */
export interface PythonTests {
  /** Statements, each a test of its own. */
  readonly tests: readonly string[];
  /** A whole program that tests; empty where there is none. */
  readonly test: string;
  /** The function that check(candidate) receives; null where the tests call the candidate by its names. */
  readonly entryPoint: string | null;
  /** Runs before the tests, where they run. The candidate's process gets its import statements only. */
  readonly setup: string;
}

/** All limits are final: a candidate that reaches one scores 0 by the rule of that name. */
export interface PythonLimits {
  /** Seconds of processor time of the candidate's process, where the system says it (Linux), else of the clock. */
  readonly seconds: number;
  /** MiB of the interpreter's whole memory, of which about 32 are its own. */
  readonly memory: number;
  /** Bytes that a candidate may print. */
  readonly output: number;
  /** Bytes of one value, and characters of the code. */
  readonly message: number;
  readonly code: number;
  /** Calls that the tests may make. */
  readonly calls: number;
}

export const DEFAULT_LIMITS: PythonLimits = {
  seconds: 10,
  memory: 512,
  output: 1 << 20,
  message: 4 << 20,
  code: 100_000,
  calls: 100_000,
};

/**
 * Why a verdict is what it is: passed (all tests) | partly (some, where fractions are asked for) | wrong-answer (a
 * test's assertion, or any exception of the test itself) | candidate-exception (reached the test, or a builtin took it
 * for an end) | not-a-builtin (nested too deep, or an instance that is asked for a verdict) | does-not-compile |
 * load-error (an exception while it loaded) | exit (left the interpreter) | time-limit | memory-limit | output-limit |
 * message-limit | call-limit | code-limit | forbidden (reached out of the sandbox) | crash (broke the interpreter, or
 * took its process with it twice) | test-limit (a value of the candidate keeps the tests from ending) | and, masked:
 * no-tests | tests-broken (they fail without the candidate or need what is not here) | killed (something outside ended
 * its processes again and again, and those of no other candidate) | sandbox (none works: the grader has given up).
 */
export type PythonRule =
  | 'passed'
  | 'partly'
  | 'wrong-answer'
  | 'candidate-exception'
  | 'not-a-builtin'
  | 'does-not-compile'
  | 'load-error'
  | 'exit'
  | 'time-limit'
  | 'memory-limit'
  | 'output-limit'
  | 'message-limit'
  | 'call-limit'
  | 'code-limit'
  | 'forbidden'
  | 'crash'
  | 'test-limit'
  | 'no-tests'
  | 'tests-broken'
  | 'killed'
  | 'sandbox';

export interface PythonVerdict {
  /** 0 to 1; null exactly when masked. */
  readonly score: number | null;
  readonly rule: PythonRule;
  /** What happened, bounded; candidates write parts of it, so it is untrusted text. */
  readonly detail: string;
  /** One sentence; null when there is a score. */
  readonly masked: string | null;
  readonly passed: number;
  readonly total: number;
  /** What each test showed, its rule and detail, where that was asked for and the candidate did not end before. */
  readonly outcomes?: readonly (readonly [rule: PythonRule, detail: string])[];
}

/** How passed tests become a score: all or nothing, or their share. */
export type PassRule = 'strict' | 'fraction';

/** The same, or their share with what each of them showed. */
export type TrialRule = PassRule | 'each';

const MAX_DETAIL = 400;

export const scored = (
  score: number,
  rule: PythonRule,
  detail: string,
  passed: number,
  total: number,
): PythonVerdict => ({ score, rule, detail: detail.slice(0, MAX_DETAIL), masked: null, passed, total });

export const masked = (rule: 'no-tests' | 'tests-broken' | 'killed' | 'sandbox', sentence: string): PythonVerdict => ({
  score: null,
  rule,
  detail: '',
  masked: sentence.slice(0, MAX_DETAIL),
  passed: 0,
  total: 0,
});
