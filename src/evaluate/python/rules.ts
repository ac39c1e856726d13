/** Inputs and results of the Python evaluator. */

/**
 * The tests of one problem. MBPP has `tests` (and `setup`); HumanEval and MBPP+ have `test`, with
 * `entryPoint` if it defines check(candidate).
 */
export interface PythonTests {
  /** Statements, each a separate test. */
  readonly tests: readonly string[];
  /** A whole test program; empty if there is none. */
  readonly test: string;
  /** The function that check(candidate) receives; null if the tests call the candidate by its names. */
  readonly entryPoint: string | null;
  /** Runs before the tests, in their process. The candidate's process gets only its import statements. */
  readonly setup: string;
}

/** All limits are final: a candidate that reaches one scores 0 by the rule of that name. */
export interface PythonLimits {
  /** Seconds of the candidate's processor time if the system reports it (Linux), else of clock time. */
  readonly seconds: number;
  /** MiB of the interpreter's whole memory; the interpreter itself takes about 32. */
  readonly memory: number;
  /** Bytes that a candidate may print. */
  readonly output: number;
  /** Bytes of one value, and characters of the code. */
  readonly message: number;
  readonly code: number;
  /** The number of calls that the tests may make. */
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
 * The reason for a verdict:
 * - passed: all tests passed; partly: some did, if fractions are counted
 * - wrong-answer: a test's assertion failed, or the test itself raised any exception
 * - candidate-exception: an exception of the candidate reached the test, or a builtin took it for an end
 * - not-a-builtin: a value is nested too deep, or an instance would decide the verdict
 * - does-not-compile; load-error: an exception while it loaded; exit: it left the interpreter
 * - time-limit, memory-limit, output-limit, message-limit, call-limit, code-limit
 * - forbidden: it reached out of the sandbox
 * - crash: it broke the interpreter, or ended its process twice
 * - test-limit: a value of the candidate keeps the tests from ending
 *
 * Masked verdicts:
 * - no-tests; tests-broken: the tests fail without the candidate, or need something that is not here
 * - killed: something outside ended its processes repeatedly, and those of no other candidate
 * - sandbox: no sandbox works, and the grader has given up
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
  /** From 0 to 1; null exactly if masked. */
  readonly score: number | null;
  readonly rule: PythonRule;
  /** A bounded description. Candidates write parts of it, so it is untrusted text. */
  readonly detail: string;
  /** One sentence; null if there is a score. */
  readonly masked: string | null;
  readonly passed: number;
  readonly total: number;
  /** The rule and the detail of each test, if requested and if the candidate did not end before. */
  readonly outcomes?: readonly (readonly [rule: PythonRule, detail: string])[];
}

/** The scoring rule for tests: all or nothing, or the share that passed. */
export type PassRule = 'strict' | 'fraction';

/** The same, or the share together with the outcome of each test. */
export type TrialRule = PassRule | 'each';

const MAX_DETAIL = 400;

export const scoreVerdict = (
  score: number,
  rule: PythonRule,
  detail: string,
  passed: number,
  total: number,
): PythonVerdict => ({ score, rule, detail: detail.slice(0, MAX_DETAIL), masked: null, passed, total });

export const maskVerdict = (
  rule: 'no-tests' | 'tests-broken' | 'killed' | 'sandbox',
  sentence: string,
): PythonVerdict => ({ score: null, rule, detail: '', masked: sentence.slice(0, MAX_DETAIL), passed: 0, total: 0 });
