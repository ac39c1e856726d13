/** Runs one candidate against its tests in two sandboxes, which exchange only calls and values. */

import { z } from 'zod';
import type { SandboxPool } from './pool.ts';
import {
  maskVerdict,
  scoreVerdict,
  type PythonLimits,
  type PythonRule,
  type PythonTests,
  type PythonVerdict,
  type TrialRule,
} from './rules.ts';
import { OutOfTime, SandboxFailure, type SandboxProcess, type SandboxRole } from './sandbox/sandboxProcess.ts';

const OUTCOME_RULES = ['passed', 'wrong-answer', 'candidate-exception', 'not-a-builtin'] as const;
const reportSchema = z.union([
  z.object({ outcomes: z.array(z.tuple([z.enum(OUTCOME_RULES), z.string()])) }),
  z.object({ broken: z.string() }),
  z.object({ stopped: z.literal(true) }),
  z.object({ imports: z.array(z.string()) }),
]);
type Report = z.output<typeof reportSchema>;

/** The rules by which a candidate's process may end a trial; anything else counts as a crash. */
const FINAL_RULES = [
  'does-not-compile',
  'load-error',
  'exit',
  'time-limit',
  'memory-limit',
  'output-limit',
  'message-limit',
  'forbidden',
  'crash',
] as const;
const finalSchema = z.tuple([z.enum(FINAL_RULES), z.string()]);

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);
const decode = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

/** Thrown if the candidate has ended the trial: the score is 0. */
class Final extends Error {
  readonly rule: PythonRule;

  constructor(rule: PythonRule, detail: string) {
    super(detail);
    this.rule = rule;
  }
}

/** Thrown if a process died of its own fault after the candidate had a part in it. */
class ProcessDied extends Error {}

/** Counts the tests: each statement, and the program. */
export const countTests = ({ tests, test }: PythonTests): number => tests.length + (test.trim() === '' ? 0 : 1);

/**
 * The number of times that processes of one candidate may be ended from outside before it is masked,
 * and that those of a probe may be ended in a row before the pool gives up.
 */
const MOST_KILLS = 8;

/** A program that does nothing, and its test. If it is ended too, the candidate is not the reason. */
const PROBE = 'def f():\n    return 1';
const PROBE_TESTS: PythonTests = { tests: ['assert f() == 1'], test: '', entryPoint: null, setup: '' };

/**
 * Runs the tests of one problem against one candidate, each side in a fresh interpreter in its own
 * process. A candidate whose process dies of its own fault gets a second try. A trial that was ended
 * from outside is repeated as long as anything can run. A retry gives the same verdict as an
 * undisturbed try, because nothing passes from one try to the next.
 */
export async function tryCandidate(
  code: string,
  tests: PythonTests,
  pool: SandboxPool,
  limits: PythonLimits,
  passRule: TrialRule,
): Promise<PythonVerdict> {
  const total = countTests(tests);
  if (total === 0) {
    return maskVerdict('no-tests', 'There are no tests.');
  }
  if (code.length > limits.code) {
    return scoreVerdict(0, 'code-limit', `${code.length} characters`, 0, total);
  }
  return retryTrial(pool, limits, total, () => new Trial(tests, pool, limits, passRule).run(code));
}

/** Runs a trial, and repeats it if it was ended from outside. */
export async function retryTrial(
  pool: SandboxPool,
  limits: PythonLimits,
  total: number,
  trial: () => Promise<PythonVerdict>,
): Promise<PythonVerdict> {
  for (let deaths = 0, kills = 0; ;) {
    try {
      return await trial();
    } catch (error) {
      const words = error instanceof Error ? error.message : String(error);
      if (error instanceof ProcessDied) {
        if (++deaths === 2) {
          return scoreVerdict(0, 'crash', words, 0, total);
        }
      } else if (pool.lost) {
        return maskVerdict('sandbox', `The sandbox failed: ${words}`);
      } else {
        if (++kills === MOST_KILLS) {
          return maskVerdict(
            'killed',
            `The sandbox failed ${MOST_KILLS} times with this candidate and not without it: ${words}`,
          );
        }
        await probePool(pool, limits, words);
      }
    }
  }
}

/** Returns when a program that does nothing can run, or when the pool has given up. */
async function probePool(pool: SandboxPool, limits: PythonLimits, why: string): Promise<void> {
  for (let failures = 1; !pool.lost; failures++) {
    try {
      await new Trial(PROBE_TESTS, pool, limits, 'strict').run(PROBE);
      return;
    } catch (error) {
      if (failures === MOST_KILLS) {
        pool.giveUp(error instanceof Error ? error.message : why);
      }
      await pool.pause(failures);
    }
  }
}

/** A part of the candidate in a separate process, which the other part calls by name. */
export interface Helper {
  readonly name: string;
  readonly code: string;
  /** Returns the reply for the caller, given a request to the helper and its reply. */
  readonly called: (request: string, reply: string) => string;
  /** Receives each request of the tests with its reply. */
  readonly answered: (request: string, reply: string) => void;
}

export class Trial {
  private readonly tests: PythonTests;
  private readonly pool: SandboxPool;
  private readonly limits: PythonLimits;
  private readonly passRule: TrialRule;
  private readonly helper: Helper | null;
  /** The helper's process while it can be called. */
  private apart: SandboxProcess | null = null;
  private calls = 0;
  /** The errors that ended the trial, the first one first. */
  private readonly final: Final[] = [];

  constructor(
    tests: PythonTests,
    pool: SandboxPool,
    limits: PythonLimits,
    passRule: TrialRule,
    helper: Helper | null = null,
  ) {
    this.helper = helper;
    this.tests = tests;
    this.pool = pool;
    this.limits = limits;
    this.passRule = passRule;
  }

  async run(code: string): Promise<PythonVerdict> {
    const total = countTests(this.tests);
    try {
      const report = await this.lent('tests', (grader) =>
        this.helper === null
          ? this.lent('candidate', (candidate) => this.runTests(code, grader, candidate))
          : // A program that calls a helper needs a channel.
            this.lent('tests', (candidate) =>
              this.lent('candidate', (apart) => this.runTests(code, grader, candidate, apart)),
            ),
      );
      if ('broken' in report) {
        return maskVerdict('tests-broken', `The tests cannot judge: ${report.broken}.`);
      }
      const outcomes = 'outcomes' in report ? report.outcomes : [];
      const verdict = this.verdict(outcomes, total);
      return this.passRule === 'each' ? { ...verdict, outcomes } : verdict;
    } catch (error) {
      if (error instanceof Final) {
        return scoreVerdict(0, error.rule, error.message, 0, total);
      }
      throw error;
    }
  }

  /** Runs work with a fresh sandbox that has its full time. */
  private async lent<Result>(role: SandboxRole, work: (sandbox: SandboxProcess) => Promise<Result>): Promise<Result> {
    const sandbox = await this.pool.acquire(role);
    try {
      sandbox.allow(this.limits.seconds);
      return await work(sandbox);
    } finally {
      this.pool.release(sandbox);
    }
  }

  /**
   * Returns the harness's answer to a request in a candidate's process that has loaded nothing, or a
   * verdict if the request ends the process.
   * @throws Vanished
   * @throws SandboxFailure
   */
  async inspect(request: Uint8Array): Promise<string | PythonVerdict> {
    return this.lent('candidate', async (candidate) => {
      const reply = decode(await this.candidate(candidate, request));
      const [final] = this.final;
      return final === undefined ? reply.slice(1) : scoreVerdict(0, final.rule, final.message, 0, 0);
    });
  }

  private verdict(
    outcomes: readonly (readonly [(typeof OUTCOME_RULES)[number], string])[],
    total: number,
  ): PythonVerdict {
    const passed = outcomes.filter(([rule]) => rule === 'passed').length;
    if (passed === total && outcomes.length === total) {
      return scoreVerdict(1, 'passed', '', passed, total);
    }
    const first = outcomes.findIndex(([rule]) => rule !== 'passed');
    const [rule, detail] = outcomes[first] ?? ['wrong-answer', ''];
    const failure = `test ${first + 1}: ${detail}`;
    if (this.passRule !== 'strict' && passed > 0) {
      return scoreVerdict(passed / total, 'partly', failure, passed, total);
    }
    return scoreVerdict(0, rule === 'passed' ? 'wrong-answer' : rule, failure, passed, total);
  }

  /**
   * Loads the candidate, then runs the tests and passes their calls to it.
   * @throws Final
   * @throws Vanished
   * @throws SandboxFailure
   */
  private async runTests(
    code: string,
    grader: SandboxProcess,
    candidate: SandboxProcess,
    apart: SandboxProcess | null = null,
  ): Promise<Report> {
    const { setup, tests, test, entryPoint } = this.tests;
    let imports: readonly string[] = [];
    if (setup.trim() !== '') {
      const report = await this.ask(grader, candidate, { only: 'imports', setup });
      if (!('imports' in report)) {
        return report;
      }
      imports = report.imports;
    }
    const { helper } = this;
    if (helper !== null && apart !== null) {
      await this.load(apart, { code: helper.code, imports });
    }
    await this.load(candidate, { code, imports, ...(helper !== null && { helper: helper.name }) });
    this.apart = apart;
    const report = await this.ask(grader, candidate, {
      only: null,
      setup,
      tests,
      test,
      entryPoint,
      strict: this.passRule === 'strict',
    });
    // Thrown only after the tests have stopped, so that their process is free again.
    this.throwFinal();
    return report;
  }

  /** @throws Final if the program does not load */
  private async load(sandbox: SandboxProcess, program: object): Promise<void> {
    const request = encode(`L${JSON.stringify({ ...program, longest: this.limits.message })}`);
    const loaded = await this.candidate(sandbox, request);
    this.throwFinal();
    if (decode(loaded) !== 'v') {
      throw new Final('crash', 'it did not load');
    }
  }

  /** Sends one request to the tests' process, and answers all calls that it makes in the meantime. */
  private async ask(grader: SandboxProcess, candidate: SandboxProcess, request: object): Promise<Report> {
    try {
      let frame = await grader.exchange('H', encode(`J${JSON.stringify(request)}`));
      while (frame.kind === 'A') {
        this.calls++;
        const reply = await this.candidate(candidate, frame.content);
        this.helper?.answered(decode(frame.content), decode(reply));
        frame = await grader.exchange('B', reply);
      }
      if (frame.kind === 'V') {
        return reportSchema.parse(JSON.parse(decode(frame.content)));
      }
      return this.testsEnded(decode(frame.content));
    } catch (error) {
      if (error instanceof OutOfTime) {
        return this.testsEnded(error.message);
      }
      this.throwFinal();
      if (this.calls === 0 || error instanceof ProcessDied || (error instanceof SandboxFailure && error.outside)) {
        throw error;
      }
      // The tests' process held values of the candidate, so its end is the candidate's fault.
      if (error instanceof SandboxFailure) {
        throw new ProcessDied(error.message);
      }
      throw new Final('test-limit', 'its values broke the tests');
    }
  }

  /** Handles tests that reached a limit: it is the candidate's fault if they have called it. */
  private testsEnded(detail: string): Report {
    this.throwFinal();
    if (this.calls > 0) {
      throw new Final('test-limit', detail);
    }
    return { broken: `they reached a limit by themselves: ${detail}` };
  }

  /** Sends a request to the candidate's process. On a fatal error, the tests are asked to stop. */
  private async candidate(candidate: SandboxProcess, request: Uint8Array): Promise<Uint8Array> {
    if (this.final.length > 0) {
      return encode('f');
    }
    if (this.calls > this.limits.calls) {
      return this.stop('call-limit', 'the tests call it too often');
    }
    try {
      let frame = await candidate.exchange('H', request);
      while (frame.kind === 'A') {
        this.calls++;
        frame = await candidate.exchange('B', await this.helped(frame.content));
      }
      const { kind, content } = frame;
      if (kind === 'V' && content[0] !== 'f'.charCodeAt(0)) {
        return content;
      }
      const final = finalSchema.safeParse(JSON.parse(decode(kind === 'V' ? content.subarray(1) : content)));
      return final.success && (kind === 'V' || kind === 'D' || kind === 'F')
        ? this.stop(...final.data)
        : this.stop('crash', 'it broke the sandbox');
    } catch (error) {
      if (error instanceof OutOfTime) {
        return this.stop('time-limit', error.message);
      }
      if (error instanceof SandboxFailure) {
        throw error.outside ? error : new ProcessDied(error.message);
      }
      return this.stop('crash', 'it sent something that is not a message');
    }
  }

  /** Returns the helper's reply to a request of the main function. */
  private async helped(request: Uint8Array): Promise<Uint8Array> {
    const { apart, helper } = this;
    if (helper === null || apart === null || request[0] !== 'C'.charCodeAt(0)) {
      return encode('f');
    }
    this.apart = null;
    const reply = await this.candidate(apart, request);
    this.apart = apart;
    return encode(helper.called(decode(request), decode(reply)));
  }

  private stop(rule: PythonRule, detail: string): Uint8Array {
    this.final.push(new Final(rule, detail));
    return encode('f');
  }

  private throwFinal(): void {
    const [final] = this.final;
    if (final !== undefined) {
      throw final;
    }
  }
}
