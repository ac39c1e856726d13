/** Sampling messages below branches, and scoring them. */
import { setImmediate } from 'node:timers/promises';
import type { Sampling } from '../domain/message.ts';
import type { Problem } from '../domain/problem.ts';
import type { EnvironmentKind } from '../environment/kind.ts';
import { scoredText, type Evaluator } from '../evaluate/evaluator.ts';
import {
  takesSeeds,
  type Policy,
  type PolicyAnswer,
  type PolicyControl,
  type PolicyRequest,
} from '../policy/policy.ts';
import { streamKey } from '../runtime/random.ts';
import { onAbort, unlessCancelled } from '../shared/cancellation.ts';
import { CancelledError } from '../shared/errors.ts';
import { contextKey } from '../team/contextKey.ts';
import { occurrenceAt, roleNamed, type Occurrence, type Protocol } from '../team/protocol.ts';
import { promptMessages, renderContext, renderLog, type PromptMessage, type Renderer } from '../team/render.ts';
import { discountOf, turnOf } from '../team/rounds.ts';
import type { EvaluatorBudget } from './budget.ts';
import type { EpisodeProgram } from './program.ts';
import { firstEquals, nameOf, reusedAnswer, ScoreBook, type ScoredMessage } from './reuse.ts';
import { countBefore, lostIn, toLog, type Branch, type TreeMessage } from './tree.ts';

/**
 * What new messages are: alternatives, numbered from `first` on, or continuations of the alternative that their branch
 * is below. With `replays` every branch has one continuation, of that number.
 */
export type Growth =
  | { readonly kind: 'alternatives'; readonly first: number }
  | { readonly kind: 'continuations'; readonly replays?: readonly number[] };

export interface TreeSettings {
  readonly protocol: Protocol;
  /** Writes contexts as the policy's model reads them. */
  readonly render: Renderer;
  readonly policy: Policy;
  readonly evaluator: Evaluator;
  readonly budget: EvaluatorBudget;
  readonly sampling: Sampling;
  readonly seed: number;
  /** Names the streams: `iteration:3`, `request:2`, `evaluation:sampled` ... */
  readonly scope: string;
  /**
   * Whether replay m of one alternative draws the numbers of replay m of the others (Appendix L). A policy that takes
   * no seeds shares none whatever this says.
   */
  readonly commonRandomNumbers: boolean;
  /**
   * The scores that are known already, where several calls of `extend` make one piece of work; each has its own unless
   * given.
   */
  readonly scores?: ScoreBook;
  /** False: every result is paid for, also one that is determined; to compare with. */
  readonly reuse?: boolean;
  /** Whether other messages are drawn in the place of equal ones that end episodes. Not of those that come first. */
  readonly unique?: boolean;
  /** Where environments come from; the bundled ones unless given. */
  readonly environments?: (name: string) => EnvironmentKind | undefined;
  /** What says what is next, where the protocol does not. */
  readonly program?: EpisodeProgram;
}

/** The sampling of one role: its own cap on new tokens where the protocol sets one. */
export function samplingOf(settings: Pick<TreeSettings, 'protocol' | 'sampling'>, position: number): Sampling {
  const cap = roleNamed(settings.protocol, occurrenceAt(settings.protocol, position).role).maxNewTokens;
  return cap === null ? settings.sampling : { ...settings.sampling, maxNewTokens: cap };
}

/** The exact model input at `position` after a branch, its key, and the messages it is written from. */
export async function writeContext(
  { protocol, render }: Pick<TreeSettings, 'protocol' | 'render'>,
  branch: Branch,
  position: number,
): Promise<{ context: string; key: string; messages: readonly PromptMessage[] }> {
  if (branch.asked !== undefined) {
    return { context: branch.asked, key: contextKey(branch.asked).key, messages: [] };
  }
  const { question } = branch.problem;
  const rendered =
    protocol.rounds === undefined
      ? renderContext(protocol, position, question, messagesOf(branch), branch.headed)
      : renderLog(protocol, position, question, toLog(protocol, branch));
  const context = await render(rendered, occurrenceAt(protocol, position).role);
  return { context, key: contextKey(context).key, messages: promptMessages(rendered) };
}

/** Position -> text of the messages of a branch. */
function messagesOf(branch: Branch): Map<number, string> {
  const messages = new Map<number, string>();
  for (let message = branch.message; message !== null; message = message.parent) {
    messages.set(message.position, message.answer.text);
  }
  return messages;
}

/** Whose context it is, for messages: one line, whatever a file calls its problems. */
export const placeWords = (occurrence: string, uid: string): string =>
  `the ${occurrence} for the problem ${JSON.stringify(uid.slice(0, 120))}`;

/** Where a new message is among those of its tree; `streamAt` names its stream by it. */
export type Place = Pick<TreeMessage, 'sibling' | 'alternative' | 'replay' | 'redraw'>;

/** A message that is to be sampled below a branch. */
export interface Opening {
  readonly branch: Branch;
  readonly place: Place;
}

/** A message that is to be sampled. */
interface Plan {
  /** Its place among all that are sampled together. */
  readonly index: number;
  readonly branch: Branch;
  readonly place: Place;
  readonly context: string;
  readonly key: string;
  readonly request: PolicyRequest;
}

/**
 * Where the index-th of `fanout` new messages below the place-th branch is. Continuations of one alternative are
 * numbered in depth-first order at every position, so that no two share a number.
 */
export function placeOf({ message }: Branch, place: number, index: number, fanout: number, growth: Growth): Place {
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
 * The stream of a message (design promise 1); empty where the policy takes no seeds. The alternative's index joins the
 * scope only where nothing is to be shared.
 */
function streamAt(
  settings: TreeSettings,
  { uidSha }: Problem,
  { role, turn }: Occurrence,
  { sibling, alternative, replay }: Place,
): string {
  if (!takesSeeds(settings.policy, role)) {
    return '';
  }
  const scope =
    replay === null || settings.commonRandomNumbers ? settings.scope : `${settings.scope}/alternative:${alternative}`;
  return streamKey({ seed: settings.seed, scope, uidSha, role, turn, sibling: replay ?? sibling });
}

/**
 * Samples `fanout` messages at `position` below every branch; see `fill`.
 * @throws CancelledError; C3Error('budget') before anything is sampled when the budget does not reach
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
    Array.from({ length: fanout }, (_, sample) => ({ branch, place: placeOf(branch, start, sample, fanout, growth) })),
  );
  return fill(settings, openings, position, control, onMessage);
}

/**
 * Samples a message at `position` for every opening and scores them where the occurrence is scored, while others are
 * still being sampled. Of equal requests one goes to the policy, of equal scored messages one to the evaluator: the
 * first in order, or with `scores` the first that arrived. `onMessage` hears of one as soon as it and those that
 * arrived before it are complete; messages come back in the order of openings.
 * @throws CancelledError; C3Error('budget') before anything is sampled when the budget does not reach
 */
export async function fill(
  settings: TreeSettings,
  openings: readonly Opening[],
  position: number,
  control: PolicyControl,
  onMessage?: (message: TreeMessage) => void,
): Promise<TreeMessage[]> {
  // Looked at before every call: the policy itself may answer faster than it notices.
  if (control.signal.aborted) {
    throw new CancelledError();
  }
  const occurrence = occurrenceAt(settings.protocol, position);
  if (occurrence.scored) {
    settings.budget.reserve(openings.length);
  }
  const sampling = samplingOf(settings, position);
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
      streamKey: streamAt(settings, branch.problem, occurrence, place),
      place: placeWords(occurrence.id, branch.problem.uid),
      question: branch.problem.question,
      turn: occurrence.turn,
    };
    return [{ index, branch, place, context, key, request }];
  });
  const firsts =
    settings.reuse === false ? plans.map(({ index }) => index) : firstEquals(plans.map(({ request }) => request));
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
  // The policy stops when the caller cancels, or where an arrival failed.
  const stop = new AbortController();
  const halt = (): void => stop.abort();
  const release = onAbort(control.signal, halt);
  const arrivals = new Arrivals(halt);
  const unheard: Plan[] = [];
  const arrive = (plan: Plan, answer: PolicyAnswer): void => {
    // What comes after a cancel starts no evaluation.
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
    // What has its score by now still arrives.
    await setImmediate();
    // A failure of an arrival stopped the policy; that, and not the stop, is what is to be reported.
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
    bookInOrder(settings, grown);
  }
  return grown;
}

/**
 * Which of equal messages arrived first is the runtime's own; nobody has heard of them yet, so the first in order is
 * the one that was paid for.
 */
export function bookInOrder(scoring: Scoring, messages: readonly TreeMessage[]): void {
  // One of a group is paid for where any of it is reused, and none is reused where the first to arrive was masked.
  const groups = new Set(
    messages.flatMap((message) => (message.score?.reused === true ? nameOf(scoredMessage(scoring, message)) : [])),
  );
  const booked = new Set<string>();
  for (const message of groups.size === 0 ? [] : messages) {
    const name = nameOf(scoredMessage(scoring, message));
    if (message.score === undefined || !groups.has(name)) {
      continue;
    }
    message.score = { ...message.score, reused: booked.has(name) };
    booked.add(name);
  }
}

/** What is scored of a message: with some evaluators it is made of all messages of its turn. */
function scoredMessage({ protocol, evaluator }: Scoring, message: TreeMessage): ScoredMessage {
  const { problem, position, contextKey: key } = message;
  const text =
    evaluator.ofTurn === undefined
      ? message.answer.text
      : scoredText(evaluator, problem, turnOf(protocol, toLog(protocol, { message })));
  return { problem, position, contextKey: key, text };
}

type Scoring = Pick<TreeSettings, 'protocol' | 'evaluator'>;

/**
 * Scores a message, where its occurrence is scored; else does nothing. The budget counts it also where its score is
 * known from an equal one: what a method may ask for does not depend on how often its team repeats itself.
 * @throws CancelledError where it was cancelled before code was run
 */
export async function scoreMessage(
  { protocol, evaluator, budget, scores }: Pick<TreeSettings, 'protocol' | 'evaluator' | 'budget' | 'scores'>,
  message: TreeMessage,
  signal?: AbortSignal,
): Promise<void> {
  if (!occurrenceAt(protocol, message.position).scored) {
    return;
  }
  const lost = lostIn(message);
  if (lost !== null) {
    message.score = { score: null, rule: `no message: ${lost}` };
    return;
  }
  budget.spend(1);
  // A book of its own holds nothing yet.
  const {
    graded: { score, rule },
    reused,
  } = await (scores ?? new ScoreBook()).score(evaluator, scoredMessage({ protocol, evaluator }, message), signal);
  const weight = discountOf(protocol, countBefore(message));
  message.score = { score, rule, reused, ...(weight !== 1 && { weight }) };
}

// What is complete only when it is scored, in the order in which it arrived: how long an evaluator takes changes no
// order of rows.

export class Arrivals {
  private tail: Promise<void> = Promise.resolve();
  private closed = false;
  private broken = false;
  private readonly onFailure: () => void;

  /** @param onFailure called when one of them fails, or whoever heard of it */
  constructor(onFailure: () => void = () => undefined) {
    this.onFailure = onFailure;
  }

  /** Whether one of them failed, or whoever heard of it: nothing more is worth waiting for. */
  get failed(): boolean {
    return this.broken;
  }

  /** Adds one that is complete when `scoring` is; `complete` is called then, in its turn, unless this is closed. */
  add(scoring: Promise<void>, complete: () => void): void {
    // A failure is kept for whoever waits; until then it is no one's.
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
   * @throws what the first that failed threw; CancelledError as soon as the work is cancelled
   */
  settled(signal: AbortSignal): Promise<void> {
    return unlessCancelled(this.tail, signal);
  }

  /** What completes from now on is heard by no one. */
  close(): void {
    this.closed = true;
  }
}
