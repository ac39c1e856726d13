/**
 * Reads traces and logs of OpenTelemetry in protocol buffers (trace/v1/trace.proto and
 * logs/v1/logs.proto of opentelemetry/proto) into the JSON form of OTLP. Fields that episodes do
 * not need are skipped.
 */

import { PbfReader } from 'pbf';
import { C3Error, toErrorMessage } from '../shared/errors.ts';

/** The most levels of nested values, as in the JSON reader. */
const MOST_DEPTH = 32;
const TEXT = new TextDecoder('utf-8', { fatal: true });
const [VARINT, FIXED64, BYTES, FIXED32] = [0, 1, 2, 5] as const;

type Fields = Record<string, unknown>;

/** One field of a message in wire format. */
interface Field {
  readonly number: number;
  /** The wire type. */
  readonly type: number;
  readonly varint: () => number;
  readonly fixed64: () => bigint;
  readonly bytes: () => Uint8Array;
}

/**
 * Calls `read` for every field of a message.
 * @param onCut receives the available bytes of a field that exceeds the message, before the error
 * @throws Error if a field exceeds the message, or has an unknown wire type
 */
function forEachField(
  message: Uint8Array,
  read: (field: Field) => void,
  onCut?: (number: number, content: Uint8Array) => void,
): void {
  const reader = new PbfReader(message);
  const need = (length: number): number => {
    if (!Number.isSafeInteger(length) || length < 0 || reader.pos + length > message.length) {
      throw new Error('a field is longer than its message');
    }
    return length;
  };
  while (reader.pos < message.length) {
    const tag = reader.readVarint();
    const [number, type] = [Math.floor(tag / 8), tag % 8];
    const start = reader.pos;
    const given = type === FIXED64 ? 8 : type === FIXED32 ? 4 : type === BYTES ? reader.readVarint() : -1;
    if (type === BYTES && reader.pos + given > message.length) {
      onCut?.(number, message.subarray(reader.pos));
    }
    const length = given === -1 ? -1 : need(given);
    const from = reader.pos;
    if (type === VARINT) {
      const value = reader.readVarint(true);
      need(0);
      read({ number, type, varint: () => value, fixed64: wrongType, bytes: wrongType });
    } else if (length >= 0) {
      const content = message.subarray(from, from + length);
      reader.pos = from + length;
      read({
        number,
        type,
        varint: wrongType,
        fixed64: () => (type === FIXED64 ? Buffer.from(content).readBigUInt64LE() : wrongType()),
        bytes: () => (type === BYTES ? content : wrongType()),
      });
    } else {
      throw new Error(`byte ${start} begins a field of an unknown type`);
    }
  }
}

function wrongType(): never {
  throw new Error('a field has another type than in OTLP');
}

const textIn = (bytes: Uint8Array): string => TEXT.decode(bytes);
const hexIn = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

/** Returns the repeated messages of one field. */
function listIn(message: Uint8Array, number: number, read: (bytes: Uint8Array) => unknown): unknown[] {
  const list: unknown[] = [];
  forEachField(message, (field) => {
    if (field.number === number) {
      list.push(read(field.bytes()));
    }
  });
  return list;
}

/** Reads the fields of a message by their numbers. */
function messageIn(
  message: Uint8Array,
  readers: Readonly<Record<number, (into: Fields, field: Field) => void>>,
): Fields {
  const into: Fields = {};
  forEachField(message, (field) => readers[field.number]?.(into, field));
  return into;
}

const text =
  (key: string) =>
  (into: Fields, { bytes }: Field): void => {
    into[key] = textIn(bytes());
  };
/** Reads an id of `length` bytes, or an empty one. */
const id =
  (key: string, length: number) =>
  (into: Fields, { bytes }: Field): void => {
    const given = bytes();
    if (given.length !== length && given.length > 0) {
      throw new Error(`an id has ${given.length} bytes, not ${length}`);
    }
    into[key] = hexIn(given);
  };
const [TRACE_ID, SPAN_ID] = [16, 8] as const;
const whole =
  (key: string) =>
  (into: Fields, { varint }: Field): void => {
    into[key] = varint();
  };
const time =
  (key: string) =>
  (into: Fields, { fixed64 }: Field): void => {
    into[key] = fixed64().toString();
  };
function append(into: Fields, key: string, value: unknown): void {
  const known = into[key];
  const list: unknown[] = Array.isArray(known) ? known : [];
  list.push(value);
  into[key] = list;
}
const many =
  (key: string, read: (bytes: Uint8Array) => unknown) =>
  (into: Fields, { bytes }: Field): void =>
    append(into, key, read(bytes()));

function valueIn(bytes: Uint8Array, depth: number): Fields {
  if (depth > MOST_DEPTH) {
    return {};
  }
  return messageIn(bytes, {
    1: text('stringValue'),
    2: (into, { varint }) => {
      into['boolValue'] = varint() !== 0;
    },
    3: (into, { varint }) => {
      into['intValue'] = String(varint());
    },
    4: (into, { fixed64 }) => {
      const double = Buffer.alloc(8);
      double.writeBigUInt64LE(fixed64());
      into['doubleValue'] = double.readDoubleLE();
    },
    5: (into, field) => {
      into['arrayValue'] = { values: listIn(field.bytes(), 1, (one) => valueIn(one, depth + 1)) };
    },
    6: (into, field) => {
      into['kvlistValue'] = { values: listIn(field.bytes(), 1, (one) => pairIn(one, depth + 1)) };
    },
    7: (into, field) => {
      into['bytesValue'] = Buffer.from(field.bytes()).toString('base64');
    },
  });
}
const pairIn = (bytes: Uint8Array, depth = 0): Fields =>
  messageIn(bytes, {
    1: text('key'),
    2: (into, field) => {
      into['value'] = valueIn(field.bytes(), depth);
    },
  });
const eventIn = (bytes: Uint8Array): Fields =>
  messageIn(bytes, {
    1: time('timeUnixNano'),
    2: text('name'),
    3: many('attributes', (one) => pairIn(one)),
    4: whole('droppedAttributesCount'),
  });
const statusIn = (bytes: Uint8Array): Fields => messageIn(bytes, { 2: text('message'), 3: whole('code') });
const spanIn = (bytes: Uint8Array): Fields =>
  messageIn(bytes, {
    1: id('traceId', TRACE_ID),
    2: id('spanId', SPAN_ID),
    4: id('parentSpanId', SPAN_ID),
    5: text('name'),
    7: time('startTimeUnixNano'),
    8: time('endTimeUnixNano'),
    9: many('attributes', (one) => pairIn(one)),
    10: whole('droppedAttributesCount'),
    11: many('events', eventIn),
    12: whole('droppedEventsCount'),
    15: (into, field) => {
      into['status'] = statusIn(field.bytes());
    },
  });
const logRecordIn = (bytes: Uint8Array): Fields =>
  messageIn(bytes, {
    1: time('timeUnixNano'),
    2: whole('severityNumber'),
    3: text('severityText'),
    5: (into, field) => {
      into['body'] = valueIn(field.bytes(), 0);
    },
    6: many('attributes', (one) => pairIn(one)),
    7: whole('droppedAttributesCount'),
    9: id('traceId', TRACE_ID),
    10: id('spanId', SPAN_ID),
    11: time('observedTimeUnixNano'),
    12: text('eventName'),
  });

/** The most damaged spans or log records that are named. Further ones are counted. */
const MOST_NAMED = 20;

/** Collects the damaged parts of a request. */
class Damage {
  readonly named: string[] = [];
  /** The number of damaged parts beyond those in `named`. */
  others = 0;
  first: unknown = null;
  /** The number of spans or log records so far, and of those that were read. */
  items = 0;
  read = 0;
  private readonly kind: string;
  /** The index of the span or log record after which a cut was last reported. */
  private ended = -1;

  constructor(kind: string) {
    this.kind = kind;
  }

  /**
   * Reports a span or log record that is left out.
   * @param isCut true if nothing follows it in its container
   */
  item(error: unknown, isCut: boolean): void {
    this.add(`${this.kind} ${this.items}`, error);
    this.ended = isCut ? this.items : this.ended;
  }

  /** Reports the damaged rest of a container, once for all containers that end there. */
  rest(error: unknown): void {
    if (this.ended !== this.items) {
      this.ended = this.items;
      this.add(`what follows ${this.kind} ${this.items}`, error);
    }
  }

  private add(what: string, error: unknown): void {
    this.first ??= error;
    if (this.named.length < MOST_NAMED) {
      this.named.push(`${what}, which is damaged (${toErrorMessage(error)})`);
    } else {
      this.others++;
    }
  }
}

/** Reads the submessages of one field up to the first damage. The last one may be cut. */
function partsIn(
  message: Uint8Array,
  number: number,
  damage: Damage,
  read: (bytes: Uint8Array, isCut: boolean) => void,
): void {
  try {
    forEachField(
      message,
      (field) => {
        if (field.number === number) {
          read(field.bytes(), false);
        }
      },
      (cut, content) => {
        if (cut === number) {
          read(content, true);
        }
      },
    );
  } catch (error) {
    damage.rest(error);
  }
}

interface Names {
  readonly scopes: string;
  readonly items: string;
}

/** Reads the resources of a request. Each damaged span or log record is left out by itself. */
function resourcesIn(
  bytes: Uint8Array,
  { scopes, items }: Names,
  damage: Damage,
  read: (bytes: Uint8Array) => Fields,
): Fields[] {
  const resources: Fields[] = [];
  partsIn(bytes, 1, damage, (resource) => {
    const made: Fields = {};
    resources.push(made);
    partsIn(resource, 2, damage, (scope) => {
      const held: Fields = {};
      append(made, scopes, held);
      partsIn(scope, 2, damage, (item, isCut) => {
        damage.items++;
        try {
          if (isCut) {
            throw new Error('it is longer than what holds it');
          }
          append(held, items, read(item));
          damage.read++;
        } catch (error) {
          damage.item(error, isCut);
        }
      });
    });
  });
  return resources;
}

const SPANS: Names = { scopes: 'scopeSpans', items: 'spans' };
const LOGS: Names = { scopes: 'scopeLogs', items: 'logRecords' };

/** Fields whose wire type differs between a span and a log record. */
const WAYS: ReadonlyMap<number, readonly [span: number, record: number]> = new Map([
  [1, [BYTES, FIXED64]],
  [2, [BYTES, VARINT]],
  [7, [FIXED64, VARINT]],
  [8, [FIXED64, FIXED32]],
  [10, [VARINT, BYTES]],
  [11, [BYTES, FIXED64]],
  [12, [VARINT, BYTES]],
]);
/** The most spans or log records that are examined to tell them apart. */
const MOST_ASKED = 100;

/** Returns true if a request holds logs. Traces and logs have the same form around their items. */
function hasLogs(bytes: Uint8Array): boolean {
  let [asked, spans, records] = [0, 0, 0];
  resourcesIn(bytes, LOGS, new Damage(''), (item) => {
    asked++;
    if (asked <= MOST_ASKED) {
      forEachField(item, ({ number, type }) => {
        const [span, record] = WAYS.get(number) ?? [];
        spans += type === span ? 1 : 0;
        records += type === record ? 1 : 0;
      });
    }
    return {};
  });
  return records > spans;
}

/** A request of OTLP's exporters in the JSON form of OTLP. */
export interface ReadRequest {
  readonly request: { readonly resourceSpans: readonly unknown[] } | { readonly resourceLogs: readonly unknown[] };
  /** True if any of it was read. */
  readonly isRead: boolean;
  /** The damaged parts: some by name, and the number of others. */
  readonly damaged: readonly string[];
  readonly others: number;
}

/** Reads a request or file of traces or logs. Damaged parts are left out and named. */
export function readProtobufRequest(bytes: Uint8Array): ReadRequest {
  const isLogs = hasLogs(bytes);
  const damage = new Damage(isLogs ? 'log record' : 'span');
  const read = resourcesIn(bytes, isLogs ? LOGS : SPANS, damage, isLogs ? logRecordIn : spanIn);
  return {
    request: isLogs ? { resourceLogs: read } : { resourceSpans: read },
    isRead: damage.first === null || damage.read > 0,
    damaged: damage.named,
    others: damage.others,
  };
}

/**
 * Reads a request of traces into the JSON form of OTLP, as a whole or not at all.
 * @param name of the input, for messages
 * @throws C3Error('input') if the bytes are not a request of traces, or are damaged
 */
export function readProtobufTraces(bytes: Uint8Array, name: string): { readonly resourceSpans: readonly unknown[] } {
  const damage = new Damage('span');
  const resourceSpans = resourcesIn(bytes, SPANS, damage, spanIn);
  if (damage.first !== null) {
    throw new C3Error(
      'input',
      `${name} is not an OpenTelemetry trace in protocol buffers: ${toErrorMessage(damage.first)}; give a whole one, or OTLP in JSON.`,
      { cause: damage.first },
    );
  }
  return { resourceSpans };
}

/**
 * Returns true if bytes begin as a request: 0x0a, which is also a line break, and a length above
 * 127, which JSON never has there.
 */
export const isProtobuf = ([first, second = 0]: Uint8Array): boolean => first === 0x0a && second >= 0x80;
