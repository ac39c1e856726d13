/**
 * Traces and logs of OpenTelemetry as protocol buffers (trace/v1/trace.proto and logs/v1/logs.proto of
 * opentelemetry/proto), read into what OTLP says in JSON. Fields that episodes have no use for are passed over.
 */
import { PbfReader } from 'pbf';
import { C3Error, messageOf } from '../shared/errors.ts';

/** Values within values, as where they are read in JSON. */
const MOST_DEPTH = 32;
const TEXT = new TextDecoder('utf-8', { fatal: true });
const [VARINT, FIXED64, BYTES, FIXED32] = [0, 1, 2, 5] as const;

type Fields = Record<string, unknown>;

/** One field of a message as it is on the wire. */
interface Field {
  readonly number: number;
  /** How it is written. */
  readonly type: number;
  readonly varint: () => number;
  readonly fixed64: () => bigint;
  readonly bytes: () => Uint8Array;
}

/**
 * Goes through the fields of a message; a length that leads out of it is an error, and nothing is read twice.
 * @param onCut hears what there is of a field that leads out of the message, before the error
 */
function each(
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

/** The repeated messages of one field. */
function listIn(message: Uint8Array, number: number, read: (bytes: Uint8Array) => unknown): unknown[] {
  const list: unknown[] = [];
  each(message, (field) => {
    if (field.number === number) {
      list.push(read(field.bytes()));
    }
  });
  return list;
}

/** A message whose fields are read by their numbers. */
function messageIn(
  message: Uint8Array,
  readers: Readonly<Record<number, (into: Fields, field: Field) => void>>,
): Fields {
  const into: Fields = {};
  each(message, (field) => readers[field.number]?.(into, field));
  return into;
}

const text =
  (key: string) =>
  (into: Fields, { bytes }: Field): void => {
    into[key] = textIn(bytes());
  };
/** An id of so many bytes, or none. */
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

/** Spans or log records that are named where they are damaged; the others are counted. */
const MOST_NAMED = 20;

/** What cannot be read of a request. */
class Damage {
  readonly named: string[] = [];
  /** Further ones. */
  others = 0;
  first: unknown = null;
  /** How many spans or log records there were so far, and how many of them were read. */
  items = 0;
  read = 0;
  private readonly kind: string;
  /** After which span or log record the last end is that was named. */
  private ended = -1;

  constructor(kind: string) {
    this.kind = kind;
  }

  /** A span or a log record that is left out. @param isCut whether nothing follows it in what holds it */
  item(error: unknown, isCut: boolean): void {
    this.add(`${this.kind} ${this.items}`, error);
    this.ended = isCut ? this.items : this.ended;
  }

  /** What follows in a message that holds several; once for all messages that end there. */
  rest(error: unknown): void {
    if (this.ended !== this.items) {
      this.ended = this.items;
      this.add(`what follows ${this.kind} ${this.items}`, error);
    }
  }

  private add(what: string, error: unknown): void {
    this.first ??= error;
    if (this.named.length < MOST_NAMED) {
      this.named.push(`${what}, which is damaged (${messageOf(error)})`);
    } else {
      this.others++;
    }
  }
}

/** The messages of one field of a message that is read as far as it is not damaged; the last one may be cut. */
function partsIn(
  message: Uint8Array,
  number: number,
  damage: Damage,
  read: (bytes: Uint8Array, isCut: boolean) => void,
): void {
  try {
    each(
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

/** The resources of a request; what is damaged of it is left out, each span or log record by itself. */
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

/** Fields that a span and a log record write in different ways: as a span does, and as a log record does. */
const WAYS: ReadonlyMap<number, readonly [span: number, record: number]> = new Map([
  [1, [BYTES, FIXED64]],
  [2, [BYTES, VARINT]],
  [7, [FIXED64, VARINT]],
  [8, [FIXED64, FIXED32]],
  [10, [VARINT, BYTES]],
  [11, [BYTES, FIXED64]],
  [12, [VARINT, BYTES]],
]);
/** Spans or log records that say which they are. */
const MOST_ASKED = 100;

/** Whether a request is one of logs: both have the same form around what they hold. */
function hasLogs(bytes: Uint8Array): boolean {
  let [asked, spans, records] = [0, 0, 0];
  resourcesIn(bytes, LOGS, new Damage(''), (item) => {
    asked++;
    if (asked <= MOST_ASKED) {
      each(item, ({ number, type }) => {
        const [span, record] = WAYS.get(number) ?? [];
        spans += type === span ? 1 : 0;
        records += type === record ? 1 : 0;
      });
    }
    return {};
  });
  return records > spans;
}

/** A request of OTLP's exporters as OTLP in JSON. */
export interface ReadRequest {
  readonly request: { readonly resourceSpans: readonly unknown[] } | { readonly resourceLogs: readonly unknown[] };
  /** Whether anything of it was read. */
  readonly isRead: boolean;
  /** What is damaged of it: some by name, and how many others. */
  readonly damaged: readonly string[];
  readonly others: number;
}

/** A request of traces or logs, or a file of the same form; what is damaged of it is left out and named. */
export function requestInProtobuf(bytes: Uint8Array): ReadRequest {
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
 * A request of traces as OTLP in JSON, which is read as a whole or not at all.
 * @param name of what is read, for messages
 * @throws C3Error('input') for what is none
 */
export function tracesInProtobuf(bytes: Uint8Array, name: string): { readonly resourceSpans: readonly unknown[] } {
  const damage = new Damage('span');
  const resourceSpans = resourcesIn(bytes, SPANS, damage, spanIn);
  if (damage.first !== null) {
    throw new C3Error(
      'input',
      `${name} is no trace of OpenTelemetry as protocol buffers: ${messageOf(damage.first)}; give a whole one, or OTLP in JSON.`,
      { cause: damage.first },
    );
  }
  return { resourceSpans };
}

/** Whether bytes begin as a request: 0x0a, which is a line break too, and a length beyond 127, as no JSON does. */
export const isProtobuf = ([first, second = 0]: Uint8Array): boolean => first === 0x0a && second >= 0x80;
