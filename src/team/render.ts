/** From a protocol, a question and the messages so far to what a model reads. */
import { type LogEvent, extractedOf, promptFor, type EnvironmentEvent } from '../domain/episode.ts';
import { C3Error } from '../shared/errors.ts';
import { turnMessages, type OwnTurn } from './history.ts';
import type { PromptMessage } from './promptMessage.ts';
import { occurrenceAt, roleNamed, type Protocol } from './protocol.ts';
import { visibleEvents, betweenRounds, ownMessages, visibleInRound } from './rounds.ts';

export type { PromptMessage } from './promptMessage.ts';

/** The two parts of a chat prompt. */
export interface RenderedContext {
  readonly system: string;
  readonly user: string;
  /** The whole conversation where it is more, or less, than a system and a user message: these two are then empty. */
  readonly messages?: readonly PromptMessage[];
}

/** A context as messages, in order. What a model reads is written from them and nothing else. */
export const promptMessages = ({ system, user, messages }: RenderedContext): readonly PromptMessage[] =>
  messages ?? [
    { role: 'system', content: system },
    { role: 'user', content: user },
  ];

/**
 * Writes the two parts as the one text that a model reads, at once or later. A pure function: the same parts are always
 * the same text.
 * @param role whose model reads it; the run's own unless given
 */
export type Renderer = (context: RenderedContext, role?: string) => string | Promise<string>;

/** Writes contexts as the model of each role reads them. @param others of roles with another model than the run's */
export function teamRenderer(own: Renderer, others: ReadonlyMap<string, Renderer>): Renderer {
  return (context, role) => ((role === undefined ? undefined : others.get(role)) ?? own)(context);
}

/** The wrapper that the published prompts carry; a chat template adds its own. */
const CHAT_MARKER = /<\|im_(?:start|end)\|>/g;
/** One pair of braces and what is between; longer than any name it is no placeholder. */
const BRACED = /\{([^{}]{1,120})\}/y;
const IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_]*$/;

/**
 * Renders the context of one occurrence (C3 reference section 1.4).
 *
 * The role's prompt may hold `{question}`, `{context}` and, for each role in it that this occurrence sees, `{role}` and
 * `{role_output}` (the newest visible message where the role spoke more than once). `{context}` is every visible
 * message that is not blank, in canonical order, joined by two newlines. The user part is the question, then the
 * context where there is one.
 * @param messages position -> text; must hold every ancestor, others are ignored
 * @param headed whether a context of empty messages keeps its heading; it has none otherwise
 * @throws C3Error('input') for an unknown position or the missing message of an ancestor
 */
export function renderContext(
  protocol: Protocol,
  position: number,
  question: string,
  messages: ReadonlyMap<number, string>,
  headed = false,
): RenderedContext {
  const { id, ancestors } = occurrenceAt(protocol, position);
  const visible = ancestors.map((ancestor): Said => {
    const text = messages.get(ancestor);
    const { id: missing, role } = occurrenceAt(protocol, ancestor);
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
 * Renders the context of one occurrence after a log: what it sees are messages, and events under the names of their
 * environments. Where the protocol has a history, a later turn of a role is what the environment asks, after what the
 * role remembers.
 * @throws C3Error('input') for an unknown position
 */
export function renderLog(
  protocol: Protocol,
  position: number,
  question: string,
  log: readonly LogEvent[],
): RenderedContext {
  const { role } = occurrenceAt(protocol, position);
  const first = log.findIndex((event) => event.kind === 'decision' && event.role === role);
  const opened = log[first];
  if (protocol.rounds?.history !== undefined && opened?.kind === 'decision') {
    const opening = promptMessages(renderLog(protocol, opened.position, question, log.slice(0, first)));
    return { system: '', user: '', messages: laterTurn(protocol, position, log, opening) };
  }
  const visible = visibleEvents(protocol, position, log).map((event): Said => ({
    name: event.kind === 'decision' ? event.role : event.source,
    text: event.text,
  }));
  return renderVisible(protocol, position, question, visible);
}

/** A text that a role sees, and who said it. */
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
  const prompt = fillPlaceholders(roleNamed(protocol, occurrenceAt(protocol, position).role).prompt, values);
  const shown = context.trim();
  return {
    system: unwrapSystem(prompt),
    user: `Problem:\n${question.trim()}${shown === '' && !headed ? '' : `\n\nContext:\n${shown}`}`,
  };
}

/** The prompt of a model without a chat template: system, blank line, user, one newline at the end. */
export function renderPlain(rendered: RenderedContext): string {
  return plainText(promptMessages(rendered));
}

/** Messages for a model without a chat template: contents with blank lines between, one newline at the end. */
export function plainText(messages: readonly PromptMessage[]): string {
  return `${messages
    .map(({ content }) => content)
    .join('\n\n')
    .trim()}\n`;
}

/**
 * Fills a template's placeholders in one pass; what is put in is not looked at again.
 *
 * A placeholder is `{name}`, where the name is a key of `values` or an identifier (letters, digits, underscore); an
 * identifier without a value yields the empty text. `{{` and its `}}` represent literal braces. Every other brace is
 * literal, so `\boxed{}`, `\frac{1}{2}` and JSON keep theirs and disable nothing. For templates that Python's
 * str.format_map accepts the result is the same.
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
      // A single brace closes a single one only.
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

/** Takes off the chat wrapper of the published prompts: the markers, then a leading `system:`. */
function unwrapSystem(prompt: string): string {
  let text = prompt;
  // Again until none is left: removing one may join the halves of another.
  while (text.search(CHAT_MARKER) >= 0) {
    text = text.replace(CHAT_MARKER, '');
  }
  return text
    .trim()
    .replace(/^system:/i, '')
    .trim();
}

// From a log to what a role reads in a turn after its first, where the protocol has a history.

const joined = (texts: readonly string[]): string => texts.filter((text) => text.trim() !== '').join('\n\n');

/**
 * The messages that the role at a position reads after a log in which it has spoken.
 * @param opening what it read in its first turn
 */
function laterTurn(
  protocol: Protocol,
  position: number,
  log: readonly LogEvent[],
  opening: readonly PromptMessage[],
): readonly PromptMessage[] {
  const { rounds, roles } = protocol;
  if (rounds?.history === undefined) {
    return opening;
  }
  const { role } = occurrenceAt(protocol, position);
  const between = betweenRounds(rounds, log);
  const after = (round: number): readonly EnvironmentEvent[] => between.get(round) ?? [];
  const askedAfter = (round: number): string => joined(after(round).map((event) => promptFor(event, role)));
  const turns = ownMessages(rounds, log, role).map(({ round, event }, index): OwnTurn => {
    const found = after(round)
      .map((one) => extractedOf(one, role))
      .filter((one) => one !== undefined);
    return {
      prompt: index === 0 ? joined(opening.map(({ content }) => content)) : askedAfter(round - 1),
      response: event.text,
      extracted: found.length === 0 ? event.text : (found.at(-1) ?? null),
    };
  });
  // What others said in this round already goes behind what is asked.
  const others = visibleInRound(protocol, position, log).map((event) =>
    event.kind === 'environment' ? promptFor(event, role) : event.text,
  );
  const newest = Math.max(0, ...between.keys());
  return turnMessages(rounds.history, {
    opening,
    turns,
    asked: joined([askedAfter(newest), ...others]),
    writes: roles.length === 1 ? 'response' : `${role} implementation`,
  });
}
