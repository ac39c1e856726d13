/**
 * Reads the content of chat messages in the forms of OpenAI, Anthropic, Gemini, Bedrock, LangChain,
 * pydantic-ai, the AI SDK and OpenTelemetry. No content is dropped: a part of an unknown form is
 * shown as JSON.
 */

import { isRecord } from '../shared/guard.ts';
import { contains } from '../shared/text/contains.ts';
import {
  asText,
  fieldsAt,
  jsonWithoutBytes,
  listAtKey,
  parseStructured,
  textAt,
  valueAt,
  type Fields,
} from './fields.ts';

/** A tool's result within a message. */
export interface ToolResult {
  /** The id of the call that it answers, or null if the message does not say. */
  readonly answers: string | null;
  readonly name: string | null;
  readonly text: string;
}

export interface Content {
  /** Texts, and a line for each tool call, in order. */
  readonly texts: string[];
  /** The texts that are reasoning. */
  readonly thoughts: string[];
  /** The names of the called tools, by the id of the call. */
  readonly calls: Map<string, string>;
  readonly results: ToolResult[];
}

export const emptyContent = (): Content => ({ texts: [], thoughts: [], calls: new Map(), results: [] });

/** The most levels of nested parts that are read. */
const MOST_DEPTH = 12;

const CALL = /(?:^|[_.-])(?:call|use)$|^(?:tool|function)(?:Call|Use)$/u;
const RESULT =
  /(?:^|[_.-])(?:result|output|response|return|error)$|^(?:tool|function)(?:Result|Response)$|^codeExecutionResult$/u;
/** Search results are texts that a user supplies. */
const NO_RESULT: ReadonlySet<string> = new Set(['search_result', 'web_search_result']);
const MEDIA =
  /^(?:(?:input_|output_)?(?:image|audio|video|file|media)(?:_url|-url)?|blob|uri|binary|inlineData|inline_data|fileData|file_data)$/u;
/** Markers of a stream's steps, which have no content. */
const MARKS: ReadonlySet<string> = new Set(['step-start', 'step_start', 'cachePoint', 'redacted_thinking']);
/** Keys that hold a part as a whole: of Gemini, Bedrock, the AI SDK and Haystack. */
const WRAPPERS = [
  'functionCall',
  'function_call',
  'functionResponse',
  'function_response',
  'toolUse',
  'toolResult',
  'toolCall',
  'tool_call',
  'tool_call_result',
  'toolInvocation',
  'reasoningContent',
  'citationsContent',
  'executableCode',
  'codeExecutionResult',
  'inlineData',
  'inline_data',
  'fileData',
  'file_data',
  'image',
  'document',
  'video',
] as const;
const TEXTS = [
  'text',
  'content',
  'reasoning',
  'reasoning_text',
  'thinking',
  'refusal',
  'transcript',
  'markdown',
] as const;
/** Keys for the type of a part. pydantic-ai, LlamaIndex and Semantic Kernel have their own. */
const KINDS = ['type', 'part_kind', 'block_type', 'content_type'] as const;
const ABOUT_CALL: ReadonlySet<string> = new Set([
  ...KINDS,
  'id',
  'call_id',
  'toolCallId',
  'tool_call_id',
  'toolUseId',
  'status',
  'state',
  'name',
  'toolName',
  'tool_name',
  'tool',
  'index',
  'output',
  'outputs',
  'result',
  'results',
  'error',
  'errorText',
  'thoughtSignature',
  'server_label',
  'caller',
  'cache_control',
]);

/** The id of the answered call comes first, because an item of a response also has an id of its own. */
const CALL_IDS = ['call_id', 'id', 'toolCallId', 'tool_call_id', 'toolUseId', 'tool_use_id', 'tool_id'] as const;
const ANSWERED_IDS = ['tool_use_id', 'toolUseId', 'tool_call_id', 'toolCallId', 'call_id', 'id', 'tool_id'] as const;
const NAMES = ['name', 'toolName', 'tool_name', 'tool'] as const;
const ARGUMENTS = ['arguments', 'args', 'input', 'parameters', 'arguments_json', 'tool_kwargs'] as const;
const RESULTS = [
  'response',
  'result',
  'output',
  'outputs',
  'content',
  'errorText',
  'error',
  'text',
  'results',
] as const;

/** Writes a tool call as a line of text: `search {"query": "..."}`. */
export const formatCall = (name: string, given: unknown): string => `${name} ${asText(given)}`.trimEnd();

/** Returns true for a missing value, also in the form of LangGraph's checkpoints. */
const isNothing = (value: unknown): boolean =>
  value === null || value === undefined || (isRecord(value) && value['lc'] === 2 && value['type'] === 'undefined');

/** Adds a tool call. Some forms keep the result in the call, and then it is added too. */
export function addCall(content: Content, call: unknown, type = 'tool_call'): void {
  if (isNothing(call)) {
    return;
  }
  if (!isRecord(call)) {
    content.texts.push(asText(call));
    return;
  }
  const inner = [call['tool_call'], call['toolCall']].find(isRecord) ?? call;
  const of = isRecord(inner['function']) ? inner['function'] : inner;
  const name =
    textAt(of, ...NAMES, 'function') ??
    (/^(?:tool|function)[_-]?(?:call|use)$/iu.test(type) ? 'tool' : type.replace(/^tool-|[_-]?call$/gu, ''));
  const id = textAt(inner, ...CALL_IDS) ?? textAt(call, ...CALL_IDS);
  // A call without an id is found by the name of its tool.
  content.calls.set(id ?? `#${content.calls.size}`, name);
  const given = valueAt(of, ...ARGUMENTS) ?? (of === inner ? findOtherArguments(inner) : undefined);
  content.texts.push(formatCall(name, given));
  const gave = valueAt(inner, 'output', 'outputs', 'result', 'results', 'errorText', 'error');
  if (gave !== undefined && of === inner) {
    content.results.push({ answers: id, name, text: resultText(gave) });
  }
}

/** Returns the fields of a call under keys of its own, such as a query, or undefined. */
function findOtherArguments(call: Fields): unknown {
  const rest = Object.entries(call).filter(
    ([key, value]) => !ABOUT_CALL.has(key) && value !== null && typeof value !== 'boolean',
  );
  return rest.length === 0 ? undefined : Object.fromEntries(rest);
}

/** Adds a tool's result. Haystack and Cohere keep the call beside it. */
export function addResult(content: Content, part: Fields): void {
  const given = valueAt(part, ...RESULTS);
  const call = [part['origin'], part['call']].find(isRecord) ?? {};
  content.results.push({
    answers: textAt(part, ...ANSWERED_IDS) ?? textAt(call, ...CALL_IDS),
    name: textAt(part, ...NAMES) ?? textAt(call, ...NAMES),
    text: resultText(given),
  });
}

/** Returns a tool's result as text: parts as in messages, without wrappers, all else as JSON. */
export function resultText(given: unknown, depth = 0): string {
  if (depth > MOST_DEPTH) {
    return asText(given);
  }
  if (Array.isArray(given) && given.some(isPart)) {
    return joinPartsText(given, depth + 1);
  }
  if (isRecord(given)) {
    // The AI SDK wraps results: {type: 'text' | 'json' | 'content', value}.
    if ('value' in given && typeof given['type'] === 'string') {
      return resultText(given['value'], depth + 1);
    }
    if (isPart(given)) {
      return joinPartsText([given], depth + 1);
    }
    const keys = Object.keys(given);
    if (keys.length === 1 && (keys[0] === 'content' || keys[0] === 'output' || keys[0] === 'result')) {
      return resultText(given[keys[0]], depth + 1);
    }
    const message = textAt(given, 'message');
    if (message !== null && keys.every((key) => ['message', 'type', 'name', 'code'].includes(key))) {
      return message;
    }
  }
  return typeof given === 'string' ? given : given === undefined || given === null ? '' : jsonWithoutBytes(given);
}

/** Types of the parts of results. Any other object is the tool's own output, whatever its keys are. */
const PART = /^(?:(?:input_|output_)?(?:text|image|audio|file)(?:_url)?|resource|resource_link|document|refusal)$/u;
const isPart = (value: unknown): boolean =>
  isRecord(value) &&
  ((typeof value['type'] === 'string' && PART.test(value['type'])) ||
    (Object.keys(value).length === 1 && (typeof value['text'] === 'string' || 'json' in value)));

/** Returns the content of parts as one text. */
function joinPartsText(parts: readonly unknown[], depth: number): string {
  const content = emptyContent();
  for (const part of parts) {
    addPart(content, part, depth);
  }
  return [...content.texts, ...content.results.map(({ text }) => text)].filter((text) => text !== '').join('\n');
}

/** Returns true if a value has the type of a part, or a key that holds a part. */
export function isKnownPart(value: unknown): boolean {
  const kind = isRecord(value) ? textAt(value, 'type') : null;
  return (
    isRecord(value) &&
    (textAt(value, 'block_type', 'content_type') !== null ||
      WRAPPERS.some((key) => isRecord(value[key])) ||
      (kind !== null && [PLAIN, CALL, RESULT, MEDIA].some((pattern) => pattern.test(kind))))
  );
}
const PLAIN = /^(?:(?:input_|output_)?text|thinking|reasoning|refusal|document)$/u;

/** Adds the content of a part, or of a list of parts. */
export function addPart(content: Content, part: unknown, depth = 0): void {
  if (isNothing(part)) {
    return;
  }
  if (typeof part !== 'object') {
    content.texts.push(asText(part));
    return;
  }
  if (depth > MOST_DEPTH) {
    content.texts.push(jsonWithoutBytes(part));
    return;
  }
  if (Array.isArray(part)) {
    for (const one of part) {
      addPart(content, one, depth + 1);
    }
    return;
  }
  if (isRecord(part)) {
    addObject(content, part, depth);
  }
}

function addObject(content: Content, part: Fields, depth: number): void {
  const given = isRecord(part['message_content']) ? part['message_content'] : part;
  const kind = textAt(given, ...KINDS);
  const wrapper =
    kind !== null && !(kind in given)
      ? kind === 'tool-invocation'
        ? 'toolInvocation'
        : undefined
      : WRAPPERS.find((key) => isRecord(given[key]));
  const type = wrapper ?? kind ?? 'text';
  const inner = wrapper !== undefined && isRecord(given[wrapper]) ? given[wrapper] : given;
  const beside = inner === given ? null : textAt(given, ...TEXTS);
  if (beside !== null) {
    content.texts.push(beside);
  }
  if (type === 'toolInvocation' || /^(?:tool-(?!call|result|return|error|approval)|dynamic-tool$)/u.test(type)) {
    addCall(content, inner, type);
  } else if (CALL.test(type)) {
    addCall(content, inner, type);
  } else if (RESULT.test(type) && !NO_RESULT.has(type) && !(type === 'error' && !hasId(inner))) {
    addResult(content, inner);
  } else if (MEDIA.test(type)) {
    addMedia(content, type, inner);
  } else if (type === 'reasoning' || type === 'reasoningContent' || type === 'thinking') {
    addReasoning(content, inner, depth);
  } else if (!MARKS.has(type)) {
    const before = content.texts.length;
    addText(content, type, inner, depth);
    // Gemini marks a text as reasoning.
    if (inner['thought'] === true) {
      content.thoughts.push(...content.texts.slice(before));
    }
  }
}

const hasId = (part: Fields): boolean => textAt(part, ...ANSWERED_IDS) !== null;

/** Adds the place of a picture, a sound or a file, with its text if it has one. */
function addMedia(content: Content, type: string, part: Fields): void {
  const [media, text] = [mediaText(type, part), textAt(part, 'text')];
  content.texts.push(...(text === null ? [media] : media === `[${type}]` ? [text] : [media, text]));
}

/** Returns the transcript or the place of a picture, a sound or a file, but not its bytes. */
function mediaText(type: string, part: Fields): string {
  const nested = [
    part[type],
    part['audio'],
    part['image_url'],
    part['file'],
    part['source'],
    part['input_audio'],
  ].filter(isRecord);
  for (const one of [part, ...nested]) {
    const transcript = textAt(one, 'transcript');
    if (transcript !== null) {
      return transcript;
    }
  }
  const place = [part, ...nested].map((one) =>
    textAt(one, 'url', 'uri', 'image_url', 'fileUri', 'file_uri', 'filename'),
  );
  const named = place.find((one) => one !== null && !one.startsWith('data:'));
  return named === undefined || named === null ? `[${type}]` : `[${type}] ${named}`;
}

/** Adds reasoning and its summary. Encrypted reasoning has no content. */
function addReasoning(content: Content, part: Fields, depth: number): void {
  const keys = ['reasoningText', 'text', 'thinking', 'reasoning', 'content', 'summary'] as const;
  const before = content.texts.length;
  for (const value of new Set(keys.map((key) => part[key]))) {
    addPart(content, value, depth + 1);
  }
  content.thoughts.push(...content.texts.slice(before));
}

/** Returns the texts without the reasoning. */
export function joinSpokenText({ texts, thoughts }: Content): string {
  if (thoughts.length === 0) {
    return texts.filter((text) => text !== '').join('\n');
  }
  const left = Map.groupBy(thoughts, (thought) => thought);
  const spoken = texts.filter((text) => left.get(text)?.pop() === undefined);
  return spoken.filter((text) => text !== '').join('\n');
}

/** Parts whose titles the model also reads. */
const TITLED: ReadonlySet<string> = new Set(['document', 'search_result', 'web_search_result', 'citable']);

function addText(content: Content, type: string, part: Fields, depth: number): void {
  const before = content.texts.length + content.results.length;
  if (TITLED.has(type)) {
    for (const value of [part['title'], part['context']]) {
      addPart(content, value, depth + 1);
    }
  }
  const seen: unknown[] = [];
  for (const key of TEXTS) {
    const value = part[key];
    if (value !== undefined && !seen.includes(value)) {
      seen.push(value);
      addPart(content, openThreadText(value), depth + 1);
    }
  }
  addQuotes(content, part, depth + 1);
  if (type === 'executableCode') {
    addPart(content, part['code'], depth + 1);
  }
  if (isRecord(part['source'])) {
    // A document of Anthropic is read as text, unless it holds bytes.
    const { data, content: within, type: kind } = part['source'];
    addPart(content, kind === 'text' ? data : within, depth + 1);
  }
  if (content.texts.length + content.results.length > before) {
    return;
  }
  if ('json' in part) {
    content.texts.push(jsonWithoutBytes(part['json']));
    return;
  }
  const rest = Object.entries(part).filter(
    ([key, value]) => !isKind(key) && value !== null && value !== '' && !isText(key),
  );
  if (type !== 'text') {
    content.texts.push(rest.length === 0 ? `[${type}]` : `[${type}] ${jsonWithoutBytes(Object.fromEntries(rest))}`);
  } else if (rest.length > 0 && !TEXTS.some((key) => key in part)) {
    content.texts.push(jsonWithoutBytes(Object.fromEntries(rest)));
  }
}

const isText = (key: string): boolean => (TEXTS as readonly string[]).includes(key);
const isKind = (key: string): boolean => (KINDS as readonly string[]).includes(key);

/** Opens the text of a message of OpenAI's assistants: `{value, annotations}`. */
const openThreadText = (value: unknown): unknown =>
  isRecord(value) &&
  typeof value['value'] === 'string' &&
  Object.keys(value).every((key) => key === 'value' || key === 'annotations')
    ? { text: value['value'], annotations: value['annotations'] }
    : value;

/**
 * Adds an answer's quotes of its sources, each in a line of its own that names the source. The log
 * has no other record of pages that a server read. Annotations of other types are not part of the
 * answer.
 */
export function addQuotes(content: Content, from: Fields, depth = 0): void {
  if (!('annotations' in from || 'citations' in from)) {
    return;
  }
  const noted = listAtKey(from, 'annotations').filter(
    (one) => isRecord(one) && /citation$/u.test(textAt(one, 'type') ?? ''),
  );
  for (const one of [...listAtKey(from, 'citations').flat(), ...noted].filter(isRecord)) {
    const quote =
      textAt(one, 'cited_text', 'citedText', 'quote') ??
      textAt(fieldsAt(one, 'file_citation'), 'quote') ??
      joinPartsText(listAtKey(one, 'sourceContent'), depth);
    const title = textAt(one, 'document_title', 'title');
    if (quote !== '') {
      content.texts.push(`[citation] ${title === null ? '' : `${title}: `}${quote}`);
    }
  }
}

/** Returns the message of an error, with its further data, or null if there is none. */
export function formatError(error: unknown): string | null {
  if (!isRecord(error)) {
    return typeof error === 'string' && error !== '' ? error : null;
  }
  const [message, data] = [textAt(error, 'message', 'type') ?? 'it failed', error['data']];
  const more = isRecord(data) ? (textAt(data, 'error') ?? jsonWithoutBytes(data)) : asText(data);
  return more === '' || contains(message, more) ? message : `${message}: ${more}`;
}

/** Returns a tool's result, with the error message if the result does not contain it. */
export function resultWithError(given: unknown, error: unknown): string {
  const said = error === true ? 'it failed' : error === false ? '' : openResultParts(error);
  const [text, why] = [resultText(openResultParts(given)), resultText(said)];
  return why === '' || contains(text, why) ? text : text === '' ? why : `${text}\n${why}`;
}

/** Opens results that are parts as JSON. Any other JSON is the result itself. */
function openResultParts(given: unknown): unknown {
  const value = parseStructured(given);
  return Array.isArray(value) ? (value.some(isPart) ? value : given) : isRecord(value) && isPart(value) ? value : given;
}
