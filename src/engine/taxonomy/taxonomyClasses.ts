/** The taxonomy class of each problem of a run: that of most of its buckets. Pure. */
import type { Verdict } from '../../diagnostics/taxonomy.ts';
import type { ProblemClassRow } from '../../domain/problem.ts';
import { ALL_SUCCEEDED, PRECEDENCE, UNCLASSIFIED, type VerdictName } from '../../domain/taxonomy.ts';

/**
 * One row for each problem that has a bucket. Where several classes have as many buckets, the one that the rules ask
 * for first is; a problem without any class is one that fits none, or one in which all succeeded.
 * @param problems the problem (uidSha) of each bucket
 * @param verdicts of the buckets, in the same order
 */
export function problemClasses(
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
