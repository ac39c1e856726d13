/**
 * Traces of OpenTelemetry as protocol buffers (opentelemetry/proto/trace/v1/trace.proto), read into what OTLP says in
 * JSON. Fields that episodes have no use for are passed over.
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
  readonly varint: () => number;
  readonly fixed64: () => bigint;
  readonly bytes: () => Uint8Array;
}

/** Goes through the fields of a message; a length that leads out of it is an error, and nothing is read twice. */
function each(message: Uint8Array, read: (field: Field) => void): void {
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
    const length =
      type === FIXED64 ? need(8) : type === FIXED32 ? need(4) : type === BYTES ? need(reader.readVarint()) : -1;
    const from = reader.pos;
    if (type === VARINT) {
      const value = reader.readVarint(true);
      need(0);
      read({ number, varint: () => value, fixed64: wrongType, bytes: wrongType });
    } else if (length >= 0) {
      const content = message.subarray(from, from + length);
      reader.pos = from + length;
      read({
        number,
        varint: wrongType,
        fixed64: () => (type === FIXED64 ? Buffer.from(content).readBigUInt64LE() : wrongType()),
        bytes: () => (type === BYTES ? content : wrongType()),
      });
    } else {
      throw new Error(`byte ${String(start)} begins a field of an unknown type`);
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
const hex =
  (key: string) =>
  (into: Fields, { bytes }: Field): void => {
    into[key] = hexIn(bytes());
  };
const time =
  (key: string) =>
  (into: Fields, { fixed64 }: Field): void => {
    into[key] = fixed64().toString();
  };
const many =
  (key: string, read: (bytes: Uint8Array) => unknown) =>
  (into: Fields, { bytes }: Field): void => {
    const known = into[key];
    const list: unknown[] = Array.isArray(known) ? known : [];
    list.push(read(bytes()));
    into[key] = list;
  };

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
  messageIn(bytes, { 1: time('timeUnixNano'), 2: text('name'), 3: many('attributes', (one) => pairIn(one)) });
const spanIn = (bytes: Uint8Array): Fields =>
  messageIn(bytes, {
    1: hex('traceId'),
    2: hex('spanId'),
    4: hex('parentSpanId'),
    5: text('name'),
    7: time('startTimeUnixNano'),
    8: time('endTimeUnixNano'),
    9: many('attributes', (one) => pairIn(one)),
    11: many('events', eventIn),
  });
const scopeSpansIn = (bytes: Uint8Array): Fields => messageIn(bytes, { 2: many('spans', spanIn) });
const resourceSpansIn = (bytes: Uint8Array): Fields => messageIn(bytes, { 2: many('scopeSpans', scopeSpansIn) });

/**
 * A request of OTLP's exporters, or a file of the same form, as OTLP in JSON.
 * @param name of what is read, for messages
 * @throws C3Error('input') for what is none
 */
export function tracesInProtobuf(bytes: Uint8Array, name: string): { readonly resourceSpans: readonly unknown[] } {
  try {
    return { resourceSpans: listIn(bytes, 1, resourceSpansIn) };
  } catch (error) {
    throw new C3Error(
      'input',
      `${name} is no trace of OpenTelemetry as protocol buffers: ${messageOf(error)}; give a whole one, or OTLP in JSON.`,
      { cause: error },
    );
  }
}

/** Whether bytes begin as a request: 0x0a, which is a line break too, and a length beyond 127, as no JSON does. */
export const isProtobuf = ([first, second = 0]: Uint8Array): boolean => first === 0x0a && second >= 0x80;
