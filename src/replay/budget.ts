/** Budgets and the running cost of a run. */
import { C3Error } from '../shared/errors.ts';
import type { Ledger, Tokens } from '../shared/records.ts';
import type { PolicyAnswer } from '../policy/policy.ts';

/** Evaluator calls that may still be made. Work that would go beyond is refused before it starts. */
export class EvaluatorBudget {
  readonly limit: number;
  private reserved = 0;
  private spent = 0;

  /** @param limit evaluator calls; Infinity where only counting is wanted */
  constructor(limit: number) {
    this.limit = limit;
  }

  get calls(): number {
    return this.spent;
  }

  /** @throws C3Error('budget') when this many more calls would exceed the limit; nothing is booked */
  check(calls: number): void {
    if (this.reserved + calls > this.limit) {
      throw new C3Error(
        'budget',
        `The evaluator budget allows ${String(this.limit)} calls: ${String(this.reserved)} are booked and ${String(calls)} more were asked for; raise evaluator_budget or lower the fan-out.`,
      );
    }
  }

  /** Books calls that are about to be made. @throws C3Error('budget') when they exceed the limit; nothing is booked then */
  reserve(calls: number): void {
    this.check(calls);
    this.reserved += calls;
  }

  /** Counts a call that was booked. @throws C3Error('budget') for one that was not */
  spend(calls: number): void {
    if (this.spent + calls > this.reserved) throw new C3Error('budget', 'An evaluator call was made that had not been booked; report this as a defect.');
    this.spent += calls;
  }
}

/** Adds up what a run costs. */
export class LedgerCounter {
  private evaluatorCalls = 0;
  private tokens: Tokens = { prompt: 0, reused: 0, completion: 0 };
  private readonly decisions = new Map<string, number>();
  private readonly clock: () => number;
  private readonly started: number;

  /** @param clock seconds */
  constructor(clock: () => number) {
    this.clock = clock;
    this.started = clock();
  }

  addDecision(role: string, answer: PolicyAnswer): void {
    this.tokens = {
      prompt: this.tokens.prompt + answer.prompt.length,
      reused: this.tokens.reused + answer.reusedTokens,
      completion: this.tokens.completion + answer.tokens.length,
    };
    this.decisions.set(role, (this.decisions.get(role) ?? 0) + 1);
  }

  addCalls(calls: number): void {
    this.evaluatorCalls += calls;
  }

  read(): Ledger {
    return { evaluatorCalls: this.evaluatorCalls, tokens: this.tokens, decisions: Object.fromEntries(this.decisions), seconds: this.clock() - this.started };
  }
}
