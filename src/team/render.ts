/** Renders a protocol, a question and the messages so far to the input of a model. */

import { type LogEvent, readExtracted, promptFor, type EnvironmentEvent } from '../domain/episode.ts';
import { C3Error } from '../shared/errors.ts';
import { writeTurnMessages, type OwnTurn } from './history.ts';
import type { PromptMessage } from './promptMessage.ts';
import { requireOccurrence, requireRole, type Protocol } from './protocol.ts';
import { listVisibleEvents, groupEventsBetweenRounds, listOwnMessages, listVisibleInRound } from './rounds.ts';

export type { PromptMessage } from './promptMessage.ts';

/** The two parts of a chat prompt. */
export interface RenderedContext {
  readonly system: string;
  readonly user: string;
  /** The whole conversation, if it is not a system and a user message, which are then empty. */
  readonly messages?: readonly PromptMessage[];
}

/** Returns a context as messages, in order. The input of a model is written only from them. */
export const toPromptMessages = ({ system, user, messages }: RenderedContext): readonly PromptMessage[] =>
  messages ?? [
    { role: 'system', content: system },
    { role: 'user', content: user },
  ];

/**
 * Writes the two parts as the text that a model reads, synchronously or not. A pure function: equal
 * parts give equal texts.
 * @param role whose model reads it; the default is the run's own
 */
export type Renderer = (context: RenderedContext, role?: string) => string | Promise<string>;

/**
 * Returns a renderer that uses the one of each role's model. @param others of roles with another model
 * than the run's
 */
export function createTeamRenderer(own: Renderer, others: ReadonlyMap<string, Renderer>): Renderer {
  return (context, role) => ((role === undefined ? undefined : others.get(role)) ?? own)(context);
}

/** The chat wrapper in the published prompts; a chat template adds its own. */
const CHAT_MARKER = /<\|im_(?:start|end)\|>/g;
/** A pair of braces and its content. A placeholder's name is not longer than this. */
const BRACED = /\{([^{}]{1,120})\}/y;
const IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_]*$/;

/**
 * Renders the context of one occurrence (C3 reference section 1.4).
 *
 * The role's prompt may contain `{question}`, `{context}` and, for each role in it that this
 * occurrence sees, `{role}` and `{role_output}` (the newest visible message if the role spoke more
 * than once). `{context}` is every visible message that is not blank, in canonical order, joined by
 * two newlines. The user part is the question, then the context if there is one.
 * @param messages position -> text; must have every ancestor, others are ignored
 * @param headed true if a context of empty messages keeps its heading; otherwise it has none
 * @throws C3Error('input') for an unknown position or the missing message of an ancestor
 */
export function renderContext(
  protocol: Protocol,
  position: number,
  question: string,
  messages: ReadonlyMap<number, string>,
  headed = false,
): RenderedContext {
  const { id, ancestors } = requireOccurrence(protocol, position);
  const visible = ancestors.map((ancestor): Said => {
    const text = messages.get(ancestor);
    const { id: missing, role } = requireOccurrence(protocol, ancestor);
    if (text === undefined) {
      throw new C3Error(
        'input',
        `The context of '${id}' needs the message of '${missing}' (position ${ancestor}), which is missing.`,
      );
    }
    return { name: role, text };
  });
  return renderVisible(protocol, position, question, visible, headed && visible.length > 0);
}

/**
 * Renders the context of one occurrence after a log. It sees messages, and events under the names of
 * their environments. If the protocol has a history, a later turn of a role consists of the part that
 * the role remembers and the environment's prompt.
 * @throws C3Error('input') for an unknown position
 */
export function renderLog(
  protocol: Protocol,
  position: number,
  question: string,
  log: readonly LogEvent[],
): RenderedContext {
  const { role } = requireOccurrence(protocol, position);
  const first = log.findIndex((event) => event.kind === 'decision' && event.role === role);
  const opened = log[first];
  if (protocol.rounds?.history !== undefined && opened?.kind === 'decision') {
    const opening = toPromptMessages(renderLog(protocol, opened.position, question, log.slice(0, first)));
    return { system: '', user: '', messages: renderLaterTurn(protocol, position, log, opening) };
  }
  const visible = listVisibleEvents(protocol, position, log).map((event): Said => ({
    name: event.kind === 'decision' ? event.role : event.source,
    text: event.text,
  }));
  return renderVisible(protocol, position, question, visible);
}

/** A text that a role sees, with the name of its speaker. */
interface Said {
  readonly name: string;
  readonly text: string;
}

function renderVisible(
  protocol: Protocol,
  position: number,
  question: string,
  visible: readonly Said[],
  headed = false,
): RenderedContext {
  const values = new Map<string, string>(
    protocol.roles.flatMap((role) => [
      [role.name, ''],
      [`${role.name}_output`, ''],
    ]),
  );
  for (const { name, text } of visible) {
    values.set(name, text);
    values.set(`${name}_output`, text);
  }
  const context = visible
    .map(({ text }) => text)
    .filter((text) => text.trim() !== '')
    .join('\n\n');
  values.set('question', question);
  values.set('context', context);
  const prompt = fillPlaceholders(requireRole(protocol, requireOccurrence(protocol, position).role).prompt, values);
  const shown = context.trim();
  return {
    system: unwrapSystem(prompt),
    user: `Problem:\n${question.trim()}${shown === '' && !headed ? '' : `\n\nContext:\n${shown}`}`,
  };
}

/** Returns the prompt without a chat template: system, blank line, user, one newline at the end. */
export function renderPlain(rendered: RenderedContext): string {
  return renderPlainMessages(toPromptMessages(rendered));
}

/** Writes messages without a chat template: blank lines between, one newline at the end. */
export function renderPlainMessages(messages: readonly PromptMessage[]): string {
  return `${messages
    .map(({ content }) => content)
    .join('\n\n')
    .trim()}\n`;
}

/**
 * Fills a template's placeholders in one pass; inserted text is not filled again.
 *
 * A placeholder is `{name}`, where the name is a key of `values` or an identifier (letters, digits,
 * underscore). An identifier without a value becomes the empty text. `{{` and its `}}` represent
 * literal braces. Every other brace is literal, so that `\boxed{}`, `\frac{1}{2}` and JSON keep theirs
 * and disable nothing. For templates that Python's str.format_map accepts, the result is the same.
 */
export function fillPlaceholders(template: string, values: ReadonlyMap<string, string>): string {
  let result = '';
  // The braces that are open at this point; true for a doubled one.
  const open: boolean[] = [];
  for (let index = 0; index < template.length;) {
    const character = template.charAt(index);
    const doubled = template.charAt(index + 1) === character;
    if (character === '{' && doubled) {
      open.push(true);
      result += '{';
      index += 2;
    } else if (character === '{') {
      BRACED.lastIndex = index;
      const [whole = '', name = ''] = BRACED.exec(template) ?? [];
      const value = values.get(name) ?? (IDENTIFIER.test(name) ? '' : undefined);
      if (value === undefined) {
        open.push(false);
      }
      result += value ?? '{';
      index += value === undefined ? 1 : whole.length;
    } else if (character === '}' && doubled && open.at(-1) !== false) {
      open.pop();
      result += '}';
      index += 2;
    } else if (character === '}') {
      // A single brace closes only a single one.
      if (open.at(-1) === false) {
        open.pop();
      }
      result += '}';
      index += 1;
    } else {
      result += character;
      index += 1;
    }
  }
  return result;
}

/** Removes the chat wrapper of the published prompts: the markers, then a leading `system:`. */
function unwrapSystem(prompt: string): string {
  let text = prompt;
  // Repeats until none is left, because removing one may join the halves of another.
  while (text.search(CHAT_MARKER) >= 0) {
    text = text.replace(CHAT_MARKER, '');
  }
  return text
    .trim()
    .replace(/^system:/i, '')
    .trim();
}

// Later turns of a role in a protocol with a history.

const joinNonBlank = (texts: readonly string[]): string => texts.filter((text) => text.trim() !== '').join('\n\n');

/**
 * Returns the messages that the role at a position reads after a log in which it has spoken.
 * @param opening the messages of its first turn
 */
function renderLaterTurn(
  protocol: Protocol,
  position: number,
  log: readonly LogEvent[],
  opening: readonly PromptMessage[],
): readonly PromptMessage[] {
  const { rounds, roles } = protocol;
  if (rounds?.history === undefined) {
    return opening;
  }
  const { role } = requireOccurrence(protocol, position);
  const between = groupEventsBetweenRounds(rounds, log);
  const after = (round: number): readonly EnvironmentEvent[] => between.get(round) ?? [];
  const askedAfter = (round: number): string => joinNonBlank(after(round).map((event) => promptFor(event, role)));
  const turns = listOwnMessages(rounds, log, role).map(({ round, event }, index): OwnTurn => {
    const found = after(round)
      .map((one) => readExtracted(one, role))
      .filter((one) => one !== undefined);
    return {
      prompt: index === 0 ? joinNonBlank(opening.map(({ content }) => content)) : askedAfter(round - 1),
      response: event.text,
      extracted: found.length === 0 ? event.text : (found.at(-1) ?? null),
    };
  });
  // Messages of others in this round follow the environment's prompt.
  const others = listVisibleInRound(protocol, position, log).map((event) =>
    event.kind === 'environment' ? promptFor(event, role) : event.text,
  );
  const newest = Math.max(0, ...between.keys());
  return writeTurnMessages(rounds.history, {
    opening,
    turns,
    asked: joinNonBlank([askedAfter(newest), ...others]),
    writes: roles.length === 1 ? 'response' : `${role} implementation`,
  });
}
