/** Buckets for the tests of the diagnostics. */

import type { DiagnosticBucket } from '../../../src/diagnostics/bucket.ts';

export interface Given {
  readonly returns?: readonly (readonly (number | null)[])[];
  readonly next?: readonly (readonly string[])[];
  readonly texts?: readonly string[];
  readonly credited?: number;
  readonly valueFrom?: number;
  readonly valueCount?: number;
  readonly real?: number | null;
  readonly id?: string;
  readonly role?: string;
  /** Credits as they are stored, by mappo. */
  readonly credits?: readonly (number | null)[];
}

/** As many alternatives as the longest list given; all are credited unless set otherwise. */
export function bucket({ returns = [], next = [], texts = [], ...more }: Given): DiagnosticBucket {
  const count = Math.max(returns.length, next.length, texts.length);
  return {
    id: more.id ?? 'b',
    role: more.role ?? 'reasoner',
    alternatives: Array.from({ length: count }, (_, j) => ({
      text: texts[j] ?? `text ${j}`,
      returns: returns[j] ?? [],
      next: next[j] ?? [],
      evaluatorCalls: returns[j]?.length ?? 0,
      credit: more.credits?.[j] ?? null,
    })),
    credited: more.credited ?? count,
    valueFrom: more.valueFrom ?? count,
    valueCount: more.valueCount ?? 0,
    real: more.real === undefined ? 0 : more.real,
  };
}

/** Twelve contexts of irregular returns: four credited alternatives, the second the real one, and two value samples. */
export const IRREGULAR: readonly DiagnosticBucket[] = Array.from({ length: 12 }, (_, b) =>
  bucket({
    returns: Array.from({ length: 6 }, (__, j) =>
      Array.from({ length: 1 + ((b * 3 + j * 5) % 4) }, (___, m) => ((b * 17 + j * 31 + m * 7) % 23) / 11 - 0.5),
    ),
    credited: 4,
    valueFrom: 4,
    valueCount: 2,
    real: 1,
  }),
);
