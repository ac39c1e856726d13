/**
 * Messages of chats in the forms in which programs write them: OpenAI's and Anthropic's roles with text or parts,
 * LangChain's types, AutoGen's sources, the parts of OpenTelemetry and of the AI SDK.
 */
import { isRecord } from '../shared/guard.ts';
import type { ChatMessage } from './episode.ts';
import { messagesOf } from './messageItems.ts';

/** A message with what only its own log needs of it. */
export interface ParsedMessage extends ChatMessage {
  /** The names of the tools that it calls, by the id of the call. */
  readonly calls: ReadonlyMap<string, string>;
  /** The call that it is the result of; null for none. */
  readonly answers: string | null;
  readonly finish: 'end' | 'length';
}

type Fields = Readonly<Record<string, unknown>>;

const ROLES: ReadonlyMap<string, ChatMessage['role']> = new Map([
  ['system', 'system'],
  ['developer', 'system'],
  ['user', 'user'],
  ['human', 'user'],
  ['assistant', 'assistant'],
  ['ai', 'assistant'],
  ['model', 'assistant'],
  ['tool', 'tool'],
  ['function', 'tool'],
]);

/** The first of some keys that holds a text. */
export function textAt(fields: Fields, ...keys: readonly string[]): string | null {
  for (const key of keys) {
    const value = Object.hasOwn(fields, key) ? fields[key] : undefined;
    if (typeof value === 'string' && value !== '') {
      return value;
    }
  }
  return null;
}

/** The first of some keys that holds anything. */
export function valueAt(fields: Fields, ...keys: readonly string[]): unknown {
  return keys.map((key) => (Object.hasOwn(fields, key) ? fields[key] : undefined)).find((value) => value !== undefined);
}

/** A value as text: texts as they are, everything else as JSON. */
export const asText = (value: unknown): string =>
  typeof value === 'string' ? value : value === undefined || value === null ? '' : JSON.stringify(value);

/** The value of a text that may be JSON; the text itself where it is none. */
export function parsedJson(value: unknown): unknown {
  if (typeof value !== 'string') {
    return value;
  }
  try {
    return JSON.parse(value);
  } catch (error) {
    if (error instanceof SyntaxError) {
      return value;
    }
    throw error;
  }
}

interface Content {
  readonly texts: string[];
  readonly calls: Map<string, string>;
  answers: string | null;
  tool: string | null;
}

/** `search {"query": "..."}`: a tool that a message calls, as a line of its text. */
const callLine = (name: string, given: unknown): string => `${name} ${asText(given)}`.trimEnd();

function addCall(content: Content, call: Fields): void {
  const inner = [call['tool_call'], call].find(isRecord) ?? call;
  const of = isRecord(inner['function']) ? inner['function'] : inner;
  const name = textAt(of, 'name', 'toolName', 'function') ?? 'tool';
  const id = textAt(inner, 'id', 'toolCallId', 'tool_call_id');
  if (id !== null) {
    content.calls.set(id, name);
  }
  content.texts.push(callLine(name, valueAt(of, 'arguments', 'args', 'input')));
}

function addPart(content: Content, part: unknown): void {
  if (typeof part === 'string') {
    content.texts.push(part);
    return;
  }
  if (!isRecord(part)) {
    return;
  }
  const inner = isRecord(part['message_content']) ? part['message_content'] : part;
  const type = textAt(inner, 'type') ?? 'text';
  if (['tool_call', 'tool-call', 'tool_use'].includes(type)) {
    addCall(content, inner);
  } else if (['tool_call_response', 'tool-result', 'tool_result'].includes(type)) {
    content.answers = textAt(inner, 'id', 'toolCallId', 'tool_use_id');
    content.tool = textAt(inner, 'name', 'toolName');
    const result = valueAt(inner, 'response', 'result', 'output', 'content');
    // The AI SDK wraps results: {type: 'text' | 'json', value}.
    content.texts.push(asText(isRecord(result) && 'value' in result ? result['value'] : result));
  } else {
    // Bytes of a picture or a sound are no text.
    const text = type === 'blob' ? null : textAt(inner, 'text', 'content', 'reasoning', 'thinking');
    content.texts.push(text ?? (type === 'text' ? '' : `[${type}]`));
  }
}

/** A message in any of the forms, the first of several that a value is; null for a value that is none. */
export const parsedMessage = (value: unknown): ParsedMessage | null => parsedMessages([value])[0] ?? null;

function oneMessage(value: unknown): ParsedMessage | null {
  if (!isRecord(value)) {
    return null;
  }
  const fields = isRecord(value['message']) ? value['message'] : value;
  const own = isRecord(fields['kwargs']) ? fields['kwargs'] : fields;
  const named = textAt(own, 'role', 'type') ?? classOf(fields) ?? textAt(value, 'role', 'type');
  const source = textAt(own, 'source');
  const role = roleOf(named, source);
  const given = valueAt(own, 'parts', 'contents', 'content', 'text');
  const calls =
    valueAt(own, 'tool_calls', 'toolCalls') ?? (isRecord(own['function_call']) ? [own['function_call']] : undefined);
  if (role === null || (given === undefined && calls === undefined)) {
    return null;
  }
  const content: Content = { texts: [], calls: new Map(), answers: null, tool: null };
  for (const part of Array.isArray(given) ? given : [given]) {
    addPart(content, part);
  }
  for (const call of Array.isArray(calls) ? calls : []) {
    if (isRecord(call)) {
      addCall(content, call);
    }
  }
  const isResult = role === 'tool' || content.answers !== null;
  const finish = textAt(own, 'finish_reason', 'finishReason') ?? textAt(value, 'finish_reason', 'finishReason');
  return {
    role: isResult ? 'tool' : role,
    name: isResult ? (textAt(own, 'name') ?? content.tool) : (textAt(own, 'name') ?? source),
    text: content.texts.filter((text) => text !== '').join('\n'),
    calls: content.calls,
    answers: content.answers ?? textAt(own, 'tool_call_id', 'toolCallId', 'id'),
    finish: finish === 'length' || finish === 'max_tokens' ? 'length' : 'end',
  };
}

/** LangChain's own form names a class where others have a role: `["langchain_core", "messages", "AIMessage"]`. */
function classOf({ lc, id }: Fields): string | null {
  const last: unknown = lc !== undefined && Array.isArray(id) ? id.at(-1) : null;
  return typeof last === 'string' ? last.replace(/Message(?:Chunk)?$/u, '') : null;
}

/** By its name; of AutoGen by who it is from, where everybody else than a person is an agent. */
const roleOf = (named: string | null, source: string | null): ChatMessage['role'] | null =>
  (named === null ? undefined : ROLES.get(named.toLowerCase())) ??
  (source === null ? null : (ROLES.get(source.toLowerCase()) ?? 'assistant'));

/** The messages of a list; entries that are none are left out. */
export const parsedMessages = (value: unknown): ParsedMessage[] =>
  Array.isArray(value) ? value.flatMap(messagesOf).flatMap((one) => oneMessage(one) ?? []) : [];

/** What the first person asked; the system prompt where nobody did. */
export function questionOf(messages: readonly ChatMessage[]): string {
  const asked = messages.find(({ role }) => role === 'user') ?? messages[0];
  return asked?.text ?? '';
}

/** Messages with the tool of each result named, where an earlier message called it. */
export function withToolNames(messages: readonly ParsedMessage[]): ParsedMessage[] {
  const called = new Map(messages.flatMap(({ calls }) => [...calls]));
  return messages.map((message) =>
    message.role === 'tool' && message.name === null
      ? { ...message, name: (message.answers === null ? undefined : called.get(message.answers)) ?? null }
      : message,
  );
}

export const chatOnly = ({ role, name, text }: ChatMessage): ChatMessage => ({ role, name, text });
