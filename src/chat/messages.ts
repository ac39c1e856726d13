/**
 * Reads messages of chats in the forms of programs and servers: roles with text or parts, tool
 * calls inside or beside the text, items of OpenAI's responses, LangChain's types, AutoGen's
 * sources, pydantic-ai's parts, ShareGPT's speakers. One entry may become several messages: the
 * results of two tools and a user's text are three.
 */

import { isRecord } from '../shared/guard.ts';
import { contains } from '../shared/text/contains.ts';
import {
  addCall,
  addPart,
  addQuotes,
  addResult,
  emptyContent,
  isKnownPart,
  resultWithError,
  joinSpokenText,
  type Content,
  type ToolResult,
} from './content.ts';
import { asText, fieldsAt, listAtKey, parseIfJson, textAt, valueAt, type Fields } from './fields.ts';
import { toFinish, readFinishReason } from './finish.ts';
import { readProgramEntry, addTaskBeginnings } from './programs.ts';

/** A message of a chat, as a model receives it. */
export interface ChatMessage {
  readonly role: 'system' | 'user' | 'assistant' | 'tool';
  /** The speaker or the tool, or null if the log does not say. */
  readonly name: string | null;
  /** Its text, with a line for each tool call. */
  readonly text: string;
}

/** A message with the details that the readers of logs need. */
export interface ParsedMessage extends ChatMessage {
  /** The names of the tools that it calls, by the id of the call. */
  readonly calls: ReadonlyMap<string, string>;
  /** The id of the call that it answers, or null. */
  readonly answers: string | null;
  readonly finish: 'end' | 'length';
  /** An id that entries share if they are pieces of one message, or null. */
  readonly id: string | null;
  /** The whole entry, which may hold measures, or null for a part of an entry. */
  readonly about: Fields | null;
  /** The type of a response's item, several of which form one message, or null. */
  readonly item: 'reasoning' | 'message' | 'call' | null;
  /** Its text without reasoning. It is empty if there is nothing else. */
  readonly spoken: string;
  /** The context that the log gives for this message. Null: the messages before it are its context. */
  readonly asked: readonly ChatMessage[] | null;
}

const ROLES: ReadonlyMap<string, ChatMessage['role']> = new Map([
  ['system', 'system'],
  ['developer', 'system'],
  ['user', 'user'],
  ['human', 'user'],
  ['prompter', 'user'],
  ['assistant', 'assistant'],
  ['ai', 'assistant'],
  ['model', 'assistant'],
  ['gpt', 'assistant'],
  ['chatgpt', 'assistant'],
  ['gemini', 'assistant'],
  ['bot', 'assistant'],
  ['chatbot', 'assistant'],
  ['agent', 'assistant'],
  ['function_call', 'assistant'],
  ['tool-call', 'assistant'],
  ['tool', 'tool'],
  ['function', 'tool'],
  ['tool_result', 'tool'],
  ['tool_response', 'tool'],
  ['tool-response', 'tool'],
  ['toolresult', 'tool'],
  ['function_response', 'tool'],
  ['observation', 'tool'],
  ['environment', 'tool'],
  ['ipython', 'tool'],
  ['exit', 'tool'],
]);
/** Roles that name the tool. mini-swe-agent ends with the output of its environment at the exit. */
const TOOLS: ReadonlySet<string> = new Set(['observation', 'environment', 'ipython', 'exit']);
/** The most characters of a role that is the name of an agent. */
const LONGEST_ROLE = 100;

/** Events of AutoGen that are not messages: questions to a user, memory, and pieces. */
const NO_MESSAGES: readonly unknown[] = [
  'UserInputRequestedEvent',
  'MemoryQueryEvent',
  'ModelClientStreamingChunkEvent',
];
const AUTOGEN_RESULTS: readonly unknown[] = ['ToolCallExecutionEvent', 'FunctionExecutionResultMessage'];
/**
 * Items of OpenAI's responses: `function_call`, `web_search_call`, `function_call_output`,
 * `reasoning`, `message`. Mistral has `function.call` and `function.result`.
 */
const CALL_ITEM = /^(?:\w+[_.])?call$/u;
const OUTPUT_ITEM = /_call_output$|^function\.result$/u;
/** Roles for the parts of pydantic-ai's messages, by their kinds. */
const PYDANTIC: ReadonlyMap<unknown, ChatMessage['role']> = new Map([
  ['system-prompt', 'system'],
  ['user-prompt', 'user'],
  ['tool-return', 'tool'],
  ['retry-prompt', 'tool'],
]);

/** Returns the messages of a list. Pieces of one message are joined, and other entries are left out. */
export const parseMessages = (value: unknown): ParsedMessage[] =>
  Array.isArray(value) ? joinMessages(addTaskBeginnings(value).flatMap(parseEntry)) : [];

/** Returns the first message that a value holds in any of the forms, or null. */
export const parseMessage = (value: unknown): ParsedMessage | null => parseMessages([value])[0] ?? null;

/** Joins all pieces of a model's answer into one message, and returns the tool results separately. */
export function joinAnswerPieces(messages: readonly ParsedMessage[]): {
  readonly said: ParsedMessage | null;
  readonly results: readonly ParsedMessage[];
} {
  const own = messages.filter(({ role }) => role === 'assistant');
  return {
    said: own.length === 0 ? null : own.reduce(joinPieces),
    results: messages.filter(({ role }) => role === 'tool'),
  };
}

/** Joins the pieces of one message: those of one id, or the items of one response. */
function joinMessages(messages: readonly ParsedMessage[]): ParsedMessage[] {
  const made: ParsedMessage[] = [];
  let last: ParsedMessage | undefined;
  for (const message of messages) {
    const before = made.at(-1);
    const isPiece =
      before?.role === 'assistant' &&
      message.role === 'assistant' &&
      ((message.id !== null && message.id === before.id) || continuesMessage(last?.item ?? null, message.item));
    if (isPiece) {
      made[made.length - 1] = joinPieces(before, message);
    } else {
      made.push(message);
    }
    last = message;
  }
  return made;
}

/** Returns true if an item continues a message: reasoning, then a text, then calls. */
const continuesMessage = (before: ParsedMessage['item'], item: ParsedMessage['item']): boolean =>
  before === 'reasoning' ? item !== null : before === null ? false : item === 'call';

/** Joins two pieces of one message. */
export const joinPieces = (first: ParsedMessage, second: ParsedMessage): ParsedMessage => ({
  ...first,
  name: first.name ?? second.name,
  text: joinLines(first.text, second.text),
  spoken: joinLines(first.spoken, second.spoken),
  calls: new Map([...first.calls, ...second.calls]),
  finish: second.finish,
});

const joinLines = (...texts: readonly string[]): string => texts.filter((text) => text !== '').join('\n');

const plain = (role: ChatMessage['role'], text: string): ParsedMessage => ({
  role,
  name: null,
  text,
  calls: new Map(),
  answers: null,
  finish: 'end',
  id: null,
  about: null,
  item: null,
  spoken: text,
  asked: null,
});

/** Returns the messages of a list entry, or none if it is not a message. */
function parseEntry(entry: unknown): readonly ParsedMessage[] {
  if (!isRecord(entry)) {
    return [];
  }
  const { type, content } = entry;
  if (typeof type === 'string' && (CALL_ITEM.test(type) || OUTPUT_ITEM.test(type) || type === 'reasoning')) {
    return itemOf(entry);
  }
  if (NO_MESSAGES.includes(type)) {
    return [];
  }
  if (AUTOGEN_RESULTS.includes(type) && Array.isArray(content)) {
    return content.filter(isRecord).map((one) => toResultMessage(one, one['content'], one['error']));
  }
  // AutoGen 0.2 joins the results of all tools in the content, and also lists them one by one.
  const responses = listAtKey(entry, 'tool_responses').filter(isRecord);
  if (responses.length > 0) {
    return responses.map((one) => toResultMessage(one, one['content'], null));
  }
  // A line of a session of Codex.
  if (type === 'response_item' && isRecord(entry['payload'])) {
    return parseEntry(entry['payload']);
  }
  const written = readProgramEntry(entry);
  if (written !== null) {
    return written.flatMap(parseGeneralMessage);
  }
  const event = openHandsMessages(entry);
  if (event !== null) {
    return event;
  }
  if ((entry['kind'] === 'request' || entry['kind'] === 'response') && Array.isArray(entry['parts'])) {
    return pydanticMessages(entry['kind'], entry['parts'], entry);
  }
  const isCalls =
    Array.isArray(content) &&
    content.length > 0 &&
    content.every((one) => isRecord(one) && 'arguments' in one && !('type' in one));
  const one = isCalls ? { ...entry, role: 'assistant', content: '', tool_calls: content } : entry;
  return parseGeneralMessage(one);
}

/** Reads an item of a response: a call, its result, or reasoning. */
function itemOf(item: Fields): readonly ParsedMessage[] {
  const content = emptyContent();
  addPart(content, item);
  const text = content.texts.filter((one) => one !== '').join('\n');
  const results = content.results.map(toToolMessage);
  return text === ''
    ? results
    : [
        {
          ...plain('assistant', text),
          calls: content.calls,
          item: item['type'] === 'reasoning' ? 'reasoning' : 'call',
        },
        ...results,
      ];
}

const toToolMessage = ({ answers, name, text }: ToolResult): ParsedMessage => ({
  ...plain('tool', text),
  name,
  answers,
});

const toResultMessage = (from: Fields, given: unknown, error: unknown): ParsedMessage => ({
  ...plain('tool', resultWithError(given, error)),
  name: textAt(from, 'name', 'tool_name', 'toolName'),
  answers: textAt(from, 'call_id', 'tool_call_id', 'toolCallId', 'id'),
});

function pydanticMessages(kind: string, parts: readonly unknown[], entry: Fields): readonly ParsedMessage[] {
  if (kind === 'response') {
    return parseGeneralMessage({ ...entry, role: 'assistant' });
  }
  return parts.filter(isRecord).flatMap((part): readonly ParsedMessage[] => {
    const role = PYDANTIC.get(part['part_kind']) ?? 'user';
    return role === 'tool' && textAt(part, 'tool_name') !== null
      ? [toResultMessage(part, part['content'], null)]
      : parseGeneralMessage({ role: role === 'tool' ? 'user' : role, content: part['content'] });
  });
}

/** Reads an event of OpenHands: an action or its observation. Returns null for any other value. */
function openHandsMessages(event: Fields): readonly ParsedMessage[] | null {
  const { source, action, observation, content, args } = event;
  if (typeof source !== 'string' || 'role' in event) {
    return null;
  }
  if (typeof observation === 'string') {
    return [{ ...plain('tool', asText(content)), name: observation }];
  }
  if (typeof action !== 'string' || !isRecord(args)) {
    return null;
  }
  const { content: said, thought, ...given } = args;
  if (action === 'message' || action === 'system') {
    return parseGeneralMessage({ role: action === 'system' ? action : source, content: said });
  }
  // Actions of the environment itself, such as a change of its state, are not messages.
  return source === 'agent'
    ? parseGeneralMessage({
        role: 'assistant',
        content: thought ?? said,
        tool_calls: [{ name: action, arguments: given }],
      })
    : [];
}

/** Reads a message with a role, in the wrapper of its library. */
function parseGeneralMessage(value: Fields): readonly ParsedMessage[] {
  const { fields, type, around } = unwrapMessage(value);
  const named = textAt(fields, 'role') ?? textAt(fields, 'from') ?? textAt(fieldsAt(fields, 'author'), 'role');
  const source = textAt(fields, 'source', 'sender', 'speaker') ?? textAt(fields, 'author');
  const role = findRole(named, type ?? textAt(around, 'role', 'type'), source);
  const kwargs = fieldsAt(fields, 'additional_kwargs');
  const content = contentOf(fields, kwargs);
  if (role === null || content === null) {
    return [];
  }
  const isAgent = named !== null && !ROLES.has(named.toLowerCase());
  // In user messages and results, `agent` names the recipient.
  const agents = role === 'assistant' || role === 'system' ? ['agent', 'agent_name', 'agentName'] : [];
  const name =
    textAt(fields, 'name', ...agents, 'tool_name') ??
    textAt(fieldsAt(fields, 'author'), 'name') ??
    source ??
    (isAgent || (role === 'tool' && TOOLS.has(named?.toLowerCase() ?? '')) ? named : null);
  const reason =
    readFinishReason(fields) ?? readFinishReason(around) ?? readFinishReason(fieldsAt(fields, 'response_metadata'));
  const own: ParsedMessage = {
    ...plain(role, joinLines(...content.texts)),
    spoken: joinSpokenText(content),
    name,
    calls: content.calls,
    finish: toFinish(reason),
    id: role === 'assistant' ? pieceId(fields, around) : null,
    about: role === 'assistant' ? fields : null,
    item:
      role === 'assistant' && textAt(fields, 'type') === 'message' && Array.isArray(fields['content'])
        ? 'message'
        : null,
    asked: readModelInput(fields),
  };
  return withResults(own, content, fields);
}

/** Returns the input that smolagents and CrewAI keep of an answer. */
function readModelInput({ model_input_messages: asked }: Fields): readonly ChatMessage[] | null {
  const messages = withToolNames(parseMessages(asked));
  return messages.length === 0 ? null : messages.map(toChatMessage);
}

/**
 * Returns the id of an answer that may come in pieces. An outer object may give all messages the id
 * of their conversation.
 */
function pieceId(fields: Fields, around: Fields): string | null {
  const id = textAt(fields, 'id');
  return id !== null && (fields !== around || /^(?:msg|message|resp|run|gen|chatcmpl)[-_]/u.test(id)) ? id : null;
}

/**
 * Returns a message and the tool results in it, each by itself. Results come before a user's text
 * and after a model's.
 */
function withResults(own: ParsedMessage, { results }: Content, fields: Fields): readonly ParsedMessage[] {
  if (own.role === 'tool') {
    const [listed] = listAtKey(fields, 'tool_call_ids');
    const answers =
      textAt(fields, 'tool_call_id', 'toolCallId', 'tool_use_id', 'call_id') ??
      textAt(fieldsAt(fields, 'additional_kwargs'), 'tool_call_id') ??
      textAt(fields, 'id', 'tool_id') ??
      (typeof listed === 'string' ? listed : null);
    const error = valueAt(fields, 'error');
    if (results.length === 0) {
      return [{ ...own, answers, text: resultWithError(own.text, error) }];
    }
    const made = results.map((one) => ({
      ...toToolMessage(one),
      name: one.name ?? own.name,
      answers: one.answers ?? answers,
    }));
    return own.text === '' ? made : [...made, { ...own, answers }];
  }
  if (results.length === 0) {
    return [own];
  }
  const made = results.map(toToolMessage);
  return own.role === 'assistant' ? [own, ...made] : own.text === '' ? made : [...made, own];
}

interface Unwrapped {
  readonly fields: Fields;
  /** Its type, if it has no role. */
  readonly type: string | null;
  /** The object that contains it. This object has the finish reason. */
  readonly around: Fields;
}

/** Returns the message within a choice, a candidate, a session's line, or a class of LangChain. */
function unwrapMessage(value: Fields): Unwrapped {
  if (isRecord(value['message'])) {
    return { ...unwrapMessage(value['message']), around: value };
  }
  if (isRecord(value['kwargs'])) {
    return { fields: value['kwargs'], type: readLangChainClass(value), around: value };
  }
  if (isRecord(value['data']) && textAt(value, 'type') !== null && 'content' in value['data']) {
    return { fields: value['data'], type: textAt(value, 'type'), around: value };
  }
  // A candidate of Gemini: {content: {role, parts}}.
  const { content } = value;
  if (isRecord(content) && Array.isArray(content['parts'])) {
    return { fields: { role: 'model', ...value, ...content, content: undefined }, type: null, around: value };
  }
  return { fields: value, type: textAt(value, 'type'), around: value };
}

/** Keys of a message's content. Cohere has its text under `message`. */
const BODIES = ['parts', 'contents', 'content', 'text', 'value', 'message'] as const;
/** Keys of lists of parts in LlamaIndex and Semantic Kernel. In other programs they hold other data. */
const PART_LISTS = ['blocks', 'items'] as const;
const REASONED = ['reasoning_content', 'reasoning', 'thinking', 'reasoning_details', 'tool_plan', 'thoughts'] as const;
const GIVEN = [...REASONED, 'refusal'] as const;

/** Returns the content of a message, or null if it has no key for content. */
function contentOf(fields: Fields, kwargs: Fields): Content | null {
  const bodies = listMessageBodies(fields);
  const results = listAtKey(fields, 'tool_results').filter(isRecord);
  const calls = [fields['tool_calls'], fields['toolCalls'], fields['invalid_tool_calls']].filter(Array.isArray);
  const called: readonly unknown[] = calls.some((list) => list.length > 0)
    ? calls.flat()
    : listAtKey(kwargs, 'tool_calls');
  const single = [fields['function_call'], kwargs['function_call']].find(isRecord) ?? namedCall(fields);
  const audio = fieldsAt(fields, 'audio');
  const isAny =
    bodies.length > 0 ||
    GIVEN.some((key) => key in fields && fields[key] !== undefined) ||
    calls.length > 0 ||
    results.length > 0 ||
    single !== undefined ||
    'transcript' in audio;
  if (!isAny) {
    return null;
  }
  const content = emptyContent();
  addReasoned(content, fields, kwargs);
  addBody(content, fields, bodies);
  for (const refusal of [fields['refusal'], kwargs['refusal'], audio['transcript']]) {
    addPart(content, refusal);
  }
  // A call that is both among the parts and beside them counts once. Two calls in a list count
  // twice, even with one id.
  const inParts = new Set(content.calls.keys());
  for (const call of called) {
    const id = isRecord(call) ? textAt(call, 'call_id', 'id', 'toolCallId') : null;
    if (id === null || !inParts.has(id)) {
      addCall(content, parseIfJson(call));
    }
  }
  if (called.length === 0 && single !== undefined) {
    addCall(content, single);
  }
  for (const result of results) {
    addResult(content, result);
  }
  return content;
}

/** Returns the only tool call in the form of OpenInference, or undefined. */
function namedCall(fields: Fields): Fields | undefined {
  const name = textAt(fields, 'function_call_name');
  return name === null ? undefined : { name, arguments: fields['function_call_arguments_json'] };
}

/** Adds the reasoning beside a message's text. Of several repeated forms, one is read. */
function addReasoned(content: Content, fields: Fields, kwargs: Fields): void {
  const before = content.texts.length;
  addPart(content, valueAt(fields, ...REASONED) ?? valueAt(kwargs, 'reasoning_content', 'reasoning'));
  content.thoughts.push(...content.texts.slice(before));
}

/** Returns the bodies of a message, some of which may be empty. */
const listMessageBodies = (fields: Fields): readonly unknown[] => [
  ...BODIES.map((key) => fields[key]).filter((body) => body !== undefined),
  ...PART_LISTS.map((key) => fields[key]).filter((parts) => Array.isArray(parts) && parts.every(isKnownPart)),
];

/** Adds the text or the parts. If an entry has both, the second adds only what the first lacks. */
function addBody(content: Content, fields: Fields, bodies: readonly unknown[]): void {
  const [first, ...others] = bodies.filter((body) => body !== null && body !== '');
  addPart(content, first);
  for (const other of others) {
    if (typeof other === 'string' && !contains(content.texts.join('\n'), other.trim())) {
      content.texts.push(other);
    } else if (Array.isArray(other)) {
      addBeside(content, other);
    }
  }
  // SWE-agent repeats a part of the content as the thought. AutoGen keeps the thought beside the
  // content.
  const thought = textAt(fields, 'thought');
  if (thought !== null && !contains(content.texts.join('\n'), thought.trim())) {
    content.texts.unshift(thought);
    content.thoughts.push(thought);
  }
  for (const from of [fields, fieldsAt(fields, 'provider_specific_fields')]) {
    addQuotes(content, from);
  }
}

/** Adds the lines of parts that the content lacks. Texts may be too long or many to compare. */
function addBeside(content: Content, parts: readonly unknown[]): void {
  const beside = emptyContent();
  addPart(beside, parts);
  const linesOf = (text: string): readonly string[] => text.split('\n').map((line) => line.trim());
  const said = new Set(content.texts.flatMap(linesOf));
  const gave = new Set(content.results.map(({ text }) => text));
  for (const text of beside.texts.filter((one) => !linesOf(one).every((line) => said.has(line)))) {
    content.texts.push(text);
  }
  for (const result of beside.results.filter(({ text }) => !gave.has(text))) {
    content.results.push(result);
  }
  for (const [id, name] of beside.calls) {
    content.calls.set(id, name);
  }
}

/**
 * Returns the class name that replaces the role in LangChain's own form: `["langchain_core",
 * "messages", "AIMessage"]`.
 */
function readLangChainClass({ lc, id }: Fields): string | null {
  const last: unknown = lc !== undefined && Array.isArray(id) ? id.at(-1) : null;
  return typeof last === 'string' ? last.replace(/Message(?:Chunk)?$/u, '') : null;
}

/**
 * Returns the role of an entry. Any unknown role, or a source that is no user, is an agent's.
 * @param type of the entry, which is used if it has no role
 */
function findRole(named: string | null, type: string | null, source: string | null): ChatMessage['role'] | null {
  if (named !== null) {
    return ROLES.get(named.toLowerCase()) ?? (named.length <= LONGEST_ROLE ? 'assistant' : null);
  }
  // AutoGen's UserMessage has a source, which is more specific.
  const typed = ROLES.get((source === null ? type?.replace(/Message(?:Chunk)?$/u, '') : type)?.toLowerCase() ?? '');
  return typed ?? (source === null ? null : (ROLES.get(source.toLowerCase()) ?? 'assistant'));
}

/** Returns the first text of a user, or else the system prompt. */
export function findQuestion(messages: readonly ChatMessage[]): string {
  const asked = messages.find(({ role }) => role === 'user') ?? messages[0];
  return asked?.text ?? '';
}

/** Adds the tool's name to each result whose call is in an earlier message. */
export function withToolNames(messages: readonly ParsedMessage[]): ParsedMessage[] {
  if (!messages.some(({ role, name }) => role === 'tool' && name === null)) {
    return [...messages];
  }
  const called = new Map(messages.flatMap(({ calls }) => [...calls]));
  return messages.map((message) =>
    message.role === 'tool' && message.name === null
      ? { ...message, name: (message.answers === null ? undefined : called.get(message.answers)) ?? null }
      : message,
  );
}

/**
 * Returns the message for instructions that have their own key: a text, parts, or an object with
 * parts. Returns none for undefined.
 */
export function parseInstructions(instructions: unknown): readonly ParsedMessage[] {
  const content = isRecord(instructions) ? (instructions['parts'] ?? [instructions]) : instructions;
  return content === undefined || content === null || content === ''
    ? []
    : parseMessages([{ role: 'system', content }]);
}

export const toChatMessage = ({ role, name, text }: ChatMessage): ChatMessage => ({ role, name, text });

/** Returns a message that holds only a text. */
export const plainMessage = (role: ChatMessage['role'], text: unknown): ParsedMessage => plain(role, asText(text));
