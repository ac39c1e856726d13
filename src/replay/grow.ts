/** Samples messages below branches, and scores them. */

import { setImmediate } from 'node:timers/promises';
import type { Sampling } from '../domain/message.ts';
import type { Problem } from '../domain/problem.ts';
import type { EnvironmentKind } from '../environment/kind.ts';
import { selectScoredText, type Evaluator } from '../evaluate/evaluator.ts';
import { hasSeeds, type Policy, type PolicyAnswer, type PolicyControl, type PolicyRequest } from '../policy/policy.ts';
import { streamKey } from '../runtime/random.ts';
import { onAbort, unlessCancelled } from '../shared/cancellation.ts';
import { CancelledError } from '../shared/errors.ts';
import { hashContext } from '../team/contextKey.ts';
import { requireOccurrence, requireRole, type Occurrence, type Protocol } from '../team/protocol.ts';
import { toPromptMessages, renderContext, renderLog, type PromptMessage, type Renderer } from '../team/render.ts';
import { discountFactor, listTurnMessages } from '../team/rounds.ts';
import type { EvaluatorBudget } from './budget.ts';
import type { EpisodeProgram } from './program.ts';
import { findFirstEquals, makeScoreKey, reusedAnswer, ScoreBook, type ScoredMessage } from './reuse.ts';
import { countBefore, findLoss, toLog, type Branch, type TreeMessage } from './tree.ts';

/**
 * The kind of new messages. Alternatives are numbered from `first` on. Continuations belong to the
 * alternative above their branch. With `replays`, every branch has one continuation with the given
 * number.
 */
export type Growth =
  | { readonly kind: 'alternatives'; readonly first: number }
  | { readonly kind: 'continuations'; readonly replays?: readonly number[] };

export interface TreeSettings {
  readonly protocol: Protocol;
  /** Writes contexts in the form of the policy's model. */
  readonly render: Renderer;
  readonly policy: Policy;
  readonly evaluator: Evaluator;
  readonly budget: EvaluatorBudget;
  readonly sampling: Sampling;
  readonly seed: number;
  /** The scope of the streams: `iteration:3`, `request:2`, `evaluation:sampled` ... */
  readonly scope: string;
  /**
   * True if replay m of one alternative draws the same random numbers as replay m of the others
   * (Appendix L). A policy without seeds shares none in any case.
   */
  readonly commonRandomNumbers: boolean;
  /**
   * The scores that are known already, if several calls of `extend` are one piece of work. Default:
   * each call has its own.
   */
  readonly scores?: ScoreBook;
  /** False to compute every result again, even a determined one, for comparison. */
  readonly reuse?: boolean;
  /** True to draw other messages for equal ones that end episodes, but not for first messages. */
  readonly unique?: boolean;
  /** Finds environments. Default: the bundled ones. */
  readonly environments?: (name: string) => EnvironmentKind | undefined;
  /** Determines the next step if the protocol does not. */
  readonly program?: EpisodeProgram;
}

/** Returns the sampling of one role, with its own limit on new tokens if the protocol sets one. */
export function findRoleSampling(settings: Pick<TreeSettings, 'protocol' | 'sampling'>, position: number): Sampling {
  const cap = requireRole(settings.protocol, requireOccurrence(settings.protocol, position).role).maxNewTokens;
  return cap === null ? settings.sampling : { ...settings.sampling, maxNewTokens: cap };
}

/** Returns the model input at `position` after a branch, its key, and its messages. */
export async function writeContext(
  { protocol, render }: Pick<TreeSettings, 'protocol' | 'render'>,
  branch: Branch,
  position: number,
): Promise<{ context: string; key: string; messages: readonly PromptMessage[] }> {
  if (branch.asked !== undefined) {
    return { context: branch.asked, key: hashContext(branch.asked).key, messages: [] };
  }
  const { question } = branch.problem;
  const rendered =
    protocol.rounds === undefined
      ? renderContext(protocol, position, question, mapTextsByPosition(branch), branch.headed)
      : renderLog(protocol, position, question, toLog(protocol, branch));
  const context = await render(rendered, requireOccurrence(protocol, position).role);
  return { context, key: hashContext(context).key, messages: toPromptMessages(rendered) };
}

/** Returns the texts of a branch's messages by position. */
function mapTextsByPosition(branch: Branch): Map<number, string> {
  const messages = new Map<number, string>();
  for (let message = branch.message; message !== null; message = message.parent) {
    messages.set(message.position, message.answer.text);
  }
  return messages;
}

/** Describes a context for messages, on one line whatever the names of problems are. */
export const describePlace = (occurrence: string, uid: string): string =>
  `the ${occurrence} for the problem ${JSON.stringify(uid.slice(0, 120))}`;

/** The place of a new message among those of its tree. `nameMessageStream` names its stream by it. */
export type Place = Pick<TreeMessage, 'sibling' | 'alternative' | 'replay' | 'redraw'>;

/** A message that is to be sampled below a branch. */
export interface Opening {
  readonly branch: Branch;
  readonly place: Place;
}

/** A message that is to be sampled, with its request. */
interface Plan {
  /** Its index among all messages that are sampled together. */
  readonly index: number;
  readonly branch: Branch;
  readonly place: Place;
  readonly context: string;
  readonly key: string;
  readonly request: PolicyRequest;
}

/**
 * Returns the place of the index-th of `fanout` new messages below the place-th branch.
 * Continuations of one alternative are numbered in depth-first order at every position, so that no
 * two share a number.
 */
export function makePlace({ message }: Branch, place: number, index: number, fanout: number, growth: Growth): Place {
  if (growth.kind === 'alternatives') {
    return { sibling: growth.first + index, alternative: growth.first + index, replay: null };
  }
  if (message === null) {
    throw new Error('A continuation needs an alternative above it.');
  }
  const replay = growth.replays?.[place];
  if (replay !== undefined) {
    return { sibling: replay, alternative: message.alternative, replay };
  }
  return { sibling: index, alternative: message.alternative, replay: (message.replay ?? 0) * fanout + index };
}

/**
 * Returns the stream of a message (design promise 1), or an empty text if the policy has no seeds.
 * The alternative's index is part of the scope only if no random numbers are to be shared.
 */
function nameMessageStream(
  settings: TreeSettings,
  { uidSha }: Problem,
  { role, turn }: Occurrence,
  { sibling, alternative, replay }: Place,
): string {
  if (!hasSeeds(settings.policy, role)) {
    return '';
  }
  const scope =
    replay === null || settings.commonRandomNumbers ? settings.scope : `${settings.scope}/alternative:${alternative}`;
  return streamKey({ seed: settings.seed, scope, uidSha, role, turn, sibling: replay ?? sibling });
}

/**
 * Samples `fanout` messages at `position` below every branch. See `fillOpenings`.
 * @throws CancelledError; C3Error('budget') before anything is sampled if the budget is too small
 */
export function extend(
  settings: TreeSettings,
  branches: readonly Branch[],
  position: number,
  fanout: number,
  control: PolicyControl,
  onMessage?: (message: TreeMessage) => void,
  growth: Growth = { kind: 'alternatives', first: 0 },
): Promise<TreeMessage[]> {
  const openings = branches.flatMap((branch, start) =>
    Array.from({ length: fanout }, (_, sample) => ({
      branch,
      place: makePlace(branch, start, sample, fanout, growth),
    })),
  );
  return fillOpenings(settings, openings, position, control, onMessage);
}

/**
 * Samples a message at `position` for every opening. If the occurrence is scored, messages are
 * scored while others are still being sampled. Only one of several equal requests goes to the
 * policy, and only one of several equal messages to the evaluator: the first in order, or with
 * `scores` the first that arrived. `onMessage` is called when a message and all that arrived before
 * it are complete. The result is in the order of openings.
 * @throws CancelledError; C3Error('budget') before anything is sampled if the budget is too small
 */
export async function fillOpenings(
  settings: TreeSettings,
  openings: readonly Opening[],
  position: number,
  control: PolicyControl,
  onMessage?: (message: TreeMessage) => void,
): Promise<TreeMessage[]> {
  // This is checked before every call, because the policy may answer before it notices a cancel.
  if (control.signal.aborted) {
    throw new CancelledError();
  }
  const occurrence = requireOccurrence(settings.protocol, position);
  if (occurrence.scored) {
    settings.budget.reserve(openings.length);
  }
  const sampling = findRoleSampling(settings, position);
  const contexts = new Map(
    await Promise.all(
      [...new Set(openings.map(({ branch }) => branch))].map(
        async (branch) => [branch, await writeContext(settings, branch, position)] as const,
      ),
    ),
  );
  const plans = openings.flatMap(({ branch, place }, index): Plan[] => {
    const known = contexts.get(branch);
    if (known === undefined) {
      return [];
    }
    const { context, key, messages } = known;
    const request = {
      role: occurrence.role,
      context,
      messages,
      sampling,
      streamKey: nameMessageStream(settings, branch.problem, occurrence, place),
      place: describePlace(occurrence.id, branch.problem.uid),
      question: branch.problem.question,
      turn: occurrence.turn,
    };
    return [{ index, branch, place, context, key, request }];
  });
  const firsts =
    settings.reuse === false ? plans.map(({ index }) => index) : findFirstEquals(plans.map(({ request }) => request));
  const equals = Map.groupBy(plans, (_, index) => firsts[index] ?? index);
  const asked = [...equals.values()];
  const { protocol, evaluator, budget } = settings;
  const scoring = {
    protocol,
    evaluator,
    budget,
    ...(settings.reuse !== false && { scores: settings.scores ?? new ScoreBook() }),
  };
  const grown: TreeMessage[] = [];
  // The policy stops if the caller cancels or an arrival failed.
  const stop = new AbortController();
  const halt = (): void => stop.abort();
  const release = onAbort(control.signal, halt);
  const arrivals = new Arrivals(halt);
  const unheard: Plan[] = [];
  const arrive = (plan: Plan, answer: PolicyAnswer): void => {
    // An answer after a cancel starts no evaluation.
    if (unheard.length > 0 || control.signal.aborted) {
      unheard.push(plan);
      return;
    }
    const { branch, place, context, key, request } = plan;
    const message: TreeMessage = {
      problem: branch.problem,
      position,
      parent: branch.message,
      ...place,
      context,
      contextKey: key,
      streamKey: request.streamKey,
      sampling,
      answer,
      score: undefined,
      children: [],
      ...(branch.events !== undefined && { before: branch.events }),
      stored: undefined,
    };
    grown[plan.index] = message;
    arrivals.add(scoreMessage(scoring, message, control.signal), () => onMessage?.(message));
  };
  try {
    await settings.policy.answer(
      asked.flatMap(([first]) => first?.request ?? []),
      {
        signal: stop.signal,
        onCharge: control.onCharge,
        onAnswer: (index, answer) => {
          for (const [place, plan] of asked[index]?.entries() ?? []) {
            arrive(plan, place === 0 ? answer : reusedAnswer(answer));
          }
        },
      },
    );
    await arrivals.settled(control.signal);
    if (unheard.length > 0) {
      throw new CancelledError();
    }
  } catch (error) {
    // Messages that are scored by now still arrive.
    await setImmediate();
    // If the failure of an arrival stopped the policy, that failure is reported.
    if (arrivals.failed) {
      await arrivals.settled(control.signal);
    }
    throw error;
  } finally {
    release();
    arrivals.close();
  }
  for (const message of grown) {
    message.parent?.children.push(message);
  }
  if (settings.scores === undefined) {
    markReused(settings, grown);
  }
  return grown;
}

/**
 * Marks all but the first in order of equal messages as reused. Which of them arrived first depends
 * on the runtime, and none was reported yet.
 */
export function markReused(scoring: Scoring, messages: readonly TreeMessage[]): void {
  // If any message of a group is reused, one is paid for. If the first to arrive was masked, none
  // is reused.
  const groups = new Set(
    messages.flatMap((message) =>
      message.score?.reused === true ? makeScoreKey(scoredMessage(scoring, message)) : [],
    ),
  );
  const booked = new Set<string>();
  for (const message of groups.size === 0 ? [] : messages) {
    const name = makeScoreKey(scoredMessage(scoring, message));
    if (message.score === undefined || !groups.has(name)) {
      continue;
    }
    message.score = { ...message.score, reused: booked.has(name) };
    booked.add(name);
  }
}

/** Returns the scored text: the message, or with some evaluators all messages of its turn. */
function scoredMessage({ protocol, evaluator }: Scoring, message: TreeMessage): ScoredMessage {
  const { problem, position, contextKey: key } = message;
  const text =
    evaluator.ofTurn === undefined
      ? message.answer.text
      : selectScoredText(evaluator, problem, listTurnMessages(protocol, toLog(protocol, { message })));
  return { problem, position, contextKey: key, text };
}

type Scoring = Pick<TreeSettings, 'protocol' | 'evaluator'>;

/**
 * Scores a message if its occurrence is scored, or else does nothing. The budget also counts a
 * reused score, because the calls that a method may request must not depend on how often its team
 * repeats itself.
 * @throws CancelledError if it was cancelled before code was run
 */
export async function scoreMessage(
  { protocol, evaluator, budget, scores }: Pick<TreeSettings, 'protocol' | 'evaluator' | 'budget' | 'scores'>,
  message: TreeMessage,
  signal?: AbortSignal,
): Promise<void> {
  if (!requireOccurrence(protocol, message.position).scored) {
    return;
  }
  const lost = findLoss(message);
  if (lost !== null) {
    message.score = { score: null, rule: `no message: ${lost}` };
    return;
  }
  budget.spend(1);
  // A new book holds nothing yet.
  const {
    graded: { score, rule },
    reused,
  } = await (scores ?? new ScoreBook()).score(evaluator, scoredMessage({ protocol, evaluator }, message), signal);
  const weight = discountFactor(protocol, countBefore(message));
  message.score = { score, rule, reused, ...(weight !== 1 && { weight }) };
}

// Completes messages in the order of their arrival, so that the duration of an evaluation does not
// change the order of rows.

export class Arrivals {
  private tail: Promise<void> = Promise.resolve();
  private closed = false;
  private broken = false;
  private readonly onFailure: () => void;

  /** @param onFailure called if a scoring or a callback fails */
  constructor(onFailure: () => void = () => undefined) {
    this.onFailure = onFailure;
  }

  /** True if a scoring or a callback failed, so that further waiting is useless. */
  get failed(): boolean {
    return this.broken;
  }

  /**
   * Adds a message that is complete when `scoring` is. `complete` is then called in order of
   * arrival, unless this is closed.
   */
  add(scoring: Promise<void>, complete: () => void): void {
    // A failure is kept until `settled` is called, and is not an unhandled rejection until then.
    const previous = this.tail;
    scoring.catch(() => undefined);
    this.tail = (async () => {
      await previous;
      await scoring;
      if (this.closed) {
        return;
      }
      complete();
    })();
    this.tail.catch(() => {
      this.broken = true;
      this.onFailure();
    });
  }

  /**
   * Waits until all are complete.
   * @throws the error of the first failure; CancelledError as soon as the work is cancelled
   */
  settled(signal: AbortSignal): Promise<void> {
    return unlessCancelled(this.tail, signal);
  }

  /** Prevents further callbacks. */
  close(): void {
    this.closed = true;
  }
}
