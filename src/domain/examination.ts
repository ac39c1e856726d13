/** What is known of a program in two functions, a helper's and the main one: what a reward and feedback are made of. */

export interface ExaminedFunction {
  /** Null where it is missing. */
  readonly source: string | null;
  /** Whether it gives back a value. */
  readonly returns: boolean;
}

export interface ExaminedTest {
  /** The assertion, or the whole test program. */
  readonly source: string;
  readonly passed: boolean;
  /** What happened, bounded; empty where it passed. Programs write parts of it. */
  readonly detail: string;
}

/**
 * How the main function uses the helper: whether it calls it, whether the result matters, whether that is all it does.
 */
export interface HelperUsage {
  readonly called: boolean;
  readonly used: boolean;
  readonly wrapper: boolean;
}

export interface Examination {
  /** The main function's name. */
  readonly entryPoint: string;
  readonly helper: ExaminedFunction;
  readonly main: ExaminedFunction;
  /** Where both together cannot be parsed; null where they can. */
  readonly syntax: { readonly line: number; readonly column: number; readonly message: string } | null;
  /** As it is written; null where that cannot be parsed or is missing. */
  readonly usage: HelperUsage | null;
  /** As it runs; absent where it was not run for that, or no test passed. */
  readonly executed?: HelperUsage;
  /** Empty where none was run: without a main function, or where nothing can be parsed. */
  readonly tests: readonly ExaminedTest[];
  /** How many tests there are, run or not. */
  readonly testCount: number;
}

/** The examination of a program, or why there is none. */
export type Examined = Examination | { readonly masked: string; readonly rule: string };
