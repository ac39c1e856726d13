/**
 * Messages of chats in the forms in which programs and servers write them: roles with text or parts, tool calls inside
 * or beside the text, items of OpenAI's responses, LangChain's types, AutoGen's sources, pydantic-ai's parts,
 * ShareGPT's speakers. One entry may be several messages: the results of two tools and a person's words are three.
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
  spokenIn,
  type Content,
  type ToolResult,
} from './content.ts';
import { asText, fieldsAt, listAtKey, parsedJson, textAt, valueAt, type Fields } from './fields.ts';
import { finishOf, reasonIn } from './finish.ts';
import { programMessages, withTasks } from './programs.ts';

/** A message of a chat as a model is asked with it. */
export interface ChatMessage {
  readonly role: 'system' | 'user' | 'assistant' | 'tool';
  /** Who said it, or which tool; null where the log does not say. */
  readonly name: string | null;
  /** Its text, with a line for each tool that it calls. */
  readonly text: string;
}

/** A message with what only its own log needs of it. */
export interface ParsedMessage extends ChatMessage {
  /** The names of the tools that it calls, by the id of the call. */
  readonly calls: ReadonlyMap<string, string>;
  /** The call that it is the result of; null for none. */
  readonly answers: string | null;
  readonly finish: 'end' | 'length';
  /** What entries that are pieces of one message share; null where they share nothing. */
  readonly id: string | null;
  /** The entry that it is, which may say what was measured of it; null for a part of one. */
  readonly about: Fields | null;
  /** Which item of a response it is, of which several are one message; null for any other. */
  readonly item: 'reasoning' | 'message' | 'call' | null;
  /** Its text without what was only thought; empty where it says nothing else. */
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
/** Roles that say which tool it was; mini-swe-agent ends with what its environment says at the exit. */
const TOOLS: ReadonlySet<string> = new Set(['observation', 'environment', 'ipython', 'exit']);
/** Characters of a role that is the name of an agent. */
const LONGEST_ROLE = 100;

/** Events of AutoGen that are no messages: questions to a person, memory, and pieces of what a later message says. */
const NO_MESSAGES: readonly unknown[] = [
  'UserInputRequestedEvent',
  'MemoryQueryEvent',
  'ModelClientStreamingChunkEvent',
];
const AUTOGEN_RESULTS: readonly unknown[] = ['ToolCallExecutionEvent', 'FunctionExecutionResultMessage'];
/** Items of OpenAI's responses: `function_call`, `web_search_call`, `function_call_output`, `reasoning`, `message`;
 * Mistral has `function.call` and `function.result`. */
const CALL_ITEM = /^(?:\w+[_.])?call$/u;
const OUTPUT_ITEM = /_call_output$|^function\.result$/u;
/** Parts of pydantic-ai's messages, by what they are. */
const PYDANTIC: ReadonlyMap<unknown, ChatMessage['role']> = new Map([
  ['system-prompt', 'system'],
  ['user-prompt', 'user'],
  ['tool-return', 'tool'],
  ['retry-prompt', 'tool'],
]);

/** The messages of a list, the pieces of one message together; entries that are none are left out. */
export const parsedMessages = (value: unknown): ParsedMessage[] =>
  Array.isArray(value) ? joined(withTasks(value).flatMap(messagesOf)) : [];

/** A message in any of the forms, the first of several that a value is; null for a value that is none. */
export const parsedMessage = (value: unknown): ParsedMessage | null => parsedMessages([value])[0] ?? null;

/** All that one answer of a model says, as the one message that it is, and what tools gave meanwhile. */
export function answerOf(messages: readonly ParsedMessage[]): {
  readonly said: ParsedMessage | null;
  readonly results: readonly ParsedMessage[];
} {
  const own = messages.filter(({ role }) => role === 'assistant');
  return {
    said: own.length === 0 ? null : own.reduce(together),
    results: messages.filter(({ role }) => role === 'tool'),
  };
}

/** Pieces of one message: of one id, or items of one response. */
function joined(messages: readonly ParsedMessage[]): ParsedMessage[] {
  const made: ParsedMessage[] = [];
  let last: ParsedMessage | undefined;
  for (const message of messages) {
    const before = made.at(-1);
    const isPiece =
      before?.role === 'assistant' &&
      message.role === 'assistant' &&
      ((message.id !== null && message.id === before.id) || follows(last?.item ?? null, message.item));
    if (isPiece) {
      made[made.length - 1] = together(before, message);
    } else {
      made.push(message);
    }
    last = message;
  }
  return made;
}

/** Whether an item goes on with the message of the one before: reasoning, a text, and then calls, several of them. */
const follows = (before: ParsedMessage['item'], item: ParsedMessage['item']): boolean =>
  before === 'reasoning' ? item !== null : before === null ? false : item === 'call';

/** Two pieces of one message. */
export const together = (first: ParsedMessage, second: ParsedMessage): ParsedMessage => ({
  ...first,
  name: first.name ?? second.name,
  text: inLines(first.text, second.text),
  spoken: inLines(first.spoken, second.spoken),
  calls: new Map([...first.calls, ...second.calls]),
  finish: second.finish,
});

const inLines = (...texts: readonly string[]): string => texts.filter((text) => text !== '').join('\n');

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

/** The messages that an entry of a list is; none for what is no message. */
function messagesOf(entry: unknown): readonly ParsedMessage[] {
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
    return content.filter(isRecord).map((one) => resultMessage(one, one['content'], one['error']));
  }
  // AutoGen 0.2 joins the results of all tools in the content, and has them one by one beside it.
  const responses = listAtKey(entry, 'tool_responses').filter(isRecord);
  if (responses.length > 0) {
    return responses.map((one) => resultMessage(one, one['content'], null));
  }
  // A line of a session of Codex.
  if (type === 'response_item' && isRecord(entry['payload'])) {
    return messagesOf(entry['payload']);
  }
  const written = programMessages(entry);
  if (written !== null) {
    return written.flatMap(general);
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
  return general(one);
}

/** An item of a response: a call, what it gave, or reasoning. */
function itemOf(item: Fields): readonly ParsedMessage[] {
  const content = emptyContent();
  addPart(content, item);
  const text = content.texts.filter((one) => one !== '').join('\n');
  const results = content.results.map(toolMessage);
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

const toolMessage = ({ answers, name, text }: ToolResult): ParsedMessage => ({ ...plain('tool', text), name, answers });

const resultMessage = (from: Fields, given: unknown, error: unknown): ParsedMessage => ({
  ...plain('tool', resultWithError(given, error)),
  name: textAt(from, 'name', 'tool_name', 'toolName'),
  answers: textAt(from, 'call_id', 'tool_call_id', 'toolCallId', 'id'),
});

function pydanticMessages(kind: string, parts: readonly unknown[], entry: Fields): readonly ParsedMessage[] {
  if (kind === 'response') {
    return general({ ...entry, role: 'assistant' });
  }
  return parts.filter(isRecord).flatMap((part): readonly ParsedMessage[] => {
    const role = PYDANTIC.get(part['part_kind']) ?? 'user';
    return role === 'tool' && textAt(part, 'tool_name') !== null
      ? [resultMessage(part, part['content'], null)]
      : general({ role: role === 'tool' ? 'user' : role, content: part['content'] });
  });
}

/** An event of OpenHands: what somebody does, or what came of it; null for a value that is none. */
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
    return general({ role: action === 'system' ? action : source, content: said });
  }
  // What the environment does by itself, such as a change of its state, is no message.
  return source === 'agent'
    ? general({ role: 'assistant', content: thought ?? said, tool_calls: [{ name: action, arguments: given }] })
    : [];
}

/** A message with a role, in the wrappers of its library. */
function general(value: Fields): readonly ParsedMessage[] {
  const { fields, type, around } = unwrapped(value);
  const named = textAt(fields, 'role') ?? textAt(fields, 'from') ?? textAt(fieldsAt(fields, 'author'), 'role');
  const source = textAt(fields, 'source', 'sender', 'speaker') ?? textAt(fields, 'author');
  const role = roleOf(named, type ?? textAt(around, 'role', 'type'), source);
  const kwargs = fieldsAt(fields, 'additional_kwargs');
  const content = contentOf(fields, kwargs);
  if (role === null || content === null) {
    return [];
  }
  const isAgent = named !== null && !ROLES.has(named.toLowerCase());
  // Of a person's words and of results `agent` says who got them.
  const agents = role === 'assistant' || role === 'system' ? ['agent', 'agent_name', 'agentName'] : [];
  const name =
    textAt(fields, 'name', ...agents, 'tool_name') ??
    textAt(fieldsAt(fields, 'author'), 'name') ??
    source ??
    (isAgent || (role === 'tool' && TOOLS.has(named?.toLowerCase() ?? '')) ? named : null);
  const reason = reasonIn(fields) ?? reasonIn(around) ?? reasonIn(fieldsAt(fields, 'response_metadata'));
  const own: ParsedMessage = {
    ...plain(role, inLines(...content.texts)),
    spoken: spokenIn(content),
    name,
    calls: content.calls,
    finish: finishOf(reason),
    id: role === 'assistant' ? pieceId(fields, around) : null,
    about: role === 'assistant' ? fields : null,
    item:
      role === 'assistant' && textAt(fields, 'type') === 'message' && Array.isArray(fields['content'])
        ? 'message'
        : null,
    asked: askedOf(fields),
  };
  return withResults(own, content, fields);
}

/** What smolagents and CrewAI keep of what an answer was asked with. */
function askedOf({ model_input_messages: asked }: Fields): readonly ChatMessage[] | null {
  const messages = withToolNames(parsedMessages(asked));
  return messages.length === 0 ? null : messages.map(chatOnly);
}

/** The id of an answer that may come in pieces; what is around it may give all messages of a conversation one id. */
function pieceId(fields: Fields, around: Fields): string | null {
  const id = textAt(fields, 'id');
  return id !== null && (fields !== around || /^(?:msg|message|resp|run|gen|chatcmpl)[-_]/u.test(id)) ? id : null;
}

/** A message and what tools gave in it, each by itself: results come before a person's words, after a model's. */
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
      ...toolMessage(one),
      name: one.name ?? own.name,
      answers: one.answers ?? answers,
    }));
    return own.text === '' ? made : [...made, { ...own, answers }];
  }
  if (results.length === 0) {
    return [own];
  }
  const made = results.map(toolMessage);
  return own.role === 'assistant' ? [own, ...made] : own.text === '' ? made : [...made, own];
}

interface Unwrapped {
  readonly fields: Fields;
  /** What it is where it names no role. */
  readonly type: string | null;
  /** What is around it: how it ended. */
  readonly around: Fields;
}

/** The message within a choice, a candidate, a session's line, or a class of LangChain. */
function unwrapped(value: Fields): Unwrapped {
  if (isRecord(value['message'])) {
    return { ...unwrapped(value['message']), around: value };
  }
  if (isRecord(value['kwargs'])) {
    return { fields: value['kwargs'], type: classOf(value), around: value };
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

/** Keys of what a message says; Cohere has its text under `message`. */
const BODIES = ['parts', 'contents', 'content', 'text', 'value', 'message'] as const;
/** Keys of parts of LlamaIndex and Semantic Kernel, under which others have what is no part. */
const PART_LISTS = ['blocks', 'items'] as const;
const REASONED = ['reasoning_content', 'reasoning', 'thinking', 'reasoning_details', 'tool_plan', 'thoughts'] as const;
const GIVEN = [...REASONED, 'refusal'] as const;

/** All that a message says; null where it has no key that could say anything. */
function contentOf(fields: Fields, kwargs: Fields): Content | null {
  const bodies = bodiesOf(fields);
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
  // A call that stands among the parts and beside them is one; two of a list are two, also with one id.
  const inParts = new Set(content.calls.keys());
  for (const call of called) {
    const id = isRecord(call) ? textAt(call, 'call_id', 'id', 'toolCallId') : null;
    if (id === null || !inParts.has(id)) {
      addCall(content, parsedJson(call));
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

/** The one call of a tool as OpenInference writes it; undefined for none. */
function namedCall(fields: Fields): Fields | undefined {
  const name = textAt(fields, 'function_call_name');
  return name === null ? undefined : { name, arguments: fields['function_call_arguments_json'] };
}

/** Adds the reasoning that a message has beside its text. A message may repeat it in several forms: one is read. */
function addReasoned(content: Content, fields: Fields, kwargs: Fields): void {
  const before = content.texts.length;
  addPart(content, valueAt(fields, ...REASONED) ?? valueAt(kwargs, 'reasoning_content', 'reasoning'));
  content.thoughts.push(...content.texts.slice(before));
}

/** The bodies that a message has, some of which may be empty. */
const bodiesOf = (fields: Fields): readonly unknown[] => [
  ...BODIES.map((key) => fields[key]).filter((body) => body !== undefined),
  ...PART_LISTS.map((key) => fields[key]).filter((parts) => Array.isArray(parts) && parts.every(isKnownPart)),
];

/** The text or the parts; of an entry that has both, what only one of them says too. */
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
  // SWE-agent repeats a part of the content as the thought; AutoGen has it beside the content.
  const thought = textAt(fields, 'thought');
  if (thought !== null && !contains(content.texts.join('\n'), thought.trim())) {
    content.texts.unshift(thought);
    content.thoughts.push(thought);
  }
  for (const from of [fields, fieldsAt(fields, 'provider_specific_fields')]) {
    addQuotes(content, from);
  }
}

/** Adds what parts say that the content does not say yet, line by line: each may be very long, or very many. */
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

/** LangChain's own form names a class where others have a role: `["langchain_core", "messages", "AIMessage"]`. */
function classOf({ lc, id }: Fields): string | null {
  const last: unknown = lc !== undefined && Array.isArray(id) ? id.at(-1) : null;
  return typeof last === 'string' ? last.replace(/Message(?:Chunk)?$/u, '') : null;
}

/**
 * The role that an entry names. A role of another name is an agent's, and so is a source that is no person.
 * @param type of the entry where it has no role
 */
function roleOf(named: string | null, type: string | null, source: string | null): ChatMessage['role'] | null {
  if (named !== null) {
    return ROLES.get(named.toLowerCase()) ?? (named.length <= LONGEST_ROLE ? 'assistant' : null);
  }
  // AutoGen's UserMessage has a source, which says more.
  const typed = ROLES.get((source === null ? type?.replace(/Message(?:Chunk)?$/u, '') : type)?.toLowerCase() ?? '');
  return typed ?? (source === null ? null : (ROLES.get(source.toLowerCase()) ?? 'assistant'));
}

/** What the first person asked; the system prompt where nobody did. */
export function questionOf(messages: readonly ChatMessage[]): string {
  const asked = messages.find(({ role }) => role === 'user') ?? messages[0];
  return asked?.text ?? '';
}

/** Messages with the tool of each result named, where an earlier message called it. */
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

/** Instructions that stand beside the messages: a text, parts, or an object with parts; none for undefined. */
export function systemOf(instructions: unknown): readonly ParsedMessage[] {
  const content = isRecord(instructions) ? (instructions['parts'] ?? [instructions]) : instructions;
  return content === undefined || content === null || content === ''
    ? []
    : parsedMessages([{ role: 'system', content }]);
}

export const chatOnly = ({ role, name, text }: ChatMessage): ChatMessage => ({ role, name, text });

/** A message that says a text alone. */
export const plainMessage = (role: ChatMessage['role'], text: unknown): ParsedMessage => plain(role, asText(text));
