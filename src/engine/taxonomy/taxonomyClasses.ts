/** Finds the taxonomy class of each problem of a run: the class of most of its buckets. Pure. */

import type { Verdict } from '../../diagnostics/taxonomy.ts';
import type { ProblemClassRow } from '../../domain/problem.ts';
import { ALL_SUCCEEDED, PRECEDENCE, UNCLASSIFIED, type VerdictName } from '../../domain/taxonomy.ts';

/**
 * Returns one row for each problem that has a bucket. If several classes have the same number of
 * buckets, the first in the order of the rules counts. A problem without a class fits none, or
 * succeeded always.
 * @param problems problem (uidSha) of each bucket
 * @param verdicts verdict of each bucket, in the same order
 */
export function findProblemClasses(
  problems: readonly string[],
  verdicts: readonly Pick<Verdict, 'name'>[],
): readonly ProblemClassRow[] {
  const byProblem = new Map<string, Map<VerdictName, number>>();
  problems.forEach((problem, index) => {
    const name = verdicts[index]?.name ?? UNCLASSIFIED;
    const counts = byProblem.get(problem) ?? new Map<VerdictName, number>();
    counts.set(name, (counts.get(name) ?? 0) + 1);
    byProblem.set(problem, counts);
  });
  return [...byProblem].map(([problem, counts]) => {
    const of = [...counts.values()].reduce((sum, count) => sum + count, 0);
    const classes = PRECEDENCE.map((name) => ({ name, cases: counts.get(name) ?? 0 }))
      .filter(({ cases }) => cases > 0)
      .sort((a, b) => b.cases - a.cases);
    const rest = counts.has(UNCLASSIFIED) ? UNCLASSIFIED : ALL_SUCCEEDED;
    const { name, cases } = classes[0] ?? { name: rest, cases: counts.get(rest) ?? 0 };
    return { problem, name, cases, of };
  });
}
