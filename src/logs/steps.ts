/** The steps of an agent program: calls of models and tools, and the spans around them. */

import { jsonWithoutBytes, parseStructured, valueAt } from '../chat/fields.ts';
import type { CallMeasures } from '../chat/measures.ts';
import type { ModelCall } from '../chat/modelCall.ts';
import { isRecord } from '../shared/guard.ts';
import type { RecordedMeasures } from './episode.ts';

export interface Step {
  /** The id of the episode. */
  readonly trace: string;
  readonly id: string;
  /** Empty for the first step of a trace. */
  readonly parent: string;
  /** Nanoseconds since 1970. */
  readonly start: bigint;
  /** Nanoseconds since 1970, or 0 if the log does not say. */
  readonly end: bigint;
  /** The real times if `start` is an index in an order. */
  readonly time?: { readonly start: bigint; readonly end: bigint };
  /** 'agent' stands for several calls as a whole, which may be within it or not recorded. */
  readonly kind: 'model' | 'tool' | 'agent' | 'other';
  /** The agent that it names, or null. */
  readonly agent: string | null;
  /** The score of the episode, if this step gives it. */
  readonly score: number | null;
  /** The reason for its failure, or null. */
  readonly failed: string | null;
  /** For a tool, the id of the call that it answers, or null if the log does not say. */
  readonly answers: string | null;
  /** Reasons and counts of the parts that the log lacks. */
  readonly lacks: readonly (readonly [string, number])[];
  /** Reads the input and the output of a model call. */
  readonly call: () => ModelCall;
  /** Reads the output and at least the input's instructions, if that is cheaper than all. */
  readonly instructed?: () => Pick<ModelCall, 'input' | 'output'>;
  /** Reads the name, arguments and result of a tool call. */
  readonly result: () => ToolResult;
}

/** Returns the measures of a call from its times and its own metadata. */
export function measureCall({ start, end }: Pick<Step, 'start' | 'end'>, measures?: CallMeasures): RecordedMeasures {
  const begun = toSeconds(start);
  const first = toSeconds(readTime(measures?.firstToken));
  return {
    start: begun === null ? null : begun * 1000,
    seconds: begun === null || end < start ? null : Number(end - start) / 1e9,
    firstTokenSeconds:
      measures?.firstTokenSeconds ?? (begun === null || first === null || first < begun ? null : first - begun),
    cost: measures?.cost ?? null,
    temperature: measures?.temperature ?? null,
  };
}

/** Returns seconds since 1970, or null if the number is an index in an order. */
const toSeconds = (nanoseconds: bigint): number | null =>
  nanoseconds < 10n ** BigInt(NANO - 1) ? null : Number(nanoseconds / 1000n) / 1e6;

export interface ToolResult {
  readonly source: string;
  /** The arguments, or empty if the log does not hold them. */
  readonly asked: string;
  readonly text: string | null;
}

/** Returns a tool's arguments as text, without the wrapper of a patched function. */
export function argumentsText(value: unknown): string {
  const given = parseStructured(value);
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

/** Returns nanoseconds since 1970 of an ISO 8601 time with up to nine decimals, or else 0. */
export function parseIsoTime(value: unknown): bigint {
  const [, whole = '', fraction = '', zone = ''] =
    typeof value === 'string'
      ? (/^(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?\d*(Z|[+-]\d\d:?\d\d)?$/u.exec(value.trim()) ?? [])
      : [];
  // Times without a zone are UTC in every known log.
  const milliseconds = Date.parse(`${whole.replace(' ', 'T')}${zone === '' ? 'Z' : zone}`);
  return Number.isNaN(milliseconds) ? 0n : BigInt(milliseconds) * 1_000_000n + BigInt(fraction.padEnd(DIGITS, '0'));
}

/** Digits of a count since 1970 today, by its unit. */
const [NANO, MICRO, MILLI] = [17, 14, 11] as const;

/**
 * Returns nanoseconds since 1970 of an ISO 8601 time, or of a count whose length tells its unit.
 * Returns 0 for other values.
 */
export function readTime(value: unknown): bigint {
  const text = typeof value === 'number' ? String(Math.round(value)) : value;
  if (typeof text !== 'string' || !/^\d{1,20}$/u.test(text)) {
    return parseIsoTime(value);
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
