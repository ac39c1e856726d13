/** Scores Python code by unit tests, several candidates at a time. */
import { createHash } from 'node:crypto';
import type { HelperUsage } from '../../domain/message.ts';
import { NEVER } from '../../shared/cancellation.ts';
import { CancelledError } from '../../shared/errors.ts';
import { Lanes } from '../../shared/lanes.ts';
import { tryCooperation } from './cooperation.ts';
import { tryEachTest, tryFunctions, type FunctionsSource, type FunctionsVerdict } from './functions.ts';
import { nativeSandboxes } from './native/native.ts';
import { bundledSandboxes, SandboxPool } from './pool.ts';
import { DEFAULT_LIMITS, type PassRule, type PythonLimits, type PythonTests, type PythonVerdict } from './rules.ts';
import type { SandboxPlaces } from './sandbox/sandboxProcess.ts';
import { countTests, tryCandidate } from './trial.ts';

/** Keeps verdicts of one grader's settings; the key is made of the problem's uidSha and the hash of the code. */
export interface VerdictCache {
  get(key: string): PythonVerdict | undefined;
  set(key: string, verdict: PythonVerdict): void;
}

export interface PythonGraderOptions {
  readonly places: SandboxPlaces;
  readonly limits?: Partial<PythonLimits>;
  /** strict: all tests must pass. */
  readonly passRule?: PassRule;
  /** Candidates at a time; each uses two processes, of which one works. */
  readonly lanes?: number;
  readonly cache?: VerdictCache;
  readonly backend?: PythonBackend;
}

/**
 * Whose interpreter runs the code: the one that comes with the product, or the user's own behind a wall of the system
 * (native.ts).
 */
export type PythonBackend = 'bundled' | 'python3';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/**
 * The cache's key. A verdict belongs to one problem and one text of code, to the byte, and to the backend that found
 * it.
 */
export const verdictKey = (uidSha: string, code: string, backend: PythonBackend = 'bundled'): string =>
  `${backend}:${uidSha}:${sha256(code)}`;

/** After so many tests that ran out of time, the others of a program are not run. */
const MOST_TIMEOUTS = 3;
const MOST_EXAMINED = 20_000;

export class PythonGrader {
  private readonly pool: SandboxPool;
  private readonly limits: PythonLimits;
  private readonly passRule: PassRule;
  private readonly cache: VerdictCache;
  private readonly backend: PythonBackend;
  /** The newest of those on two functions. */
  private readonly examined = new Map<string, FunctionsVerdict>();
  /** Verdicts that are being found. */
  private readonly running = new Map<string, Promise<PythonVerdict>>();
  /** The signals of those who wait for verdicts whose turn has not come. */
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
      backend === 'python3' ? nativeSandboxes(this.limits) : bundledSandboxes(places, this.limits),
    );
    this.backend = backend;
    this.passRule = passRule;
    this.cache = cache;
    this.lanes = new Lanes(lanes);
  }

  /**
   * The verdict on a candidate: the same for the same arguments. One that is known already is given again without a
   * run; to a ledger it is a call like any other. Masked verdicts are not kept.
   * @param uidSha names the problem; null makes the tests themselves its name
   * @param signal asked when its turn has come: then it is not run
   * @throws CancelledError where it was not run
   */
  async grade(
    code: string,
    tests: PythonTests,
    uidSha: string | null = null,
    signal: AbortSignal = NEVER,
  ): Promise<PythonVerdict> {
    const key = verdictKey(
      uidSha ?? sha256(JSON.stringify([tests.setup, tests.tests, tests.test, tests.entryPoint])),
      code,
      this.backend,
    );
    const known = this.cache.get(key) ?? this.running.get(key);
    if (known !== undefined) {
      this.waiting.get(key)?.push(signal);
      return known;
    }
    // Who else waits for this verdict may not have been cancelled: it is given up only where all of them were.
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
   * How two functions are written, and what each test shows of the program that they make; the same for the same
   * arguments. Tests are run where the program can be parsed and has the main function.
   * @param executes whether it is found by execution, too, how the main function uses the helper
   * @throws CancelledError where it was cancelled before its turn
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
      const inspected = await tryFunctions(source, this.pool, this.limits);
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
      // A first candidate waits for nothing; behind it a spare starts, so that an ended process costs no one's time.
      if (!this.warmed) {
        this.pool.warm('candidate');
      }
      this.warmed = true;
      return result;
    });
  }

  /**
   * Whether it has given up: no sandbox works, and all verdicts from now on are masked. Another grader may fare better.
   */
  get lost(): boolean {
    return this.pool.lost;
  }

  /** Processor seconds of all its sandboxes so far; 0 where the system does not say them. */
  get processorSeconds(): number {
    return this.pool.processorSeconds;
  }

  /** Ends all processes; what still runs ends as masked. */
  close(): void {
    this.pool.giveUp('the sandbox was ended');
  }
}
