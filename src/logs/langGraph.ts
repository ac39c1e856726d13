/**
 * Conversations from the checkpoints of a LangGraph thread: the messages of the state, each with the node that wrote it
 * where one node alone ran between two checkpoints. Values are JSON (LangGraph JS) or msgpack (LangGraph for Python);
 * classes that they name are never made, only their fields are read.
 */
import { decode, ExtensionCodec } from '@msgpack/msgpack';
import { isRecord } from '../shared/guard.ts';
import { textAt } from '../chat/fields.ts';

/** A checkpoint as far as messages need it. */
export interface Checkpoint {
  readonly messages: readonly unknown[];
  /** What each node has seen, as text to compare. */
  readonly seen: ReadonlyMap<string, string>;
}

/** Nested values within values. */
const MOST_DEPTH = 32;

/** Reads a value of the saver; null where it is none, or of another form. */
export function checkpointOf(type: string, bytes: Uint8Array): Checkpoint | null {
  const value = type === 'msgpack' ? unpacked(bytes, 0) : type === 'json' ? jsonOf(bytes) : null;
  if (!isRecord(value) || !isRecord(value['channel_values'])) {
    return null;
  }
  const { messages } = value['channel_values'];
  const seen = isRecord(value['versions_seen']) ? value['versions_seen'] : {};
  return {
    messages: Array.isArray(messages) ? messages : [],
    seen: new Map(Object.entries(seen).map(([node, versions]) => [node, JSON.stringify(versions)] as const)),
  };
}

function jsonOf(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof TypeError) {
      return null;
    }
    throw error;
  }
}

/** The arguments of what Python would make an object of: `(module, class, arguments, ...)`. */
const ARGUMENTS = 2;

function unpacked(bytes: Uint8Array, depth: number): unknown {
  if (depth > MOST_DEPTH) {
    return null;
  }
  const extensionCodec = new ExtensionCodec();
  // 0 to 5: sets, times, data classes and models, each with its arguments; arrays of numbers hold no messages.
  for (let type = 0; type <= 5; type++) {
    extensionCodec.register({
      type,
      encode: () => null,
      decode: (data) => {
        const parts = unpacked(data, depth + 1);
        return Array.isArray(parts) ? (parts[ARGUMENTS] as unknown) : null;
      },
    });
  }
  try {
    return decode(bytes, { extensionCodec, mapKeyConverter: (key) => String(key) });
  } catch (error) {
    // What is no msgpack: DecodeError, RangeError for a cut one.
    if (error instanceof Error) {
      return null;
    }
    throw error;
  }
}

/** Puts the messages of a thread together from its checkpoints, oldest first. */
export class ThreadMessages {
  private readonly writers = new Map<string, string>();
  private before: Checkpoint | null = null;

  add(checkpoint: Checkpoint): void {
    const { before, writers } = this;
    const ran = [...checkpoint.seen]
      .filter(([node, versions]) => before?.seen.get(node) !== versions)
      .map(([node]) => node);
    const [node, ...others] = ran.filter((name) => !name.startsWith('__'));
    const known = new Set(before?.messages.map(keyOf));
    for (const message of checkpoint.messages) {
      const key = keyOf(message);
      if (!known.has(key) && node !== undefined && others.length === 0) {
        writers.set(key, node);
      }
    }
    this.before = checkpoint;
  }

  /** The messages of the last checkpoint, each with its node as its name where it has no name. */
  messages(): unknown[] {
    return (this.before?.messages ?? []).map((message) => {
      const node = this.writers.get(keyOf(message));
      const holder = isRecord(message) && isRecord(message['kwargs']) ? message['kwargs'] : message;
      if (node === undefined || !isRecord(message) || !isRecord(holder) || textAt(holder, 'name') !== null) {
        return message;
      }
      const named = { ...holder, name: node };
      return holder === message ? named : { ...message, kwargs: named };
    });
  }
}

/** What a message is known by from one checkpoint to the next: its id, or all of it. */
function keyOf(message: unknown): string {
  const holder = isRecord(message) && isRecord(message['kwargs']) ? message['kwargs'] : message;
  return (isRecord(holder) ? textAt(holder, 'id') : null) ?? JSON.stringify(message);
}
