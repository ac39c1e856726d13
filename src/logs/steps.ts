/** What a program of agents did, one thing at a time: a call of a model or a tool, or what was around such calls. */
import type { ModelCall } from '../chat/modelCall.ts';

export interface Step {
  /** Of the episode. */
  readonly trace: string;
  readonly id: string;
  /** Empty for the first of a trace. */
  readonly parent: string;
  /** Nanoseconds since 1970. */
  readonly start: bigint;
  readonly kind: 'model' | 'tool' | 'other';
  /** The agent that it names; null where it names none. */
  readonly agent: string | null;
  /** What the episode scored, where this says so. */
  readonly score: number | null;
  /** What a model was asked with, and what it said. */
  readonly call: () => ModelCall;
  /** What a tool is called, and what it gave. */
  readonly result: () => { readonly source: string; readonly text: string };
}

const DIGITS = 9;

/** Nanoseconds since 1970 of an ISO 8601 time with up to nine decimals; 0 for what is none. */
export function nanosecondsOf(value: unknown): bigint {
  const [, whole = '', fraction = '', zone = ''] =
    typeof value === 'string'
      ? (/^(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:?\d\d)?$/u.exec(value) ?? [])
      : [];
  // Without a zone such times are UTC in every log that is read.
  const milliseconds = Date.parse(`${whole.replace(' ', 'T')}${zone === '' ? 'Z' : zone}`);
  return Number.isNaN(milliseconds) ? 0n : BigInt(milliseconds) * 1_000_000n + BigInt(fraction.padEnd(DIGITS, '0'));
}
