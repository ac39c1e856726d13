/**
 * The small numbers that represent problems, snapshots and environments inside the store, remembered while a writer is
 * open.
 */
import type { Problem } from '../../domain/problem.ts';
import type { NumericEnvironment } from '../../domain/snapshot.ts';
import { C3Error } from '../../shared/errors.ts';
import type { Session } from '../files/sqlite.ts';
import { testsText } from '../tables/problemTests.ts';

/** Of each kind; an import may have any number of problems. */
const MOST_REMEMBERED = 1024;

export interface KeyWriter {
  /** @throws C3Error('store') when the problem was not inserted */
  readonly problemId: (uidSha: string) => number;
  /** @throws C3Error('store') when the run has no such snapshot */
  readonly snapshotId: (run: string, weights: string) => number;
  /** Stored on first sight. */
  readonly environmentId: (environment: NumericEnvironment) => number;
  /** Stored on first sight. @throws C3Error('store') when it is stored with another answer or other tests */
  readonly storeProblem: (problem: Problem) => void;
  /** Forgets what was remembered: rows may have been rolled back. */
  readonly forget: () => void;
}

export function keyWriter({ db, path }: Session): KeyWriter {
  const findProblem = db.prepare<[string], { id: number; answer: string; tests: string | null }>(
    'SELECT id, answer, tests FROM instance WHERE uid_sha = ?',
  );
  const insertProblem = db.prepare<[Omit<Problem, 'tests'> & { readonly tests: string | null }]>(
    'INSERT INTO instance (uid_sha, uid, question, answer, source, level, tests) VALUES (@uidSha, @uid, @question, @answer, @source, @level, @tests)',
  );
  const findSnapshot = db
    .prepare<[string, string], number>('SELECT id FROM snapshot WHERE weights = ? AND run = ?')
    .pluck();
  const findEnvironment = db
    .prepare<[NumericEnvironment], number>(
      `
    SELECT id FROM environment
    WHERE runtime = @runtime AND provider = @provider AND device = @device AND threads = @threads AND platform = @platform`,
    )
    .pluck();
  const insertEnvironment = db.prepare<[NumericEnvironment]>(
    'INSERT INTO environment (runtime, provider, device, threads, platform) VALUES (@runtime, @provider, @device, @threads, @platform)',
  );
  const problems = new Map<string, number>();
  const snapshots = new Map<string, number>();

  return {
    problemId: (uidSha) =>
      remembered(
        problems,
        uidSha,
        () => findProblem.get(uidSha)?.id,
        `The problem ${uidSha} is not in the store ${path}: insert it before what refers to it.`,
      ),
    snapshotId: (run, weights) =>
      remembered(
        snapshots,
        `${weights} ${run}`,
        () => findSnapshot.get(weights, run),
        `The run ${run} has no snapshot ${weights} in the store ${path}: insert it before what refers to it.`,
      ),
    environmentId: (environment) =>
      findEnvironment.get(environment) ?? Number(insertEnvironment.run(environment).lastInsertRowid),
    storeProblem: (problem) => {
      const found = findProblem.get(problem.uidSha);
      const tests = testsText(problem.tests);
      if (found === undefined) {
        insertProblem.run({ ...problem, tests });
      } else if (found.answer !== problem.answer || found.tests !== tests) {
        const changed = found.answer === problem.answer ? 'other tests' : 'another answer';
        throw new C3Error(
          'store',
          `The problem ${problem.uid} (${problem.uidSha}) is in the store ${path} with ${changed}: correct the task file, or keep the changed task in another store (--store).`,
        );
      }
    },
    forget: () => {
      problems.clear();
      snapshots.clear();
    },
  };
}

function remembered(known: Map<string, number>, name: string, find: () => number | undefined, missing: string): number {
  const id = known.get(name) ?? find();
  if (id === undefined) {
    throw new C3Error('store', missing);
  }
  if (known.size >= MOST_REMEMBERED) {
    known.clear();
  }
  known.set(name, id);
  return id;
}
