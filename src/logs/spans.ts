/**
 * Reads spans of OpenTelemetry, with their attributes as plain values, from OTLP in JSON and from
 * the forms of Phoenix, MLflow, Python's console exporter and Jaeger.
 */

import { fieldsAt, listAtKey, parseIfJson, textAt, valueAt, type Fields } from '../chat/fields.ts';
import { isRecord } from '../shared/guard.ts';
import { readTime } from './steps.ts';

export interface Span {
  readonly trace: string;
  readonly id: string;
  /** Empty for the first span of a trace. */
  readonly parent: string;
  readonly name: string;
  /** Nanoseconds since 1970. */
  readonly start: bigint;
  /** Nanoseconds since 1970, or 0 if unknown. */
  readonly end: bigint;
  /** The reason for its failure, or null. */
  readonly failed: string | null;
  /** The number of attributes that the recording program dropped because of its limit. */
  readonly dropped: number;
  readonly attributes: Attributes;
  readonly events: readonly SpanEvent[];
}
export type Attributes = Readonly<Record<string, unknown>>;
export interface SpanEvent {
  readonly name: string;
  readonly attributes: Attributes;
}

/** An event of a span that is a record of its own. */
export interface LogRecord {
  readonly trace: string;
  readonly span: string;
  readonly time: bigint;
  readonly event: SpanEvent;
}

/** The most items of a list in attributes such as `llm.input_messages.0.message.role`. */
const MOST_ITEMS = 10_000;
const MOST_DEPTH = 12;
/** The most attributes into which a nested object is flattened. */
const MOST_FLAT = 20_000;

/**
 * Returns the span that a value is, or null.
 * @param given the value in the form of its container
 */
export function readSpan(given: unknown): Span | null {
  if (!isRecord(given)) {
    return null;
  }
  const value = unfoldRow(given) ?? given;
  const context = fieldsAt(value, 'context');
  const trace = idOf(textAt(value, 'traceId', 'trace_id', 'traceID') ?? textAt(context, 'trace_id', 'traceId'));
  const id = idOf(textAt(value, 'spanId', 'span_id', 'spanID') ?? textAt(context, 'span_id', 'spanId'));
  if (trace === null || id === null || 'logRecords' in value || isLogRecord(value)) {
    return null;
  }
  const attributes = attributesOf(value['attributes'] ?? value['tags']);
  const events = readSpanEvents(value);
  const start = readTime(valueAt(value, ...STARTS));
  return {
    trace,
    id,
    parent: idOf(textAt(value, 'parentSpanId', 'parent_span_id', 'parent_id')) ?? parentIn(value),
    name: textAt(value, 'name', 'operationName', 'span_name') ?? '',
    start,
    end: readEnd(value, start),
    failed: failureOf(value, attributes, events),
    dropped: Number(valueAt(value, 'droppedAttributesCount', 'dropped_attributes_count') ?? 0) || 0,
    attributes,
    events,
  };
}

const STARTS = ['startTimeUnixNano', 'start_time_unix_nano', 'start_time', 'startTime', 'start_timestamp'] as const;
const ENDS = ['endTimeUnixNano', 'end_time_unix_nano', 'end_time', 'endTime', 'end_timestamp'] as const;

/** Removes `0x`, which Python's console exporter writes before an id. */
const idOf = (id: string | null): string | null => id?.replace(/^0x/u, '') ?? null;

/** Returns the parent from Jaeger's references. */
function parentIn(value: Fields): string {
  const parent = listAtKey(value, 'references').find((one) => isRecord(one) && one['refType'] === 'CHILD_OF');
  return isRecord(parent) ? (textAt(parent, 'spanID') ?? '') : '';
}

/** Returns the end of a span. Jaeger gives its duration in microseconds. */
function readEnd(value: Fields, start: bigint): bigint {
  const end = readTime(valueAt(value, ...ENDS));
  const { duration } = value;
  return end === 0n && typeof duration === 'number' && duration >= 0 && Number.isFinite(duration)
    ? start + BigInt(Math.round(duration)) * 1000n
    : end;
}

/** Returns the events of OTLP, also from Logfire's rows, and Jaeger's logs with their names. */
function readSpanEvents(value: Fields): readonly SpanEvent[] {
  return ['events', 'logs', 'otel_events']
    .flatMap((key) => listAtKey({ list: parseIfJson(value[key]) }, 'list'))
    .filter(isRecord)
    .map((event) => {
      const attributes = attributesOf(event['attributes'] ?? event['fields']);
      return { name: textAt(event, 'name', 'event_name') ?? textAt(attributes, 'event', 'name') ?? '', attributes };
    });
}

/** Returns the reason for a span's failure, from its status, an attribute or an exception event. */
function failureOf(value: Fields, attributes: Attributes, events: readonly SpanEvent[]): string | null {
  const status = fieldsAt(value, 'status');
  const code = valueAt(status, 'code', 'status_code') ?? valueAt(value, 'status_code');
  const type = textAt(attributes, 'error.type', 'otel.status_code');
  const isError = code === 2 || /ERROR$/u.test(typeof code === 'string' ? code : '') || attributes['error'] === true;
  const isTyped = type !== null && type !== 'OK' && type !== 'UNSET';
  if (!isError && !isTyped) {
    return null;
  }
  const exception = events.find(({ name }) => name === 'exception')?.attributes ?? {};
  return (
    textAt(status, 'message', 'description') ??
    textAt(value, 'status_message') ??
    textAt(exception, 'exception.message') ??
    textAt(attributes, 'error.message', 'exception.message', 'otel.status_description') ??
    type ??
    'it failed'
  );
}

/**
 * Returns true for a log record. It has a body or an event name, and no span name. Python's console
 * exporter adds a severity.
 */
const isLogRecord = (value: Fields): boolean =>
  !('name' in value) &&
  ('eventName' in value ||
    'event_name' in value ||
    ('body' in value &&
      ['timeUnixNano', 'time_unix_nano', 'observedTimeUnixNano', 'severity_number'].some((key) => key in value)));

/** Returns the record that an item of the list `logRecords` is, or null if it belongs to no span. */
export function readLogRecord(value: unknown): LogRecord | null {
  if (!isRecord(value) || !('body' in value || 'eventName' in value || 'event_name' in value)) {
    return null;
  }
  const [trace, span] = [idOf(textAt(value, 'traceId', 'trace_id')), idOf(textAt(value, 'spanId', 'span_id'))];
  if (trace === null || span === null) {
    return null;
  }
  const attributes = attributesOf(value['attributes']);
  const { body: given } = value;
  const body =
    isRecord(given) && Object.keys(given).every((key) => /Value$|_value$/u.test(key)) ? toPlainValue(given, 0) : given;
  const name = textAt(value, 'eventName', 'event_name') ?? textAt(attributes, 'event.name') ?? '';
  const said = isRecord(body) ? body : body === undefined || body === null ? {} : { content: body };
  const time = readTime(valueAt(value, 'timeUnixNano', 'time_unix_nano', 'observedTimeUnixNano', 'timestamp'));
  return { trace, span, time, event: { name, attributes: { ...attributes, ...said } } };
}

/** Returns the spans of a trace in Jaeger's form, `{traceID, spans}`, or null for other values. */
export function readJaegerTrace(value: unknown): readonly Span[] | null {
  if (!isRecord(value) || !Array.isArray(value['spans']) || textAt(value, 'traceID', 'traceId', 'trace_id') === null) {
    return null;
  }
  const spans = value['spans'].flatMap((one) => readSpan(one) ?? []);
  return spans.length === 0 ? null : spans;
}

/**
 * Turns a row of a table of Phoenix into the form of a span: columns such as `context.trace_id` and
 * `attributes.llm.model_name` become nested fields. Returns null for any other value.
 */
function unfoldRow(row: Fields): Fields | null {
  if (!('context.span_id' in row)) {
    return null;
  }
  const within = (prefix: string): Fields =>
    Object.fromEntries(
      Object.entries(row).flatMap(([key, value]) =>
        key.startsWith(prefix) && value !== null ? [[key.slice(prefix.length), value] as const] : [],
      ),
    );
  return { ...row, context: within('context.'), attributes: within('attributes.') };
}

/**
 * Returns attributes by their keys. They are lists of pairs (OTLP, Jaeger) or a nested object, in
 * columns of tables as JSON.
 */
function attributesOf(written: unknown): Attributes {
  const given = parseIfJson(written);
  if (isRecord(given)) {
    return flattenAttributes(given);
  }
  const pairs: (readonly [string, unknown])[] = [];
  for (const entry of Array.isArray(given) ? (given as readonly unknown[]) : []) {
    if (isRecord(entry) && typeof entry['key'] === 'string') {
      const { value } = entry;
      pairs.push([entry['key'], isRecord(value) ? toPlainValue(value, 0) : value]);
    }
  }
  return Object.fromEntries(pairs);
}

/** Adds the inner values of an object under keys with dots: `llm.input_messages.0.message.role`. */
function flattenAttributes(attributes: Fields): Attributes {
  const flat: [string, unknown][] = [];
  const add = (key: string, value: unknown, depth: number): void => {
    if (flat.length >= MOST_FLAT) {
      return;
    }
    flat.push([key, value]);
    if (typeof value === 'object' && value !== null && depth < MOST_DEPTH) {
      for (const [inner, one] of Object.entries(value)) {
        add(`${key}.${inner}`, one, depth + 1);
      }
    }
  };
  for (const [key, value] of Object.entries(attributes)) {
    add(key, value, 0);
  }
  return Object.fromEntries(flat);
}

/** Turns an OTLP value into plain JSON. */
function toPlainValue(value: unknown, depth: number): unknown {
  if (!isRecord(value) || depth > MOST_DEPTH) {
    return undefined;
  }
  // Most values are strings.
  if (typeof value['stringValue'] === 'string') {
    return value['stringValue'];
  }
  const [list, pairs, int] = [
    valueAt(value, 'arrayValue', 'array_value'),
    valueAt(value, 'kvlistValue', 'kvlist_value'),
    valueAt(value, 'intValue', 'int_value'),
  ];
  if (isRecord(list)) {
    return listAtKey(list, 'values').map((one) => toPlainValue(one, depth + 1));
  }
  if (isRecord(pairs)) {
    return Object.fromEntries(
      listAtKey(pairs, 'values').flatMap((entry) =>
        isRecord(entry) && typeof entry['key'] === 'string'
          ? [[entry['key'], toPlainValue(entry['value'], depth + 1)]]
          : [],
      ),
    );
  }
  return int === undefined
    ? valueAt(value, 'stringValue', 'boolValue', 'doubleValue', 'string_value', 'bool_value', 'double_value')
    : Number(int);
}

/** Decodes an attribute of MLflow, whose texts are JSON again. */
export const jsonText = (value: unknown): unknown =>
  typeof value === 'string' && value.startsWith('"') ? parseIfJson(value) : value;

interface Branch {
  readonly children: Map<string, Branch>;
  value: unknown;
}

/**
 * Builds the list that numbered attributes form: `PREFIX.0.message.role`,
 * `PREFIX.1.message.content`. Items are objects, and lists in them become lists again.
 */
export function buildList(attributes: Attributes, prefix: string): unknown[] {
  const root: Branch = { children: new Map(), value: undefined };
  const start = `${prefix}.`;
  // The filter by key comes first, because most spans have no such attribute.
  for (const key of Object.keys(attributes).filter((name) => name.startsWith(start))) {
    const path = key.slice(start.length).split('.');
    if (path.length <= MOST_DEPTH && path.every(isKept)) {
      let branch = root;
      for (const part of path) {
        const next = branch.children.get(part) ?? { children: new Map<string, Branch>(), value: undefined };
        branch.children.set(part, next);
        branch = next;
      }
      branch.value = attributes[key];
    }
  }
  const items = built(root);
  return Array.isArray(items) ? items : [];
}

const isIndex = (part: string): boolean => /^\d{1,6}$/u.test(part);
const isKept = (part: string): boolean => !isIndex(part) || Number(part) < MOST_ITEMS;

function built({ children, value }: Branch): unknown {
  if (children.size === 0) {
    return value;
  }
  const entries = [...children].map(([key, child]) => [key, built(child)] as const);
  return entries.every(([key]) => isIndex(key))
    ? entries.toSorted(([a], [b]) => Number(a) - Number(b)).map(([, child]) => child)
    : Object.fromEntries(entries);
}
