/** Compares stored returns with the evaluator's current scores of the stored messages. */

import type { SaidEvent, EnvironmentEvent, LogEvent } from '../domain/episode.ts';
import type { FullMessage } from '../domain/message.ts';
import type { Problem } from '../domain/problem.ts';
import type { Replay } from '../domain/replay.ts';
import { describeChangedRow, describeReturnDifference } from '../domain/verification.ts';
import { EvaluatorLost, selectScoredText, type Evaluator, type Graded } from '../evaluate/evaluator.ts';
import { adaptToEvents } from '../evaluate/events.ts';
import { CancelledError, toErrorMessage } from '../shared/errors.ts';
import { eventHash } from '../store/tokens.ts';
import type { StoredEvent, StoreReader } from '../store/types.ts';
import { requireOccurrence, type Protocol } from '../team/protocol.ts';
import { discountFactor, endsTurn, nextStep, listTurnMessages } from '../team/rounds.ts';
import { TERMINATION } from './jointTree.ts';
import type { Outcome } from './reexecute.ts';
import { findStoredLoss } from './storedBranch.ts';
import { countedScore, sumScores } from './tree.ts';
import { askEnvironment, type Environments } from './unfold.ts';

/** The rule of a message whose evaluator is not available. */
const LOST = 'lost';

/** An episode whose environments gave the stored events again. */
interface Unfolded {
  readonly verdicts: readonly (Graded & { readonly weight: number })[];
  /** The number of events that were recorded as they came. */
  readonly recorded: number;
}

/** The parts of the replays' run that determine returns. */
export interface ReturnRules {
  readonly protocol: Protocol;
  readonly evaluator: Evaluator;
  readonly returnBound: number;
  /** Finds environments. Default: the bundled ones. */
  readonly environments?: Environments;
}

/**
 * Evaluates each scored message once, however many replays contain it. These calls are a proof and
 * not part of a credit's cost.
 */
export class ReturnCheck {
  private readonly store: StoreReader;
  private readonly rules: ReturnRules;
  private readonly signal: AbortSignal;
  private readonly problems = new Map<string, Problem>();
  private readonly verdicts = new Map<number, Promise<Graded>>();

  constructor(store: StoreReader, rules: ReturnRules, signal: AbortSignal) {
    this.store = store;
    this.rules = rules;
    this.signal = signal;
  }

  /**
   * Compares a replay's return.
   * @param episode its messages from the start of the episode to the leaf
   * @param events environment events before each message and after the leaf; they are executed
   *   again
   * @returns null if the return is the stored one; identical, with a remark, if an environment
   *   event was recorded as it came; not comparable if the evaluator fails now but did not then
   */
  async outcome(
    replay: Replay,
    episode: readonly FullMessage[],
    events: readonly (readonly StoredEvent[])[] = [],
  ): Promise<Outcome | null> {
    const { protocol, returnBound } = this.rules;
    if (replay.return === null && episode.some((message) => findStoredLoss(message) !== null)) {
      // It was never scored, whatever the evaluator would give the missing text.
      return null;
    }
    if (protocol.rounds !== undefined) {
      const unfolded = await this.unfold(episode, events);
      return 'outcome' in unfolded
        ? { ...unfolded.outcome, message: replay.leaf }
        : (compareReturn(replay, unfolded.verdicts, returnBound) ?? recordedOutcome(replay, unfolded.recorded));
    }
    const verdicts = await Promise.all(
      episode.flatMap((message, index) =>
        protocol.occurrences[message.position]?.scored === true
          ? [this.verdict(message, episode.slice(0, index).map(toSaidEvent))]
          : [],
      ),
    );
    return compareReturn(replay, verdicts, returnBound);
  }

  /** Executes the environments of an episode again, each on the log as it was then. */
  private async unfold(
    episode: readonly FullMessage[],
    events: readonly (readonly StoredEvent[])[],
  ): Promise<Unfolded | { readonly outcome: Omit<Outcome, 'message'> }> {
    const { protocol, evaluator } = this.rules;
    const log: LogEvent[] = [];
    const verdicts: (Graded & { weight: number })[] = [];
    let recorded = 0;
    for (const [index, said] of [...episode, null].entries()) {
      for (const { id, event, sha256 } of events[index] ?? []) {
        const different = await this.differenceOf(id, event, sha256, episode[0]?.problem ?? '', log);
        if (different !== null) {
          return { outcome: different };
        }
        recorded += event.derived ? 0 : 1;
        log.push(event);
      }
      if (said !== null) {
        const { id, position, role, text } = said;
        const own = requireOccurrence(protocol, position).scored ? await this.verdict(said, log) : null;
        if (own !== null) {
          verdicts.push({ ...own, weight: discountFactor(protocol, index) });
        }
        log.push({ kind: 'decision', position, role, text, ...(own !== null && { reward: own.score }) });
        if (own?.score === null && own.rule === LOST) {
          return { outcome: makeNotRepeatable(`the evaluator failed for message ${id}: ${own.masked ?? ''}`) };
        }
      }
    }
    const closing = log.at(-1);
    if (closing?.kind === 'environment' && closing.closing) {
      const problem = this.problem(episode[0]?.problem ?? '');
      const own = await this.orLost(() => adaptToEvents(evaluator).evaluate(problem, log, closing, this.signal));
      verdicts.push({ ...own, weight: discountFactor(protocol, episode.length - 1) });
    }
    return { verdicts, recorded };
  }

  /** Returns the difference between a stored event and its repetition, or null if they are equal. */
  private async differenceOf(
    id: number,
    event: EnvironmentEvent,
    sha256: string,
    uidSha: string,
    log: readonly LogEvent[],
  ): Promise<Omit<Outcome, 'message'> | null> {
    const { protocol, environments, evaluator } = this.rules;
    // The event that ends a branch of a rollout tree depends on the rewards of other branches,
    // which are not in its log.
    if (event.source === TERMINATION && !event.derived && event.done !== null && endsTurn(protocol, log)) {
      return null;
    }
    const words = `environment event ${id} (${event.source})`;
    const step = nextStep(protocol, log, () => 0);
    if (step.kind !== 'environment' || step.call.name !== event.source || (step.closing !== null) !== event.closing) {
      return {
        result: 'different',
        detail: describeChangedRow(`the protocol has no ${words} at its place`),
        difference: { kind: 'row' },
      };
    }
    if (!event.derived) {
      return null;
    }
    try {
      const problem = this.problem(uidSha);
      const key = event.streamKey;
      const again = await askEnvironment(protocol, problem, log, step, key, environments, evaluator, this.signal);
      // Older events were stored without the reason for the episode's end.
      const unexplained = event.closing && event.done === null;
      return eventHash(unexplained ? { ...again, done: null } : again) === sha256
        ? null
        : { result: 'different', detail: `${words} comes out as another one`, difference: { kind: 'event' } };
    } catch (error) {
      if (error instanceof CancelledError) {
        throw error;
      }
      return { result: 'notComparable', detail: toErrorMessage(error), difference: null };
    }
  }

  /**
   * Returns the verdict on a message.
   * @param before the log before the message
   */
  private verdict(message: FullMessage, before: readonly LogEvent[]): Promise<Graded> {
    const known = this.verdicts.get(message.id) ?? this.evaluate(message, before);
    this.verdicts.set(message.id, known);
    return known;
  }

  private async evaluate(message: FullMessage, before: readonly LogEvent[]): Promise<Graded> {
    const { protocol, evaluator } = this.rules;
    const problem = this.problem(message.problem);
    const text = selectScoredText(evaluator, problem, listTurnMessages(protocol, [...before, toSaidEvent(message)]));
    return this.orLost(() => evaluator.evaluate(problem, text, this.signal));
  }

  private async orLost(evaluate: () => Promise<Graded>): Promise<Graded> {
    try {
      return await evaluate();
    } catch (error) {
      if (!(error instanceof EvaluatorLost)) {
        throw error;
      }
      // The messages can still be compared.
      return { score: null, rule: LOST, masked: error.message };
    }
  }

  private problem(uidSha: string): Problem {
    const known = this.problems.get(uidSha) ?? this.store.problem(uidSha);
    this.problems.set(uidSha, known);
    return known;
  }
}

/** Returns a stored message as an event of its log. */
const toSaidEvent = ({ position, role, text }: FullMessage): SaidEvent => ({ kind: 'decision', position, role, text });

/**
 * Compares a stored return with that of the verdicts, which are in the order of the episode.
 * Returns null if they are equal.
 */
function compareReturn(
  { leaf, return: stored }: Replay,
  verdicts: readonly (Graded & { readonly weight?: number })[],
  bound: number,
): Outcome | null {
  // The order is from the leaf up, as in the stored sum.
  const found = sumScores(verdicts.map(countedScore).toReversed(), bound);
  if (found === stored) {
    return null;
  }
  if (found !== null) {
    return {
      result: 'different',
      detail: describeReturnDifference(stored, found),
      message: leaf,
      difference: { kind: 'return' },
    };
  }
  const failed = verdicts.find((verdict) => verdict.score === null);
  const reason =
    failed === undefined || !('masked' in failed)
      ? 'no message of the episode is scored'
      : `the evaluator failed: ${failed.masked}`;
  return { ...makeNotRepeatable(reason), message: leaf };
}

const makeNotRepeatable = (reason: string): Omit<Outcome, 'message'> => ({
  result: 'notComparable',
  detail: `The return cannot be taken again, ${reason}`,
  difference: null,
});

/** Returns a remark on the events of an identical episode that could not be executed again. */
function recordedOutcome({ leaf }: Replay, recorded: number): Outcome | null {
  if (recorded === 0) {
    return null;
  }
  const events = recorded === 1 ? '1 environment event was' : `${recorded} environment events were`;
  const detail = `${events} recorded as they came, and not executed again`;
  return { result: 'identical', detail, message: leaf, difference: null };
}
