/**
 * What the content of a chat message says, in the forms of OpenAI, Anthropic, Gemini, Bedrock, LangChain, pydantic-ai,
 * the AI SDK and OpenTelemetry. Nothing that is said is dropped: a part of an unknown form is shown as JSON.
 */
import { isRecord } from '../shared/guard.ts';
import { contains } from '../shared/text/contains.ts';
import { asText, fieldsAt, jsonWithoutBytes, listAtKey, structured, textAt, valueAt, type Fields } from './fields.ts';

/** What a tool gave, within a message. */
export interface ToolResult {
  /** The call that it is the result of; null where the message does not say. */
  readonly answers: string | null;
  readonly name: string | null;
  readonly text: string;
}

export interface Content {
  /** Texts, and a line for each tool that is called, in order. */
  readonly texts: string[];
  /** Those of the texts that were thought and not said. */
  readonly thoughts: string[];
  /** The names of the tools that are called, by the id of the call. */
  readonly calls: Map<string, string>;
  readonly results: ToolResult[];
}

export const emptyContent = (): Content => ({ texts: [], thoughts: [], calls: new Map(), results: [] });

/** Parts within parts. */
const MOST_DEPTH = 12;

const CALL = /(?:^|[_.-])(?:call|use)$|^(?:tool|function)(?:Call|Use)$/u;
const RESULT =
  /(?:^|[_.-])(?:result|output|response|return|error)$|^(?:tool|function)(?:Result|Response)$|^codeExecutionResult$/u;
/** What somebody found is a text that a person gives along. */
const NO_RESULT: ReadonlySet<string> = new Set(['search_result', 'web_search_result']);
const MEDIA =
  /^(?:(?:input_|output_)?(?:image|audio|video|file|media)(?:_url|-url)?|blob|uri|binary|inlineData|inline_data|fileData|file_data)$/u;
/** Marks of a stream's steps, which say nothing. */
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
/** Keys that say what a part is: pydantic-ai, LlamaIndex and Semantic Kernel have their own. */
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

/** What a result answers comes first: an item of a response has an id of its own, too. */
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

/** `search {"query": "..."}`: a tool that a message calls, as a line of its text. */
export const callLine = (name: string, given: unknown): string => `${name} ${asText(given)}`.trimEnd();

/** How LangGraph's checkpoints write a field that has no value. */
const isNothing = (value: unknown): boolean =>
  value === null || value === undefined || (isRecord(value) && value['lc'] === 2 && value['type'] === 'undefined');

/** Adds a call of a tool. Some forms keep the result in the call: it is added too. */
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
  const given = valueAt(of, ...ARGUMENTS) ?? (of === inner ? restOf(inner) : undefined);
  content.texts.push(callLine(name, given));
  const gave = valueAt(inner, 'output', 'outputs', 'result', 'results', 'errorText', 'error');
  if (gave !== undefined && of === inner) {
    content.results.push({ answers: id, name, text: resultText(gave) });
  }
}

/** What a call says under keys of its own, such as the query of a search; undefined for nothing. */
function restOf(call: Fields): unknown {
  const rest = Object.entries(call).filter(
    ([key, value]) => !ABOUT_CALL.has(key) && value !== null && typeof value !== 'boolean',
  );
  return rest.length === 0 ? undefined : Object.fromEntries(rest);
}

/** Adds what a tool gave; Haystack and Cohere keep the call beside it. */
export function addResult(content: Content, part: Fields): void {
  const given = valueAt(part, ...RESULTS);
  const call = [part['origin'], part['call']].find(isRecord) ?? {};
  content.results.push({
    answers: textAt(part, ...ANSWERED_IDS) ?? textAt(call, ...CALL_IDS),
    name: textAt(part, ...NAMES) ?? textAt(call, ...NAMES),
    text: resultText(given),
  });
}

/** What a tool gave as text: parts as messages have them, a wrapped value as what it wraps, all else as JSON. */
export function resultText(given: unknown, depth = 0): string {
  if (depth > MOST_DEPTH) {
    return asText(given);
  }
  if (Array.isArray(given) && given.some(isPart)) {
    return textOf(given, depth + 1);
  }
  if (isRecord(given)) {
    // The AI SDK wraps results: {type: 'text' | 'json' | 'content', value}.
    if ('value' in given && typeof given['type'] === 'string') {
      return resultText(given['value'], depth + 1);
    }
    if (isPart(given)) {
      return textOf([given], depth + 1);
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

/** Parts that results are made of. Any other object is what the tool gave, whatever its keys are called. */
const PART = /^(?:(?:input_|output_)?(?:text|image|audio|file)(?:_url)?|resource|resource_link|document|refusal)$/u;
const isPart = (value: unknown): boolean =>
  isRecord(value) &&
  ((typeof value['type'] === 'string' && PART.test(value['type'])) ||
    (Object.keys(value).length === 1 && (typeof value['text'] === 'string' || 'json' in value)));

/** All that parts say as one text. */
function textOf(parts: readonly unknown[], depth: number): string {
  const content = emptyContent();
  for (const part of parts) {
    addPart(content, part, depth);
  }
  return [...content.texts, ...content.results.map(({ text }) => text)].filter((text) => text !== '').join('\n');
}

/** Whether a value says itself that it is a part, by a kind that messages have or by a key that holds one. */
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

/** Takes in what a part says, or a list of parts. */
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
    // Gemini marks a text that was thought.
    if (inner['thought'] === true) {
      content.thoughts.push(...content.texts.slice(before));
    }
  }
}

const hasId = (part: Fields): boolean => textAt(part, ...ANSWERED_IDS) !== null;

/** Adds where a picture, a sound or a file is, with a text that it has. */
function addMedia(content: Content, type: string, part: Fields): void {
  const [media, text] = [mediaText(type, part), textAt(part, 'text')];
  content.texts.push(...(text === null ? [media] : media === `[${type}]` ? [text] : [media, text]));
}

/** Bytes of a picture or a sound are no text; what was heard in it, or where it is, is. */
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

/** The summary of the reasoning too; reasoning that only its maker can read says nothing. */
function addReasoning(content: Content, part: Fields, depth: number): void {
  const keys = ['reasoningText', 'text', 'thinking', 'reasoning', 'content', 'summary'] as const;
  const before = content.texts.length;
  for (const value of new Set(keys.map((key) => part[key]))) {
    addPart(content, value, depth + 1);
  }
  content.thoughts.push(...content.texts.slice(before));
}

/** What is said of the texts: all but what was thought. */
export function spokenIn({ texts, thoughts }: Content): string {
  if (thoughts.length === 0) {
    return texts.filter((text) => text !== '').join('\n');
  }
  const left = Map.groupBy(thoughts, (thought) => thought);
  const spoken = texts.filter((text) => left.get(text)?.pop() === undefined);
  return spoken.filter((text) => text !== '').join('\n');
}

/** Parts whose titles are read by the model too. */
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
      addPart(content, ofThread(value), depth + 1);
    }
  }
  addQuotes(content, part, depth + 1);
  if (type === 'executableCode') {
    addPart(content, part['code'], depth + 1);
  }
  if (isRecord(part['source'])) {
    // A document of Anthropic: its text, unless it is bytes.
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

/** The text of a message of a thread of OpenAI's assistants: `{value, annotations}`. */
const ofThread = (value: unknown): unknown =>
  isRecord(value) &&
  typeof value['value'] === 'string' &&
  Object.keys(value).every((key) => key === 'value' || key === 'annotations')
    ? { text: value['value'], annotations: value['annotations'] }
    : value;

/**
 * Adds what an answer quotes of its sources, each in a line of its own that names the source. Of pages that a server
 * read, nothing else of the log says what was in them. Other annotations are what somebody else says of the answer.
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
      textOf(listAtKey(one, 'sourceContent'), depth);
    const title = textAt(one, 'document_title', 'title');
    if (quote !== '') {
      content.texts.push(`[citation] ${title === null ? '' : `${title}: `}${quote}`);
    }
  }
}

/** The words of an error, which is a text or an object, with what is known of it beside its message; null for none. */
export function errorWords(error: unknown): string | null {
  if (!isRecord(error)) {
    return typeof error === 'string' && error !== '' ? error : null;
  }
  const [message, data] = [textAt(error, 'message', 'type') ?? 'it failed', error['data']];
  const more = isRecord(data) ? (textAt(data, 'error') ?? jsonWithoutBytes(data)) : asText(data);
  return more === '' || contains(message, more) ? message : `${message}: ${more}`;
}

/** What a tool's message or event says: its result, and why it failed where the result does not say so. */
export function resultWithError(given: unknown, error: unknown): string {
  const said = error === true ? 'it failed' : error === false ? '' : structuredResult(error);
  const [text, why] = [resultText(structuredResult(given)), resultText(said)];
  return why === '' || contains(text, why) ? text : text === '' ? why : `${text}\n${why}`;
}

/** Results that are parts as JSON are read; any other JSON is the result as it was. */
function structuredResult(given: unknown): unknown {
  const value = structured(given);
  return Array.isArray(value) ? (value.some(isPart) ? value : given) : isRecord(value) && isPart(value) ? value : given;
}
