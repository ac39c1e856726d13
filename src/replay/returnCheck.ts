/** Stored returns against what the evaluator says of the stored messages now. */
import { EvaluatorLost, type Evaluator, type Graded } from '../evaluate/evaluator.ts';
import type { Decision, Instance, Replay } from '../shared/records/records.ts';
import { returnDifference } from '../shared/records/verification.ts';
import type { StoreReader } from '../store/types.ts';
import type { Protocol } from '../team/protocol.ts';
import type { Outcome } from './reexecute.ts';
import { returnOfScores } from './tree.ts';

/** What the run of the replays says of returns. */
export interface ReturnRules {
  readonly protocol: Protocol;
  readonly evaluator: Evaluator;
  readonly returnBound: number;
}

/**
 * Evaluates each scored message once, however many replays run through it. These calls are proof, not part of what a
 * credit cost.
 */
export class ReturnCheck {
  private readonly store: StoreReader;
  private readonly rules: ReturnRules;
  private readonly cancelled: () => boolean;
  private readonly instances = new Map<string, Instance>();
  private readonly verdicts = new Map<number, Promise<Graded>>();

  constructor(store: StoreReader, rules: ReturnRules, cancelled: () => boolean) {
    this.store = store;
    this.rules = rules;
    this.cancelled = cancelled;
  }

  /**
   * Compares a replay's return.
   * @param episode its messages from the start of the episode to the leaf
   * @returns null where it is the stored one; not comparable where the evaluator fails now and did not then
   */
  async outcome({ leaf, return: stored }: Replay, episode: readonly Decision[]): Promise<Outcome | null> {
    const { protocol, returnBound } = this.rules;
    const verdicts = await Promise.all(
      episode
        .filter(({ position }) => protocol.occurrences[position]?.scored === true)
        .map((decision) => this.verdict(decision)),
    );
    // From the leaf up, as the stored sum was made.
    const found = returnOfScores(verdicts.map(({ score }) => score).toReversed(), returnBound);
    if (found === stored) {
      return null;
    }
    if (found !== null) {
      return { result: 'different', detail: returnDifference(stored, found), message: leaf, token: null };
    }
    const failed = verdicts.find((verdict) => verdict.score === null);
    const reason =
      failed === undefined || !('masked' in failed)
        ? 'no message of the episode is scored'
        : `the evaluator failed: ${failed.masked}`;
    return {
      result: 'notComparable',
      detail: `The return cannot be taken again, ${reason}`,
      message: leaf,
      token: null,
    };
  }

  private verdict(decision: Decision): Promise<Graded> {
    const known = this.verdicts.get(decision.id) ?? this.evaluate(decision);
    this.verdicts.set(decision.id, known);
    return known;
  }

  private async evaluate({ instance, text }: Decision): Promise<Graded> {
    try {
      return await this.rules.evaluator.evaluate(this.instance(instance), text, this.cancelled);
    } catch (error) {
      if (!(error instanceof EvaluatorLost)) {
        throw error;
      }
      // The messages can be compared all the same.
      return { score: null, rule: 'lost', masked: error.message };
    }
  }

  private instance(uidSha: string): Instance {
    const known = this.instances.get(uidSha) ?? this.store.instance(uidSha);
    this.instances.set(uidSha, known);
    return known;
  }
}
