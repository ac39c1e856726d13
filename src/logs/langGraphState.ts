/**
 * Reads the state of a LangGraph thread at one checkpoint. Values are JSON (LangGraph JS) or msgpack
 * (LangGraph for Python). The classes that they name are never instantiated; only their fields are
 * read.
 */

import { createHash } from 'node:crypto';
import { decode, ExtensionCodec } from '@msgpack/msgpack';
import { listAtKey, textAt, type Fields } from '../chat/fields.ts';
import { parseMessage } from '../chat/messages.ts';
import { isRecord } from '../shared/guard.ts';

/** The parts of a checkpoint that episodes need. */
export interface Checkpoint {
  /** The lists of messages, by their key in the state. */
  readonly lists: ReadonlyMap<string, readonly unknown[]>;
  /** The texts, by their key in the state. */
  readonly texts: ReadonlyMap<string, string>;
  /** The keys whose values hold texts in another form. */
  readonly unread: readonly string[];
  /** The versions that each node has seen, as JSON for comparison. */
  readonly seen: ReadonlyMap<string, string>;
  /** The node of each task that was sent for the next step. */
  readonly sent: readonly string[];
}

/** The most levels of nested values that are read. */
const MOST_DEPTH = 32;
/** The most keys of a state that are read. All of its texts are in every context. */
export const MOST_KEYS = 100;
/** Channels of the graph itself. A state without keys is in `__root__`. */
const INTERNAL = /^(?:__(?!root__$)|branch:|start:|join:)/u;

/** Reads a value of the saver as a checkpoint. Returns null if it is not one, or has another form. */
export function readCheckpoint(type: string, bytes: Uint8Array): Checkpoint | null {
  const value = readSavedValue(type, bytes);
  if (!isRecord(value) || !isRecord(value['channel_values'])) {
    return null;
  }
  const { channel_values: channels } = value;
  const seen = isRecord(value['versions_seen']) ? value['versions_seen'] : {};
  const state = Object.entries(channels).filter(([key]) => !INTERNAL.test(key) && !Object.hasOwn(seen, key));
  const lists = new Map<string, readonly unknown[]>();
  const texts = new Map<string, string>();
  const unread: string[] = [];
  for (const [key, held] of state) {
    const list = Array.isArray(held) ? held : isMessage(held) ? [held] : [];
    const isRead = lists.size + texts.size < MOST_KEYS;
    if (isRead && list.some(isMessage)) {
      lists.set(key, list);
    } else if (isRead && typeof held === 'string') {
      texts.set(key, held);
    } else if (holdsText(held)) {
      unread.push(key);
    }
  }
  return {
    lists,
    texts: new Map([...texts].filter(([, text]) => text !== '')),
    unread,
    seen: new Map(Object.entries(seen).map(([node, versions]) => [node, JSON.stringify(versions)] as const)),
    sent: [...listAtKey(channels, '__pregel_tasks'), ...listAtKey(value, 'pending_sends')].flatMap(sendTarget),
  };
}

/** Returns true for LangChain's messages as classes or as objects with a role. */
const isMessage = (value: unknown): boolean => isRecord(value) && parseMessage(value) !== null;

function holdsText(value: unknown, depth = 0): boolean {
  if (typeof value === 'string') {
    return value !== '';
  }
  // LangChain writes undefined in this form.
  if (typeof value !== 'object' || value === null || depth > MOST_DEPTH || Reflect.get(value, 'lc') === 2) {
    return false;
  }
  return Object.values(value).some((one) => holdsText(one, depth + 1));
}

/** Returns the node that a `Send` names: its field in JavaScript, its first argument in Python. */
function sendTarget(send: unknown): readonly string[] {
  const node: unknown = Array.isArray(send) ? send[0] : isRecord(send) ? send['node'] : null;
  return typeof node === 'string' ? [node] : [];
}

/** Reads a value as the saver writes it. Returns null if it is not one, or has another form. */
export const readSavedValue = (type: string, bytes: Uint8Array): unknown =>
  type === 'msgpack' ? unpackMsgpack(bytes, 0) : type === 'json' ? parseJsonBytes(bytes) : null;

function parseJsonBytes(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof TypeError) {
      return null;
    }
    throw error;
  }
}

/** The index of the arguments in `(module, class, arguments, ...)`, a Python object. */
const ARGUMENTS = 2;

function unpackMsgpack(bytes: Uint8Array, depth: number): unknown {
  if (depth > MOST_DEPTH) {
    return null;
  }
  const extensionCodec = new ExtensionCodec();
  // Types 0 to 5 are sets, times, data classes and models, each with its arguments. Arrays of
  // numbers hold no messages.
  for (let type = 0; type <= 5; type++) {
    extensionCodec.register({
      type,
      encode: () => null,
      decode: (data) => {
        const parts = unpackMsgpack(data, depth + 1);
        return Array.isArray(parts) ? (parts[ARGUMENTS] as unknown) : null;
      },
    });
  }
  try {
    return decode(bytes, { extensionCodec, mapKeyConverter: (key) => String(key) });
  } catch (error) {
    // The bytes are not msgpack (DecodeError), or are cut (RangeError).
    if (error instanceof Error) {
      return null;
    }
    throw error;
  }
}

/** A value that one task of a step wrote. */
export interface WrittenRow {
  readonly task: string;
  readonly channel: string;
  readonly value: unknown;
}

/** A step in which several nodes may have run. */
export interface ParallelStep {
  /** The nodes that ran. */
  readonly nodes: readonly string[];
  /** The versions that each node has seen after it, as JSON. */
  readonly seen: ReadonlyMap<string, string>;
  /** The node of each task that was sent for it. */
  readonly sent: readonly string[];
}

/** The beginning of a step: the checkpoint's id and the namespace of its graph. */
export interface StepPlace {
  readonly checkpoint: string;
  readonly namespace: string;
}

/** The most task ids that are computed for one step. */
const MOST_IDS = 1000;

/**
 * Returns the nodes of a step by the ids that LangGraph JS gives their tasks. An id is a UUID
 * (version 5, of SHA-1) of the graph, the number of the step, the node, and its trigger.
 * @param metadata of the checkpoint that the step led to
 */
function mapNodesByTaskId(
  { nodes, seen, sent }: ParallelStep,
  place: StepPlace,
  metadata: unknown,
): Map<string, string> {
  const step: unknown = isRecord(metadata) ? metadata['step'] : null;
  const space = Buffer.from(place.checkpoint.replaceAll('-', ''), 'hex');
  if (typeof step !== 'number' || space.length !== 16) {
    return new Map();
  }
  const idOf = (node: string, ...how: readonly unknown[]): string => {
    const graph = place.namespace === '' ? node : `${place.namespace}|${node}`;
    const name = JSON.stringify([graph, String(step), node, ...how]);
    const bytes = createHash('sha1').update(space).update(name).digest().subarray(0, 16);
    bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x50, 6);
    bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
    return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/u, '$1-$2-$3-$4-');
  };
  const pulled = nodes.flatMap((node) => {
    const versions: unknown = JSON.parse(seen.get(node) ?? '{}');
    return Object.keys(isRecord(versions) ? versions : {}).map((by) => [node, '__pregel_pull', [by]] as const);
  });
  const pushed = sent.map((node, index) => [node, '__pregel_push', String(index)] as const);
  return new Map(
    [...pulled, ...pushed].slice(0, MOST_IDS).map(([node, ...how]) => [idOf(node, ...how), node] as const),
  );
}

/** A task of a step with the messages that it wrote. */
export interface Task {
  /** Its node, or null if it is unknown. */
  readonly node: string | null;
  readonly messages: readonly unknown[];
}

/** Returns the fields of a message. In LangChain's own form they are one level down. */
export function fieldsOf(message: unknown): Fields {
  const fields = isRecord(message) ? message : {};
  return isRecord(fields['kwargs']) ? fields['kwargs'] : fields;
}

const messagesIn = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [value]).filter(isMessage);

/**
 * Returns the tasks of a step, from the rows that each wrote. In LangGraph JS the id of a task
 * determines its node. In older versions the name of a row's channel does, or the metadata lists
 * the writes of each node. A row that leads to another node names its source.
 * @param metadata of the checkpoint that the step led to
 */
export function findTasks(
  rows: readonly WrittenRow[],
  step: ParallelStep,
  place: StepPlace,
  metadata: unknown,
): Task[] {
  const { nodes } = step;
  const byId = mapNodesByTaskId(step, place, metadata);
  const noted = readMetadataTasks(metadata);
  if (rows.length === 0) {
    return noted;
  }
  const nodeBy = new Map(
    noted.flatMap(({ node, messages }) => messages.flatMap(listIdentifyingKeys).map((words) => [words, node])),
  );
  const tasks = new Map<string, { node: string | null; readonly messages: unknown[] }>();
  const only = nodes.length === 1 ? (nodes[0] ?? null) : null;
  for (const { task, channel, value } of rows) {
    const known = tasks.get(task) ?? { node: only ?? byId.get(task) ?? null, messages: [] };
    tasks.set(task, known);
    const [kind, from] = channel.split(':');
    const said = kind !== 'branch' ? channel : from === 'to' ? value : from;
    const wrote = kind === 'branch' || INTERNAL.test(channel) ? [] : messagesIn(value);
    for (const message of wrote) {
      known.messages.push(message);
    }
    known.node ??=
      nodes.find((node) => node === said) ??
      wrote
        .flatMap(listIdentifyingKeys)
        .map((words) => nodeBy.get(words) ?? null)
        .find((node) => node !== null) ??
      null;
  }
  const made = [...tasks.values()];
  const unknown = made.filter(({ node }) => node === null);
  const left = nodes.filter((node) => !made.some((one) => one.node === node));
  if (unknown.length === 1 && left.length === 1 && unknown[0] !== undefined) {
    unknown[0].node = left[0] ?? null;
  }
  return made;
}

function readMetadataTasks(metadata: unknown): Task[] {
  const writes: unknown = isRecord(metadata) ? metadata['writes'] : null;
  return Object.entries(isRecord(writes) ? writes : {}).map(([node, wrote]) => ({
    node,
    messages: (Array.isArray(wrote) ? wrote : [wrote])
      .filter(isRecord)
      .flatMap((one) => Object.values(one).flatMap(messagesIn)),
  }));
}

/**
 * Returns keys that identify a message both in the writes and in the state. A message gets its id
 * only when it enters the state.
 */
export function listIdentifyingKeys(message: unknown): readonly string[] {
  const id = textAt(fieldsOf(message), 'id');
  const parsed = parseMessage(message);
  const text = parsed === null ? [] : [`text ${parsed.role} ${parsed.text}`];
  return id === null ? text : [`id ${id}`, ...text];
}
