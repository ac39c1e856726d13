/**
 * Reads answers that are choices: chat completions, completions, and the lines of Ollama. Whole
 * answers and pieces of a stream are read alike.
 */

import { isRecord } from '../shared/guard.ts';
import { asText, fieldsAt, listAtKey, textAt, valueAt, type Fields } from './fields.ts';
import { readFinishReason } from './finish.ts';

/** The most choices of one answer that are counted. */
const MOST_CHOICES = 1024;

/** An answer as a message. */
export interface Choice {
  /** In the form of a chat message, with the role of the assistant. */
  readonly message: Fields;
  /** The reason for its end, in the server's own word, or null if the server gave none. */
  readonly finish: string | null;
  /** The number of further answers to the same request. */
  readonly further: number;
}

/** Keys of a message that hold content. */
const SAYING = [
  'content',
  'text',
  'reasoning_content',
  'reasoning',
  'thinking',
  'reasoning_details',
  'refusal',
  'audio',
  'tool_calls',
  'toolCalls',
  'function_call',
] as const;
const REASONING = ['reasoning_content', 'reasoning', 'thinking'] as const;
const ALL_REASONING: ReadonlySet<string> = new Set([...REASONING, 'reasoning_details']);

export class ChoiceReader {
  private content = '';
  /** Parts of the content that are not texts. */
  private readonly parts: unknown[] = [];
  private reasoning = '';
  private refusal = '';
  private transcript = '';
  private readonly calls = new StreamedCalls();
  /** The only tool call, in the form before `tool_calls`. */
  private readonly single = new StreamedCalls();
  private finish: string | null = null;
  private readonly others = new Set<string>();
  /** The message of an answer that came whole, in one piece. */
  private whole: Fields | null = null;
  private count = 0;

  /**
   * Takes in the choices of a body, or of a piece of a stream.
   * @returns the first choice, or null if the body lacks it
   * @throws RangeError if the answer exceeds a limit
   */
  add(choices: readonly unknown[]): Fields | null {
    let own: Fields | null = null;
    for (const [at, choice] of choices.entries()) {
      if (!isRecord(choice)) {
        continue;
      }
      const { index } = choice;
      const key = typeof index === 'number' || typeof index === 'string' ? String(index) : String(at);
      if (key === '0' && own === null) {
        own = choice;
      } else if (this.others.size < MOST_CHOICES) {
        this.others.add(key);
      }
    }
    if (own !== null) {
      this.addChoice(own);
    }
    return own;
  }

  /** The answer as far as it came. */
  get choice(): Choice {
    return { message: this.whole ?? this.joined(), finish: this.finish, further: this.others.size };
  }

  private addChoice(choice: Fields): void {
    this.finish = readFinishReason(choice) ?? this.finish;
    const message = isRecord(choice['message']) ? choice['message'] : null;
    const delta = isRecord(choice['delta']) ? choice['delta'] : (message ?? choice);
    this.whole = this.count === 0 && delta === message ? pickMessageContent(message) : null;
    this.count++;
    // Some servers repeat the whole content in the last piece.
    const isRepeated = delta === message && readFinishReason(choice) !== null && message['content'] === this.content;
    if (!isRepeated || this.content === '') {
      this.addDelta(delta);
    }
  }

  private addDelta(delta: Fields): void {
    this.addContent(valueAt(delta, 'content', 'text'));
    this.reasoning += textAt(delta, ...REASONING) ?? '';
    this.refusal += textAt(delta, 'refusal') ?? '';
    this.transcript += textAt(fieldsAt(delta, 'audio'), 'transcript') ?? '';
    this.calls.add(listAtKey(delta, 'tool_calls'));
    if (isRecord(delta['function_call'])) {
      this.single.add([{ function: delta['function_call'] }]);
    }
  }

  private addContent(value: unknown): void {
    for (const part of Array.isArray(value) ? (value as readonly unknown[]) : [value]) {
      if (!isRecord(part)) {
        this.content += asText(part);
      } else if (isThought(part)) {
        this.reasoning += textsIn(valueAt(part, 'thinking', 'text', 'reasoning'));
      } else if (typeof part['text'] === 'string') {
        this.content += part['text'];
      } else {
        this.parts.push(part);
      }
    }
  }

  private joined(): Fields {
    const { content, parts, reasoning, refusal, transcript } = this;
    const texts = content === '' ? [] : [{ type: 'text', text: content }];
    const calls = this.calls.made.length > 0 ? this.calls.made : this.single.made;
    return {
      role: 'assistant',
      content: parts.length === 0 ? content : [...texts, ...parts],
      ...(reasoning !== '' && { reasoning_content: reasoning }),
      ...(refusal !== '' && { refusal }),
      ...(transcript !== '' && { audio: { transcript } }),
      ...(calls.length > 0 && { tool_calls: withOwnIds(calls) }),
    };
  }
}

/** Returns a message without its reasoning. */
export function withoutReasoning(message: Fields): Fields {
  const { content } = message;
  const spoken = Array.isArray(content)
    ? content.filter((part: unknown) => !isRecord(part) || !isThought(part))
    : content;
  return { ...Object.fromEntries(Object.entries(message).filter(([key]) => !ALL_REASONING.has(key))), content: spoken };
}

const isThought = (part: Fields): boolean => part['type'] === 'thinking' || part['type'] === 'reasoning';

/** Returns the content of a whole message, with the role of an assistant because it is the answer. */
function pickMessageContent(message: Fields): Fields {
  const said = SAYING.flatMap((key) => (Object.hasOwn(message, key) ? [[key, message[key]] as const] : []));
  const calls = listAtKey(message, 'tool_calls');
  return {
    content: null,
    ...Object.fromEntries(said),
    ...(calls.length > 0 && { tool_calls: withOwnIds(calls) }),
    role: 'assistant',
  };
}

/** Removes repeated ids, which some servers send, because the calls would be taken for one. */
function withOwnIds(calls: readonly unknown[]): readonly unknown[] {
  const seen = new Set<string>();
  return calls.map((call) => {
    const id = isRecord(call) ? textAt(call, 'id') : null;
    if (!isRecord(call) || id === null) {
      return call;
    }
    const isRepeated = seen.has(id);
    seen.add(id);
    return isRepeated ? { ...call, id: null } : call;
  });
}

/** Returns the text of a part, or of the parts within it. */
const textsIn = (value: unknown): string =>
  typeof value === 'string'
    ? value
    : Array.isArray(value)
      ? value.map((one: unknown) => (isRecord(one) ? (textAt(one, 'text') ?? '') : '')).join('')
      : '';

// Joins tool calls from the pieces of a stream of chat completions.

/** The most calls of one answer, and characters of a name. More calls are refused. */
const MOST_CALLS = 1024;
const LONGEST_NAME = 512;

interface StreamedCall {
  id: string | null;
  name: string;
  arguments: string;
  /** Arguments that came as a whole object, or undefined. */
  whole: Fields | undefined;
  /** True if the last piece may be the end of an object. */
  closed: boolean;
}

export class StreamedCalls {
  private readonly all: StreamedCall[] = [];
  private readonly byId = new Map<string, StreamedCall>();
  /** The last call that came with each index. */
  private readonly byIndex = new Map<unknown, StreamedCall>();

  /**
   * Takes in the calls of one piece of the answer.
   * @throws RangeError if the answer has too many calls
   */
  add(pieces: readonly unknown[]): void {
    for (const [at, piece] of pieces.entries()) {
      if (isRecord(piece)) {
        this.addPiece(piece, piece['index'] ?? (pieces.length > 1 ? at : null));
      }
    }
  }

  /** The calls in the form of a message. */
  get made(): readonly Fields[] {
    return this.all.map(({ id, name, arguments: text, whole }) => ({
      ...(id !== null && { id }),
      type: 'function',
      function: { name, arguments: whole ?? text },
    }));
  }

  private addPiece(piece: Fields, index: unknown): void {
    const of = isRecord(piece['function']) ? piece['function'] : piece;
    const [id, name, given] = [textAt(piece, 'id'), textAt(of, 'name'), of['arguments']];
    const call = this.callOf(id, name, given, index);
    call.id ??= id;
    if (id !== null) {
      this.byId.set(id, call);
    }
    if (index !== null) {
      this.byIndex.set(index, call);
    }
    call.name = joinName(call.name, name ?? '');
    if (isRecord(given)) {
      call.whole = given;
    } else if (typeof given === 'string' && given !== '') {
      call.arguments += given;
      call.closed = given.trimEnd().endsWith('}');
    }
  }

  /** Returns the call that a piece belongs to. It is new if the piece begins it. */
  private callOf(id: string | null, name: string | null, given: unknown, index: unknown): StreamedCall {
    const numbered = index === null ? this.all.at(-1) : this.byIndex.get(index);
    // Some servers give all calls the index 0, others give all calls one id.
    const named = id === null || Number(index) > 0 ? undefined : this.byId.get(id);
    const before = named ?? numbered;
    if (before !== undefined && !beginsNewCall(before, id, name, given)) {
      return before;
    }
    if (this.all.length >= MOST_CALLS) {
      throw new RangeError(`an answer calls more than ${MOST_CALLS} tools`);
    }
    const call: StreamedCall = { id: null, name: '', arguments: '', whole: undefined, closed: false };
    this.all.push(call);
    return call;
  }
}

/**
 * Returns true if a piece begins a call instead of continuing the one with its index. Some servers
 * give every call the index 0.
 */
function beginsNewCall(before: StreamedCall, id: string | null, name: string | null, given: unknown): boolean {
  if (id !== null && before.id !== null && id !== before.id) {
    // Some servers give each piece an id of its own. The first piece of a call names the tool.
    return name !== null;
  }
  const hasArguments = before.arguments !== '' || before.whole !== undefined;
  if (name === null || before.name === '' || !hasArguments) {
    return false;
  }
  const isWhole = before.whole !== undefined || before.closed;
  return name !== before.name || isRecord(given) || (isWhole && typeof given === 'string' && /^\s*\{/u.test(given));
}

/** Joins a name that is sent once, again in each piece, longer in each, or in parts. */
function joinName(before: string, name: string): string {
  if (name === '' || before.startsWith(name)) {
    return before === '' ? name.slice(0, LONGEST_NAME) : before;
  }
  return (name.startsWith(before) ? name : before + name).slice(0, LONGEST_NAME);
}
