/** Spans of OpenTelemetry in JSON (OTLP), with their attributes as plain values. */
import { isRecord } from '../shared/guard.ts';
import { textAt } from './chat.ts';

export interface Span {
  readonly trace: string;
  readonly id: string;
  /** Empty for the first of a trace. */
  readonly parent: string;
  readonly name: string;
  /** Nanoseconds since 1970. */
  readonly start: bigint;
  readonly attributes: Attributes;
  readonly events: readonly { readonly name: string; readonly attributes: Attributes }[];
}
export type Attributes = Readonly<Record<string, unknown>>;

/** Items of a list that is written as attributes `llm.input_messages.0.message.role`. */
const MOST_ITEMS = 10_000;
const MOST_DEPTH = 12;

export const isTrace = (value: unknown): boolean => isRecord(value) && Array.isArray(value['resourceSpans']);

/** The spans of an export request. */
export function spansIn(value: unknown): Span[] {
  const listAt = (holder: unknown, ...keys: readonly string[]): readonly unknown[] =>
    isRecord(holder) ? (keys.map((key) => holder[key]).find(Array.isArray) ?? []) : [];
  return listAt(value, 'resourceSpans')
    .flatMap((resource) => listAt(resource, 'scopeSpans', 'instrumentationLibrarySpans'))
    .flatMap((scope) => listAt(scope, 'spans'))
    .flatMap((span) => (isRecord(span) ? (spanOf(span, listAt) ?? []) : []));
}

function spanOf(
  span: Attributes,
  listAt: (holder: unknown, ...keys: readonly string[]) => readonly unknown[],
): Span | null {
  const [trace, id] = [textAt(span, 'traceId', 'trace_id'), textAt(span, 'spanId', 'span_id')];
  const start = span['startTimeUnixNano'] ?? span['start_time_unix_nano'];
  if (trace === null || id === null) {
    return null;
  }
  return {
    trace,
    id,
    parent: textAt(span, 'parentSpanId', 'parent_span_id') ?? '',
    name: textAt(span, 'name') ?? '',
    start: /^\d{1,20}$/u.test(String(start)) ? BigInt(String(start)) : 0n,
    attributes: attributesOf(listAt(span, 'attributes')),
    events: listAt(span, 'events').flatMap((event) =>
      isRecord(event)
        ? [{ name: textAt(event, 'name') ?? '', attributes: attributesOf(listAt(event, 'attributes')) }]
        : [],
    ),
  };
}

const attributesOf = (list: readonly unknown[]): Attributes =>
  Object.fromEntries(
    list.flatMap((entry) =>
      isRecord(entry) && typeof entry['key'] === 'string' ? [[entry['key'], plain(entry['value'], 0)] as const] : [],
    ),
  );

/** An OTLP value as JSON has it. */
function plain(value: unknown, depth: number): unknown {
  if (!isRecord(value) || depth > MOST_DEPTH) {
    return undefined;
  }
  const { arrayValue, kvlistValue, intValue } = value;
  if (isRecord(arrayValue) && Array.isArray(arrayValue['values'])) {
    return arrayValue['values'].map((one) => plain(one, depth + 1));
  }
  if (isRecord(kvlistValue) && Array.isArray(kvlistValue['values'])) {
    return Object.fromEntries(
      kvlistValue['values'].flatMap((entry) =>
        isRecord(entry) && typeof entry['key'] === 'string' ? [[entry['key'], plain(entry['value'], depth + 1)]] : [],
      ),
    );
  }
  return intValue === undefined
    ? (value['stringValue'] ?? value['boolValue'] ?? value['doubleValue'])
    : Number(intValue);
}

interface Branch {
  readonly children: Map<string, Branch>;
  value: unknown;
}

/**
 * The list that attributes with numbers in their names are: `PREFIX.0.message.role`, `PREFIX.1.message.content`. Items
 * are objects; lists in them are lists again.
 */
export function listAt(attributes: Attributes, prefix: string): unknown[] {
  const root: Branch = { children: new Map(), value: undefined };
  for (const [key, value] of Object.entries(attributes)) {
    const path = key.startsWith(`${prefix}.`) ? key.slice(prefix.length + 1).split('.') : [];
    if (path.length > 0 && path.length <= MOST_DEPTH && path.every(isKept)) {
      let branch = root;
      for (const part of path) {
        const next = branch.children.get(part) ?? { children: new Map<string, Branch>(), value: undefined };
        branch.children.set(part, next);
        branch = next;
      }
      branch.value = value;
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
