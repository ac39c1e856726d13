/** Scores Python code by unit tests, several candidates at a time. */

import { createHash } from 'node:crypto';
import type { HelperUsage } from '../../domain/message.ts';
import { NEVER } from '../../shared/cancellation.ts';
import { CancelledError } from '../../shared/errors.ts';
import { Lanes } from '../../shared/lanes.ts';
import { tryCooperation } from './cooperation.ts';
import { tryEachTest, inspectFunctions, type FunctionsSource, type FunctionsVerdict } from './functions.ts';
import { startNativeSandboxes } from './native/native.ts';
import { startBundledSandboxes, SandboxPool } from './pool.ts';
import { DEFAULT_LIMITS, type PassRule, type PythonLimits, type PythonTests, type PythonVerdict } from './rules.ts';
import type { SandboxPlaces } from './sandbox/sandboxProcess.ts';
import { countTests, tryCandidate } from './trial.ts';

/** Keeps the verdicts of one grader, under the problem's uidSha and the hash of the code. */
export interface VerdictCache {
  get(key: string): PythonVerdict | undefined;
  set(key: string, verdict: PythonVerdict): void;
}

export interface PythonGraderOptions {
  readonly places: SandboxPlaces;
  readonly limits?: Partial<PythonLimits>;
  /** With strict, all tests must pass. */
  readonly passRule?: PassRule;
  /** Candidates at a time. Each uses two processes, one of which works. */
  readonly lanes?: number;
  readonly cache?: VerdictCache;
  readonly backend?: PythonBackend;
}

/** The interpreter: the bundled one, or the user's own, isolated by the system (native.ts). */
export type PythonBackend = 'bundled' | 'python3';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Returns the cache key: a verdict belongs to one problem, one byte-exact code and one backend. */
export const makeVerdictKey = (uidSha: string, code: string, backend: PythonBackend = 'bundled'): string =>
  `${backend}:${uidSha}:${sha256(code)}`;

/** After this many tests that ran out of time, the other tests of a program are not run. */
const MOST_TIMEOUTS = 3;
const MOST_EXAMINED = 20_000;

export class PythonGrader {
  private readonly pool: SandboxPool;
  private readonly limits: PythonLimits;
  private readonly passRule: PassRule;
  private readonly cache: VerdictCache;
  private readonly backend: PythonBackend;
  /** The newest verdicts on two functions. */
  private readonly examined = new Map<string, FunctionsVerdict>();
  /** Verdicts in progress. */
  private readonly running = new Map<string, Promise<PythonVerdict>>();
  /** The signals of callers that wait for verdicts that have not started yet. */
  private readonly waiting = new Map<string, AbortSignal[]>();
  private readonly lanes: Lanes;
  private warmed = false;

  constructor({
    places,
    limits,
    passRule = 'strict',
    lanes = 2,
    cache = new Map<string, PythonVerdict>(),
    backend = 'bundled',
  }: PythonGraderOptions) {
    this.limits = { ...DEFAULT_LIMITS, ...limits };
    this.pool = new SandboxPool(
      backend === 'python3' ? startNativeSandboxes(this.limits) : startBundledSandboxes(places, this.limits),
    );
    this.backend = backend;
    this.passRule = passRule;
    this.cache = cache;
    this.lanes = new Lanes(lanes);
  }

  /**
   * Returns the verdict on a candidate, the same for the same arguments. A known verdict is returned
   * without a run; in a ledger it still counts as a call. Masked verdicts are not kept.
   * @param uidSha identifies the problem; with null, the tests identify it
   * @param signal checked before the run starts
   * @throws CancelledError if it was not run
   */
  async grade(
    code: string,
    tests: PythonTests,
    uidSha: string | null = null,
    signal: AbortSignal = NEVER,
  ): Promise<PythonVerdict> {
    const key = makeVerdictKey(
      uidSha ?? sha256(JSON.stringify([tests.setup, tests.tests, tests.test, tests.entryPoint])),
      code,
      this.backend,
    );
    const known = this.cache.get(key) ?? this.running.get(key);
    if (known !== undefined) {
      this.waiting.get(key)?.push(signal);
      return known;
    }
    // Other callers that wait for this verdict may not have been cancelled: it is given up only if all of
    // them were.
    const waiting = [signal];
    this.waiting.set(key, waiting);
    const found = this.inTurn(() => {
      this.waiting.delete(key);
      return waiting.every(({ aborted }) => aborted)
        ? Promise.reject(new CancelledError())
        : tryCandidate(code, tests, this.pool, this.limits, this.passRule);
    });
    this.running.set(key, found);
    try {
      const verdict = await found;
      if (verdict.score !== null) {
        this.cache.set(key, verdict);
      }
      return verdict;
    } finally {
      this.running.delete(key);
    }
  }

  /**
   * Parses two functions, and runs each test on the program that they form; the same for the same
   * arguments. The tests are run if the program can be parsed and has the main function.
   * @param executes true also finds out, by execution, how the main function uses the helper
   * @throws CancelledError if it was cancelled before its turn
   */
  async functions(
    source: FunctionsSource,
    tests: PythonTests,
    signal: AbortSignal = NEVER,
    executes = false,
  ): Promise<FunctionsVerdict | PythonVerdict> {
    const key = sha256(JSON.stringify([this.backend, source, tests, executes]));
    const known = this.examined.get(key);
    if (known !== undefined) {
      return known;
    }
    const found = await this.inTurn(async () => {
      if (signal.aborted) {
        throw new CancelledError();
      }
      const inspected = await inspectFunctions(source, this.pool, this.limits);
      if ('masked' in inspected) {
        return inspected;
      }
      const isRun = inspected.usage !== null && source.main !== '' && countTests(tests) > 0;
      const outcomes = isRun ? await tryEachTest(source.joined, tests, this.pool, this.limits, MOST_TIMEOUTS) : [];
      if ('masked' in outcomes) {
        return outcomes;
      }
      const isUsed = executes && inspected.usage?.called === true && outcomes.some(([rule]) => rule === 'passed');
      const executed = isUsed ? await this.cooperation(source, tests) : null;
      return executed !== null && 'masked' in executed ? executed : { inspected, outcomes, executed };
    });
    if (!('masked' in found)) {
      const oldest = this.examined.size < MOST_EXAMINED ? undefined : this.examined.keys().next().value;
      if (oldest !== undefined) {
        this.examined.delete(oldest);
      }
      this.examined.set(key, found);
    }
    return found;
  }

  private cooperation(
    { imports, helper, main, helperName, entryPoint }: FunctionsSource,
    tests: PythonTests,
  ): Promise<HelperUsage | PythonVerdict> {
    const names = { helper: helperName, main: entryPoint };
    return tryCooperation(imports, { helper, main }, names, tests, this.pool, this.limits);
  }

  private inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.lanes.within(NEVER, () => {
      const result = work();
      // The first candidate starts at once. A spare process starts behind it, so that replacing an ended
      // process takes no time.
      if (!this.warmed) {
        this.pool.warm('candidate');
      }
      this.warmed = true;
      return result;
    });
  }

  /** True if no sandbox works and all further verdicts are masked. A new grader may work. */
  get lost(): boolean {
    return this.pool.lost;
  }

  /** Processor seconds of all its sandboxes so far; 0 if the system does not report them. */
  get processorSeconds(): number {
    return this.pool.processorSeconds;
  }

  /** Ends all processes; candidates that still run end as masked. */
  close(): void {
    this.pool.giveUp('the sandbox was ended');
  }
}
