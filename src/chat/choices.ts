/**
 * The answer of a server whose answers are choices: chat completions and completions, and the lines of Ollama. It may
 * come whole or in pieces; either is read alike.
 */
import { isRecord } from '../shared/guard.ts';
import { asText, fieldsAt, listAtKey, textAt, valueAt, type Fields } from './fields.ts';
import { reasonIn } from './finish.ts';
import { StreamedCalls } from './streamedCalls.ts';

/** The most choices of one answer that are counted. */
const MOST_CHOICES = 1024;

/** An answer as the message that it is. */
export interface Choice {
  /** In the form of a chat message, with the role of the assistant. */
  readonly message: Fields;
  /** Why it ended, in the server's own word; null where it did not say. */
  readonly finish: string | null;
  /** Answers to the same request beside it. */
  readonly further: number;
}

/** Keys of a message that say something. */
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
  /** Parts of the content that are no texts. */
  private readonly parts: unknown[] = [];
  private reasoning = '';
  private refusal = '';
  private transcript = '';
  private readonly calls = new StreamedCalls();
  /** The one call of a tool in the form that came before tool_calls. */
  private readonly single = new StreamedCalls();
  private finish: string | null = null;
  private readonly others = new Set<string>();
  /** The message of an answer that is whole: the only one that came. */
  private whole: Fields | null = null;
  private count = 0;

  /**
   * Takes in the choices of a body, or of a piece of a stream.
   * @returns the one that is the answer; null where the body has it not
   * @throws RangeError for an answer that is larger than any is
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
    this.finish = reasonIn(choice) ?? this.finish;
    const message = isRecord(choice['message']) ? choice['message'] : null;
    const delta = isRecord(choice['delta']) ? choice['delta'] : (message ?? choice);
    this.whole = this.count === 0 && delta === message ? ownOf(message) : null;
    this.count++;
    // Some servers repeat all of it with its end.
    const isRepeated = delta === message && reasonIn(choice) !== null && message['content'] === this.content;
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

/** A message of an answer without what was only thought. */
export function withoutReasoning(message: Fields): Fields {
  const { content } = message;
  const spoken = Array.isArray(content)
    ? content.filter((part: unknown) => !isRecord(part) || !isThought(part))
    : content;
  return { ...Object.fromEntries(Object.entries(message).filter(([key]) => !ALL_REASONING.has(key))), content: spoken };
}

const isThought = (part: Fields): boolean => part['type'] === 'thinking' || part['type'] === 'reasoning';

/** What a whole message says, whatever role it names: it is the answer. */
function ownOf(message: Fields): Fields {
  const said = SAYING.flatMap((key) => (Object.hasOwn(message, key) ? [[key, message[key]] as const] : []));
  const calls = listAtKey(message, 'tool_calls');
  return {
    content: null,
    ...Object.fromEntries(said),
    ...(calls.length > 0 && { tool_calls: withOwnIds(calls) }),
    role: 'assistant',
  };
}

/** Calls of which none has the id of one before it, as some servers give them: they would be taken for one. */
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

/** The text of a part, or of the parts within it. */
const textsIn = (value: unknown): string =>
  typeof value === 'string'
    ? value
    : Array.isArray(value)
      ? value.map((one: unknown) => (isRecord(one) ? (textAt(one, 'text') ?? '') : '')).join('')
      : '';
