/** Spans of OpenTelemetry in JSON (OTLP), with their attributes as plain values. */
import { isRecord } from '../shared/guard.ts';
import { textAt } from '../chat/fields.ts';

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

/** The span that a value of the list `spans` is; null for a value that is none. */
export function spanOf(value: unknown): Span | null {
  if (!isRecord(value)) {
    return null;
  }
  const [trace, id] = [textAt(value, 'traceId', 'trace_id'), textAt(value, 'spanId', 'span_id')];
  const start = value['startTimeUnixNano'] ?? value['start_time_unix_nano'];
  if (trace === null || id === null) {
    return null;
  }
  return {
    trace,
    id,
    parent: textAt(value, 'parentSpanId', 'parent_span_id') ?? '',
    name: textAt(value, 'name') ?? '',
    start: /^\d{1,20}$/u.test(String(start)) ? BigInt(String(start)) : 0n,
    attributes: attributesOf(value['attributes']),
    events: (Array.isArray(value['events']) ? value['events'] : []).flatMap((event: unknown) =>
      isRecord(event) ? [{ name: textAt(event, 'name') ?? '', attributes: attributesOf(event['attributes']) }] : [],
    ),
  };
}

const attributesOf = (list: unknown): Attributes =>
  Object.fromEntries(
    (Array.isArray(list) ? list : []).flatMap((entry: unknown) =>
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
  const start = `${prefix}.`;
  // Of most spans no attribute is meant: their values are not looked at.
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
