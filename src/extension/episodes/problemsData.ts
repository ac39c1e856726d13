/** Problems as a data set that `task.train_file` and `task.evaluation_file` read. */
import type { Problem } from '../../domain/problem.ts';

/**
 * One line of JSON for each problem with an answer. Those that tests score are left out: their data has another form.
 * @returns the lines and how many were left out
 */
export function problemsData(problems: readonly Problem[]): { readonly text: string; readonly left: number } {
  const answered = problems.filter(({ tests }) => tests === undefined);
  const lines = answered.map(({ uid, question, answer, level }) =>
    JSON.stringify({ uid, question, answer, ...(level !== null && { level }) }),
  );
  return { text: lines.map((line) => `${line}\n`).join(''), left: problems.length - answered.length };
}
