/** The unit tests of a problem in the store: one JSON text beside its question. */

import type { Problem, ProblemTests } from '../../domain/problem.ts';

/** The SQL of store version 3. */
export const VERSION_3 = 'ALTER TABLE instance ADD COLUMN tests TEXT;';

export type StoredProblem = Omit<Problem, 'tests'> & { readonly tests: string | null };

/** Returns tests as text, or null if there are none. The order of their keys does not change the text. */
export function formatTests(tests: ProblemTests): string;
export function formatTests(tests: ProblemTests | undefined): string | null;
export function formatTests(tests: ProblemTests | undefined): string | null {
  if (tests === undefined) {
    return null;
  }
  const { tests: statements, test, entryPoint, setup, prefix, reads } = tests;
  return JSON.stringify({ tests: statements, test, entryPoint, setup, prefix, ...(reads !== undefined && { reads }) });
}

export function toProblem({ tests, ...problem }: StoredProblem): Problem {
  // The store wrote this JSON itself.
  return tests === null ? problem : { ...problem, tests: JSON.parse(tests) as ProblemTests };
}
