/** Joins streams of typed events: Anthropic's messages, OpenAI's responses, and Gemini's candidates. */

import { isRecord } from '../shared/guard.ts';
import { fieldsAt, listAtKey, parseIfJson, textAt, type Fields } from './fields.ts';

/** The most blocks, items or parts of one answer. More are refused. */
const MOST_PARTS = 4096;

/** The collected pieces of one block or item. */
interface Collected {
  /** Its first or last form. */
  given: Fields;
  done: boolean;
  text: string;
  thinking: string;
  json: string;
  readonly citations: unknown[];
}

class NumberedParts {
  private readonly all = new Map<unknown, Collected>();

  /**
   * Returns the item with an index.
   * @throws RangeError if the answer has too many items
   */
  at(index: unknown): Collected {
    const key = typeof index === 'number' || typeof index === 'string' ? index : 0;
    const found = this.all.get(key);
    if (found !== undefined) {
      return found;
    }
    if (this.all.size >= MOST_PARTS) {
      throw new RangeError(`an answer has more than ${MOST_PARTS} parts`);
    }
    const made: Collected = { given: {}, done: false, text: '', thinking: '', json: '', citations: [] };
    this.all.set(key, made);
    return made;
  }

  get values(): readonly Collected[] {
    return [...this.all.values()];
  }
}

/**
 * Builds the body of an Anthropic message from its events. Returns null if the end is missing.
 * @param closed true if the stream ended with a mark that is no event
 */
export function buildMessage(events: readonly Fields[], closed: boolean): Fields | null {
  const blocks = new NumberedParts();
  let [message, usage]: [Fields, Fields] = [{}, {}];
  let reason: string | null = null;
  let ended = closed;
  for (const event of events) {
    const { type, index } = event;
    if (type === 'message_start') {
      message = fieldsAt(event, 'message');
      usage = fieldsAt(message, 'usage');
    } else if (type === 'content_block_start') {
      blocks.at(index).given = fieldsAt(event, 'content_block');
    } else if (type === 'content_block_delta') {
      addDelta(blocks.at(index), fieldsAt(event, 'delta'));
    } else if (type === 'message_delta') {
      reason = textAt(fieldsAt(event, 'delta'), 'stop_reason') ?? reason;
      usage = { ...usage, ...withoutNulls(fieldsAt(event, 'usage')) };
    } else if (type === 'error') {
      return null;
    }
    ended ||= type === 'message_stop';
  }
  const content = blocks.values.map(blockOf);
  return ended || reason !== null ? { ...message, content, stop_reason: reason, usage } : null;
}

function addDelta(block: Collected, delta: Fields): void {
  block.text += textAt(delta, 'text') ?? '';
  block.thinking += textAt(delta, 'thinking') ?? '';
  block.json += textAt(delta, 'partial_json') ?? '';
  if (isRecord(delta['citation'])) {
    block.citations.push(delta['citation']);
  }
}

function blockOf({ given, text, thinking, json, citations }: Collected): Fields {
  return {
    ...given,
    ...(text !== '' && { type: textAt(given, 'type') ?? 'text', text: (textAt(given, 'text') ?? '') + text }),
    ...(thinking !== '' && { type: 'thinking', thinking: (textAt(given, 'thinking') ?? '') + thinking }),
    ...(json !== '' && { input: parseIfJson(json) }),
    ...(citations.length > 0 && { citations }),
  };
}

const withoutNulls = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));

const TERMINAL: ReadonlySet<unknown> = new Set(['response.completed', 'response.incomplete', 'response.done']);
const FAILED: ReadonlySet<unknown> = new Set(['response.failed', 'response.cancelled', 'error']);

/**
 * Builds the body of an OpenAI response from its events: that of the last event, or the streamed
 * items if it has none. Returns null if the end is missing.
 * @param closed true if the stream ended with a mark that is no event
 */
export function buildResponse(events: readonly Fields[], closed: boolean): Fields | null {
  const last = events.findLast(({ type }) => TERMINAL.has(type));
  if (events.some(({ type }) => FAILED.has(type)) || (last === undefined && !closed)) {
    return null;
  }
  const response = fieldsAt(last, 'response');
  if (listAtKey(response, 'output').length > 0) {
    return response;
  }
  const items = new NumberedParts();
  for (const event of events) {
    addItemEvent(items, event);
  }
  const begun = events.find(({ type }) => type === 'response.created');
  return {
    ...fieldsAt(begun, 'response'),
    ...response,
    ...(last?.['type'] === 'response.incomplete' && { status: 'incomplete' }),
    output: items.values.flatMap(buildItem),
  };
}

function addItemEvent(items: NumberedParts, event: Fields): void {
  const { type, output_index: index } = event;
  if (type === 'response.output_item.added' || type === 'response.output_item.done') {
    const item = items.at(index);
    item.given = fieldsAt(event, 'item');
    item.done = type === 'response.output_item.done';
  } else if (type === 'response.output_text.delta' || type === 'response.refusal.delta') {
    items.at(index).text += textAt(event, 'delta') ?? '';
  } else if (type === 'response.function_call_arguments.delta' || type === 'response.custom_tool_call_input.delta') {
    items.at(index).json += textAt(event, 'delta') ?? '';
  } else if (type === 'response.reasoning_summary_text.delta' || type === 'response.reasoning_text.delta') {
    items.at(index).thinking += textAt(event, 'delta') ?? '';
  }
}

/** Returns an item as it ended, or as far as it came. */
function buildItem({ given, done, text, thinking, json }: Collected): readonly Fields[] {
  if (done) {
    return [given];
  }
  if (json !== '') {
    return [{ type: 'function_call', ...given, arguments: json }];
  }
  if (thinking !== '') {
    return [{ type: 'reasoning', ...given, summary: [{ type: 'summary_text', text: thinking }] }];
  }
  return text === '' ? [] : [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] }];
}

/**
 * Builds the body of a Gemini answer from its pieces. Returns null if the end is missing.
 * @param closed true if the stream ended with a mark that is no event
 */
export function buildCandidate(pieces: readonly Fields[], closed: boolean): Fields | null {
  const parts: Fields[] = [];
  let finish: string | null = null;
  const others = new Set<unknown>();
  for (const piece of pieces) {
    for (const candidate of listAtKey(piece, 'candidates')) {
      if (!isRecord(candidate)) {
        continue;
      }
      if ((candidate['index'] ?? 0) !== 0) {
        others.add(candidate['index']);
        continue;
      }
      finish = textAt(candidate, 'finishReason', 'finish_reason') ?? finish;
      for (const part of listAtKey(candidate['content'], 'parts').filter(isRecord)) {
        addPart(parts, part);
      }
    }
  }
  if (finish === null && !closed) {
    return null;
  }
  const own = { content: { role: 'model', parts }, finishReason: finish };
  const last = pieces.findLast((piece) => isRecord(piece['usageMetadata']));
  return {
    modelVersion: pieces.map((piece) => textAt(piece, 'modelVersion')).find((name) => name !== null),
    usageMetadata: last?.['usageMetadata'],
    candidates: [own, ...[...others].map((index) => ({ index }))],
  };
}

/** Adds a part, or joins it with the previous part if both are text of the same kind. */
function addPart(parts: Fields[], part: Fields): void {
  const before = parts.at(-1);
  const [text, said] = [part['text'], before?.['text']];
  if (
    before !== undefined &&
    typeof text === 'string' &&
    typeof said === 'string' &&
    (before['thought'] === true) === (part['thought'] === true)
  ) {
    parts[parts.length - 1] = { ...before, text: said + text };
    return;
  }
  if (parts.length >= MOST_PARTS) {
    throw new RangeError(`an answer has more than ${MOST_PARTS} parts`);
  }
  parts.push(part);
}
