/** Reads stored messages as the branch of a tree. */

import { EDITED, type FullMessage, type Message } from '../domain/message.ts';
import { NEVER } from '../shared/cancellation.ts';
import { C3Error } from '../shared/errors.ts';
import { textHash } from '../store/tokens.ts';
import { writeContext } from './grow.ts';
import type { ReplayDependencies } from './request.ts';
import { toLog, type Branch, type TreeEvent, type TreeMessage } from './tree.ts';

/**
 * Returns the branch of the stored messages before a message.
 * @throws C3Error('engine') if its context would differ from the stored one now
 */
export async function readFrozenBranch(
  said: FullMessage,
  { store, protocol, render, program }: Pick<ReplayDependencies, 'store' | 'protocol' | 'render' | 'program'>,
  signal: AbortSignal = NEVER,
): Promise<Branch> {
  const problem = store.problem(said.problem);
  let grown: TreeMessage | null = null;
  for (const message of store.chain(said.id).slice(0, -1)) {
    grown = toTreeMessage(store, problem, message, grown);
  }
  const events = readStoredEvents(store, said.id, 'before');
  const branch: Branch = { problem, message: grown, ...(events.length > 0 && { events }) };
  if (program !== undefined) {
    const step = await program.next(problem, toLog(protocol, branch), signal);
    const { role, context } = said;
    if (step.kind === 'message' && step.role === role && (step.context === context || program.ownContexts)) {
      return { ...branch, asked: step.context };
    }
    const found =
      step.kind === 'message' ? `asks ${step.role}` : step.kind === 'end' ? 'ends' : `has an event of ${step.source}`;
    throw new C3Error(
      'engine',
      `Message ${said.id} cannot be replayed: after the messages before it, the program ${found}` +
        (step.kind === 'message' && step.role === role
          ? ' with another context than the recorded one; if the log holds the state of the program and not the input of a ' +
            'model, as checkpoints of LangGraph do, write contexts: program in the team file.'
          : `, but ${role} was recorded.`),
    );
  }
  // Messages that were sampled without the first message may have kept the heading of an empty
  // context.
  for (const one of [branch, { ...branch, headed: true }]) {
    if ((await writeContext({ protocol, render }, one, said.position)).context === said.context) {
      return one;
    }
  }
  throw new C3Error(
    'engine',
    `Message ${said.id} cannot be replayed: its context renders to other bytes than the stored ones.`,
  );
}

/** Returns a tree message for a text that the user typed in place of a stored one. */
export const toTypedMessage = (
  { problem, message, events }: Branch,
  { position, context, contextKey }: FullMessage,
  {
    sibling,
    sampling,
    answer,
    edited,
  }: Pick<TreeMessage, 'sibling' | 'sampling' | 'answer'> & { readonly edited: TreeEvent | undefined },
): TreeMessage => ({
  problem,
  position,
  parent: message,
  sibling,
  alternative: sibling,
  replay: null,
  context,
  contextKey,
  streamKey: edited === undefined ? '' : `${EDITED}${textHash(edited.event.text).slice(0, 16)}`,
  sampling,
  answer,
  score: undefined,
  children: [],
  ...(events !== undefined && { before: events }),
  ...(edited !== undefined && { edited }),
  stored: undefined,
});

/** A tool's result with another text, and the recorded one for the original message. */
export interface EditedResult {
  readonly edited: TreeEvent;
  readonly recorded: TreeEvent;
}

/**
 * Returns the first tool result after a recorded message, with another text. Returns null if no
 * text is given.
 * @throws C3Error('input') if no result follows the message, or its run was not recorded elsewhere
 */
export function readEditedResult(
  { store, program }: Pick<ReplayDependencies, 'store' | 'program'>,
  { id }: FullMessage,
  text: string | null | undefined,
): EditedResult | null {
  if (text === null || text === undefined) {
    return null;
  }
  if (program === undefined) {
    throw new C3Error(
      'input',
      'Results of tools are edited in runs that were recorded elsewhere; leave out the result.',
    );
  }
  const [next] = store.children(id).filter(({ phase }) => phase !== 'replay');
  const [recorded] =
    next === undefined ? readStoredEvents(store, id, 'after') : readStoredEvents(store, next.id, 'before');
  if (recorded === undefined) {
    throw new C3Error(
      'input',
      `No result of a tool follows message ${id}; choose the message that called the tool, or leave out the result.`,
    );
  }
  const event = { ...recorded.event, text: text.toWellFormed(), json: { edited: true } };
  return { edited: { event, stored: undefined }, recorded };
}

const readStoredEvents = (store: ReplayDependencies['store'], one: number, side: 'before' | 'after'): TreeEvent[] =>
  store.environmentEvents(one, side).map(({ id, event }) => ({ event, stored: id }));

/**
 * Returns the reason why a stored message is missing, or null if it is there. A message without an
 * answer from its endpoint has no text, no tokens, and the finish `length`. A real message with
 * this finish has tokens.
 */
export const findStoredLoss = ({
  text,
  tokens,
  finish,
}: Pick<FullMessage, 'text' | 'tokens' | 'finish'>): string | null =>
  finish === 'length' && text === '' && tokens.length === 0 ? 'it was not answered when it was recorded' : null;

/** Returns a tree message for a stored message. */
export function toTreeMessage(
  store: ReplayDependencies['store'],
  problem: Branch['problem'],
  message: Message | FullMessage,
  parent: TreeMessage | null,
): TreeMessage {
  const full = 'tokens' in message ? message : store.fullMessage(message.id);
  const [before, after] = [readStoredEvents(store, full.id, 'before'), readStoredEvents(store, full.id, 'after')];
  const lost = findStoredLoss(full);
  return {
    problem,
    position: full.position,
    parent,
    sibling: full.siblingIndex,
    // The clicked message comes first in the request's bucket. The messages before it continue no
    // alternative.
    alternative: 0,
    replay: null,
    context: full.context,
    contextKey: full.contextKey,
    streamKey: full.streamKey,
    sampling: full.sampling,
    answer: {
      text: full.text,
      prompt: new Int32Array(full.promptTokens),
      tokens: full.tokens,
      logprobs: full.logprobs,
      finish: full.finish,
      reusedTokens: full.reusedTokens,
      ...(lost !== null && { lost }),
    },
    score: undefined,
    children: [],
    ...(before.length > 0 && { before }),
    ...(after.length > 0 && { after }),
    stored: full.id,
  };
}
