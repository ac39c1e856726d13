/** Advances a branch to its next message: produces and scores the environment events before it. */

import { MAX_EVENT_TEXT, type EnvironmentEvent, type LogEvent } from '../domain/episode.ts';
import type { Sampling } from '../domain/message.ts';
import type { Problem } from '../domain/problem.ts';
import type { EnvironmentInput, EnvironmentKind, Ask } from '../environment/kind.ts';
import { findEnvironmentKind } from '../environment/kinds.ts';
import { EvaluatorLost, type Evaluator } from '../evaluate/evaluator.ts';
import { adaptToEvents } from '../evaluate/events.ts';
import { hasSeeds, type Policy } from '../policy/policy.ts';
import { Stream, streamKey } from '../runtime/random.ts';
import { C3Error, CancelledError, toErrorMessage } from '../shared/errors.ts';
import { EXPERT_ROLE } from '../shared/rolePolicies.ts';
import type { Protocol } from '../team/protocol.ts';
import { toPromptMessages, type Renderer } from '../team/render.ts';
import { discountFactor, nextStep, listMessagesRead } from '../team/rounds.ts';
import type { EnvironmentCall } from '../team/roundsForm.ts';
import type { TreeSettings } from './grow.ts';
import { TERMINATION } from './jointTree.ts';
import { findNextPosition, toProgramEvent, type EpisodeProgram } from './program.ts';
import { countBefore, toLog, type Branch, type TreeEvent, type Score } from './tree.ts';

/** Finds an environment by its name. */
export type Environments = (name: string) => EnvironmentKind | undefined;

/** A branch with the events before its next message. `position` is null at the end. */
export interface Advanced {
  readonly branch: Branch;
  readonly position: number | null;
}

/**
 * Adds environment events until a message is next, or the episode ends.
 * @param number of the continuation, if it is not that of the branch's last message
 * @throws C3Error('engine') if an environment fails; CancelledError; EvaluatorLost
 */
export async function advance(
  settings: TreeSettings,
  branch: Branch,
  signal: AbortSignal,
  number?: number,
): Promise<Advanced> {
  const { protocol, program } = settings;
  const { problem, message } = branch;
  if (program !== undefined) {
    return advanceProgram(settings, program, branch, signal);
  }
  const { examine } = settings.evaluator;
  const examining = examine === undefined ? {} : { examine };
  let events = branch.events ?? message?.after ?? [];
  // A rollout tree ends a branch because of its sibling messages. A replay of it continues, as
  // their replays do.
  if (branch.events === undefined && events[0]?.event.source === TERMINATION) {
    const onward = await advance(settings, { ...branch, events: [] }, signal, number);
    if (onward.position !== null) {
      return onward;
    }
  }
  // The end of a stored episode ends it again.
  const isEnded = branch.events === undefined && message?.after !== undefined;
  for (;;) {
    const log = toLog(protocol, { message, events });
    const keyOf = (role: string): string => nameEnvironmentStream(settings, branch, role, log.length, number);
    const step = nextStep(protocol, log, () => new Stream(keyOf('{order}')).uniform(0));
    if (step.kind === 'environment' && !isEnded) {
      const key = keyOf('{environment}');
      const event = await askEnvironment(
        protocol,
        problem,
        log,
        step,
        key,
        settings.environments,
        { ...examining, ask: createAsker(settings, problem, (attempt) => keyOf(`{expert ${attempt}}`), signal) },
        signal,
      );
      events = [...events, { event, stored: undefined }];
      continue;
    }
    if (step.kind === 'messages' && !isEnded) {
      return { branch: events.length === 0 ? branch : { ...branch, events }, position: step.positions[0] ?? null };
    }
    await scoreEvents(settings, branch, events, signal);
    return { branch: events.length === 0 ? branch : { ...branch, events }, position: null };
  }
}

/** Does the same if a program determines the next step. The end of a stored episode ends it again. */
async function advanceProgram(
  settings: TreeSettings,
  program: EpisodeProgram,
  { problem, message, events: given }: Branch,
  signal: AbortSignal,
): Promise<Advanced> {
  const { protocol } = settings;
  const edited = message?.edited;
  const ending = given === undefined && edited === undefined ? (message?.after ?? []) : [];
  if (ending.at(-1)?.event.closing === true) {
    await scoreEvents(settings, { problem, message }, ending, signal);
    return { branch: { problem, message, events: ending }, position: null };
  }
  let events = given ?? (edited === undefined ? [] : [edited]);
  for (;;) {
    const log = toLog(protocol, { message, events });
    const step = await program.next(problem, log, signal);
    if (step.kind === 'message') {
      return {
        branch: { problem, message, events, asked: step.context },
        position: findNextPosition(protocol, log, step.role),
      };
    }
    events = [...events, { event: toProgramEvent(step), stored: undefined }];
    if (step.kind === 'end') {
      await scoreEvents(settings, { problem, message }, events, signal);
      return { branch: { problem, message, events }, position: null };
    }
  }
}

function nameEnvironmentStream(
  { seed, scope, commonRandomNumbers }: TreeSettings,
  { problem: { uidSha }, message }: Branch,
  role: string,
  turn: number,
  number: number | undefined,
): string {
  const own = message === null || commonRandomNumbers ? scope : `${scope}/alternative:${message.alternative}`;
  return streamKey({ seed, scope: own, uidSha, role, turn, sibling: number ?? message?.replay ?? 0 });
}

/**
 * Returns the event that an environment adds to a log. If the environment's kind is derived, the
 * same call with the same log and stream gives the same event.
 * @param outside executes code and asks a model for environments that need it
 * @throws C3Error('engine') if it fails or its text is too long; CancelledError; EvaluatorLost
 */
export async function askEnvironment(
  protocol: Protocol,
  problem: Problem,
  log: readonly LogEvent[],
  { call, closing }: { readonly call: EnvironmentCall; readonly closing: string | null },
  key: string,
  environments: Environments = findEnvironmentKind,
  outside: Pick<Evaluator, 'examine'> & Pick<EnvironmentInput, 'ask'> = {},
  signal?: AbortSignal,
): Promise<EnvironmentEvent> {
  const { name, options } = call;
  const failed = (what: string, cause?: unknown): C3Error =>
    new C3Error(
      'engine',
      `The environment '${name}' of the protocol ${protocol.name} failed after ${log.length} events of the problem ${JSON.stringify(problem.uid.slice(0, 120))}: ${what.replace(/\.$/, '')}. What is stored stays; continue the run once this is fixed.`,
      { cause },
    );
  const kind = environments(name);
  if (kind === undefined) {
    throw failed('it is not known here');
  }
  const stream = new Stream(key);
  try {
    const messages = listMessagesRead(protocol, call, log);
    const { examine, ask } = outside;
    const outcome = await kind.run({
      problem,
      log,
      messages,
      options,
      uniform: (place) => stream.uniform(place),
      ...(examine !== undefined && { examine: (...[of, program, slice]) => examine(of, program, slice, signal) }),
      ...(ask !== undefined && { ask }),
    });
    const text = outcome.text.toWellFormed();
    if (text.length > MAX_EVENT_TEXT) {
      throw new Error(`it says more than ${MAX_EVENT_TEXT} characters`);
    }
    const { json = null, answers, done = closing } = outcome;
    return {
      kind: 'environment',
      source: name,
      text,
      json,
      ...(answers !== undefined && { answers: answers.map((answer) => answer.toWellFormed()) }),
      done,
      derived: outcome.derived ?? kind.derived,
      streamKey: key,
      closing: closing !== null,
    };
  } catch (error) {
    if (error instanceof CancelledError || error instanceof EvaluatorLost) {
      throw error;
    }
    throw failed(toErrorMessage(error), error);
  }
}

/** Scores the closing event of an episode that has ended. */
async function scoreEvents(
  { protocol, evaluator, budget }: TreeSettings,
  { problem, message }: Branch,
  events: readonly TreeEvent[],
  signal: AbortSignal,
): Promise<void> {
  const closing = events.at(-1);
  if (closing?.event.closing !== true) {
    return;
  }
  budget.reserve(1);
  budget.spend(1);
  const log = toLog(protocol, { message, events });
  const { score, rule } = await adaptToEvents(evaluator).evaluate(problem, log, closing.event, signal);
  const weight = message === null ? 1 : discountFactor(protocol, countBefore(message));
  closing.score = { score, rule, ...(weight !== 1 && { weight }) } satisfies Score;
}

// Questions of environments to a model: the policy of the role `expert`, one question at a time.

/** The sampling for the expert (MAGRPO reference section 6), with a shorter answer. */
const SAMPLING: Sampling = { temperature: 0.3, topP: 1, topK: 0, maxNewTokens: 512 };

/** The last question to each policy, because a model answers one question at a time. */
const asked = new WeakMap<Policy, Promise<unknown>>();

/**
 * Returns a function that asks for an environment. If the policy fails, it returns the error's
 * message. Tokens are not kept.
 * @param streamOf returns the stream of an attempt; unused if the policy has no seeds
 * @throws CancelledError
 */
export function createAsker(
  { policy, render }: { readonly policy: Policy; readonly render: Renderer },
  { question, uid }: Problem,
  streamOf: (attempt: number) => string,
  signal: AbortSignal,
): Ask {
  return async (prompt, attempt) => {
    const before = asked.get(policy);
    const answering = (async () => {
      await before?.catch(() => undefined);
      const [answer] = await policy.answer(
        [
          {
            role: EXPERT_ROLE,
            context: await render(prompt, EXPERT_ROLE),
            messages: toPromptMessages(prompt),
            sampling: SAMPLING,
            streamKey: hasSeeds(policy, EXPERT_ROLE) ? streamOf(attempt) : '',
            place: `the ${EXPERT_ROLE} for the problem ${JSON.stringify(uid.slice(0, 120))}`,
            question,
            turn: attempt,
          },
        ],
        { signal },
      );
      return answer?.text ?? '';
    })();
    asked.set(policy, answering);
    try {
      return { text: await answering };
    } catch (error) {
      if (error instanceof CancelledError || signal.aborted) {
        throw error;
      }
      return { failed: toErrorMessage(error) };
    }
  };
}
