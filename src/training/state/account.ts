/** The cost of a run, over all the processes that worked on it. */

import { addLedgers, readVotesCost, type Ledger } from '../../domain/run.ts';
import { LedgerCounter } from '../../replay/budget.ts';
import { computeStoredCost } from '../../replay/storedCost.ts';
import { countMessageCalls, eventScores, type TreeMessage } from '../../replay/tree.ts';
import type { RunAccount, StoreWriter } from '../../store/types.ts';
import { requireOccurrence, type Protocol } from '../../team/protocol.ts';

const NOTHING: RunAccount = { pendingCalls: 0, lostCalls: 0, seconds: 0, trainingSeconds: 0, samplingSeconds: 0 };

/**
 * Continues the counts of the store. Evaluator calls are noted in the store before they are made, and
 * cleared in the transaction that stores their results, so that after a crash the largest number of
 * lost calls is known.
 */
export class CostAccount {
  private readonly store: StoreWriter;
  private readonly run: string;
  private readonly protocol: Protocol;
  private readonly clock: () => number;
  /** Cost of the rows that existed at the start. */
  private readonly before: Ledger;
  private readonly counter: LedgerCounter;
  private readonly earlier: RunAccount;
  private trainingSince: number | undefined;
  private trained = 0;
  private pendingCalls = 0;
  private sampling: number;

  /** @param clock returns seconds */
  constructor(store: StoreWriter, run: string, protocol: Protocol, clock: () => number) {
    this.store = store;
    this.run = run;
    this.protocol = protocol;
    this.clock = clock;
    const stored = store.account(run) ?? NOTHING;
    this.earlier = { ...stored, lostCalls: stored.lostCalls + stored.pendingCalls };
    this.sampling = stored.samplingSeconds;
    const [newest] = store.steps(run, Math.max(0, store.countSteps(run) - 1), 1);
    const rows = computeStoredCost(store.costs(run), store.episodeCosts(run), null, protocol);
    this.before = { ...addLedgers(rows, readVotesCost(newest?.ledger)), seconds: stored.seconds };
    this.counter = new LedgerCounter(clock);
  }

  /** The largest number of evaluator calls lost to a crash, a failure or a cancellation. */
  get lostCalls(): number {
    return this.earlier.lostCalls;
  }

  /** Seconds of sampling in the training iteration whose messages were stored last. */
  get samplingSeconds(): number {
    return this.sampling;
  }

  get trainingSeconds(): number {
    return (
      this.earlier.trainingSeconds +
      this.trained +
      (this.trainingSince === undefined ? 0 : this.clock() - this.trainingSince)
    );
  }

  ledger(): Ledger {
    return addLedgers(this.before, this.counter.read());
  }

  /** Counts the time from now on as training time. Called again after an evaluation. */
  beginTraining(): void {
    this.trainingSince = this.clock();
  }

  endTraining(): void {
    this.trained = this.trainingSeconds - this.earlier.trainingSeconds;
    this.trainingSince = undefined;
  }

  /** Notes evaluator calls that are about to be made. */
  announce(calls: number): void {
    this.pendingCalls = calls;
    this.write();
  }

  /** Adds the cost of trees whose rows are stored in the current transaction. */
  bookRoots(roots: readonly TreeMessage[], samplingSeconds = this.sampling, voteCalls = 0): void {
    this.book(roots);
    this.counter.addVoteCalls(voteCalls);
    this.pendingCalls = 0;
    this.sampling = samplingSeconds;
    this.write();
  }

  write(): void {
    this.store.writeAccount(this.run, {
      pendingCalls: this.pendingCalls,
      lostCalls: this.earlier.lostCalls,
      seconds: this.ledger().seconds,
      trainingSeconds: this.trainingSeconds,
      samplingSeconds: this.sampling,
    });
  }

  private book(messages: readonly TreeMessage[]): void {
    for (const message of messages) {
      this.counter.addMessage(requireOccurrence(this.protocol, message.position).role, message.answer);
      this.counter.addCalls(countMessageCalls(message) + eventScores(message).length);
      if (message.score?.reused === true) {
        this.counter.addReusedEvaluations(1);
      }
      this.book(message.children);
    }
  }
}
