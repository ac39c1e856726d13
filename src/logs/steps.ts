/** What a program of agents did, one thing at a time: a call of a model or a tool, or what was around such calls. */
import { jsonWithoutBytes, structured, valueAt } from '../chat/fields.ts';
import type { CallMeasures } from '../chat/measures.ts';
import type { ModelCall } from '../chat/modelCall.ts';
import { isRecord } from '../shared/guard.ts';
import type { RecordedMeasures } from './episode.ts';

export interface Step {
  /** Of the episode. */
  readonly trace: string;
  readonly id: string;
  /** Empty for the first of a trace. */
  readonly parent: string;
  /** Nanoseconds since 1970. */
  readonly start: bigint;
  /** Nanoseconds since 1970; 0 where the log does not say. */
  readonly end: bigint;
  /** When it was, where `start` is its place in an order and no time. */
  readonly time?: { readonly start: bigint; readonly end: bigint };
  /** An agent is what was said by several calls, as a whole; they may be within it or not recorded. */
  readonly kind: 'model' | 'tool' | 'agent' | 'other';
  /** The agent that it names; null where it names none. */
  readonly agent: string | null;
  /** What the episode scored, where this says so. */
  readonly score: number | null;
  /** Why it failed; null where it did not. */
  readonly failed: string | null;
  /** Of a tool: the call that it answers; null where the log does not say. */
  readonly answers: string | null;
  /** What of it the log does not hold as it was: a reason, with a count. */
  readonly lacks: readonly (readonly [string, number])[];
  /** What a model was asked with, and what it said. */
  readonly call: () => ModelCall;
  /** The same with less of the input, and its instructions at least, where that is read at less cost. */
  readonly instructed?: () => Pick<ModelCall, 'input' | 'output'>;
  /** What a tool is called, what it was called with, and what it gave; null where the log does not hold it. */
  readonly result: () => ToolResult;
}

/** What was measured of a call: when it was, and what it says of itself. */
export function measuredOf({ start, end }: Pick<Step, 'start' | 'end'>, measures?: CallMeasures): RecordedMeasures {
  const begun = secondsOf(start);
  const first = secondsOf(timeOf(measures?.firstToken));
  return {
    start: begun === null ? null : begun * 1000,
    seconds: begun === null || end < start ? null : Number(end - start) / 1e9,
    firstTokenSeconds:
      measures?.firstTokenSeconds ?? (begun === null || first === null || first < begun ? null : first - begun),
    cost: measures?.cost ?? null,
    temperature: measures?.temperature ?? null,
  };
}

/** Seconds since 1970; null for what is the place in an order and no time. */
const secondsOf = (nanoseconds: bigint): number | null =>
  nanoseconds < 10n ** BigInt(NANO - 1) ? null : Number(nanoseconds / 1000n) / 1e6;

export interface ToolResult {
  readonly source: string;
  /** What it was called with; empty where the log does not hold it. */
  readonly asked: string;
  readonly text: string | null;
}

/** What a tool was called with, as text. Libraries wrap the arguments in those of the function that they patched. */
export function argumentsText(value: unknown): string {
  const given = structured(value);
  const { args, kwargs, ...others } = isRecord(given) ? given : {};
  const isWrapped = Array.isArray(args) && Object.keys(others).length === 0 && isEmpty(kwargs);
  const inner = isWrapped && args.length === 1 ? (args as readonly unknown[])[0] : undefined;
  const plain = isRecord(given) ? (inner ?? valueAt(given, 'inputs', 'input_str', 'tool_input')) : undefined;
  const said = plain ?? given;
  return typeof said === 'string' ? said : isEmpty(said) ? '' : jsonWithoutBytes(said);
}

const isEmpty = (value: unknown): boolean =>
  value === undefined || value === null || (typeof value === 'object' && Object.keys(value).length === 0);

const DIGITS = 9;

/** Nanoseconds since 1970 of an ISO 8601 time with up to nine decimals; 0 for what is none. */
export function nanosecondsOf(value: unknown): bigint {
  const [, whole = '', fraction = '', zone = ''] =
    typeof value === 'string'
      ? (/^(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?\d*(Z|[+-]\d\d:?\d\d)?$/u.exec(value.trim()) ?? [])
      : [];
  // Without a zone such times are UTC in every log that is read.
  const milliseconds = Date.parse(`${whole.replace(' ', 'T')}${zone === '' ? 'Z' : zone}`);
  return Number.isNaN(milliseconds) ? 0n : BigInt(milliseconds) * 1_000_000n + BigInt(fraction.padEnd(DIGITS, '0'));
}

/** Digits of a count since 1970 today, by its unit. */
const [NANO, MICRO, MILLI] = [17, 14, 11] as const;

/** Nanoseconds since 1970 of a time as a log has it: ISO 8601, or a count whose unit its length tells; 0 for none. */
export function timeOf(value: unknown): bigint {
  const text = typeof value === 'number' ? String(Math.round(value)) : value;
  if (typeof text !== 'string' || !/^\d{1,20}$/u.test(text)) {
    return nanosecondsOf(value);
  }
  const count = BigInt(text);
  return text.length >= NANO
    ? count
    : text.length >= MICRO
      ? count * 1000n
      : text.length >= MILLI
        ? count * 1_000_000n
        : typeof value === 'number' && text.length >= DIGITS
          ? BigInt(Math.round(value * 1e6)) * 1000n
          : count;
}
