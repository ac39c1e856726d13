/**
 * The results of the complete evaluations of a run. Each is stored when its evaluation ends, so it is
 * available before the run ends and after a cancel.
 */

import type { EvaluationKind } from '../../domain/evaluation.ts';
import { withStoreErrors, type Session } from '../files/sqlite.ts';
import type { StoredEvaluation, StoreReader, StoreWriter } from '../types.ts';
import { guardTriggers } from './schema.ts';

/** The SQL that adds them to a store. A value is null if the evaluator failed to score every episode. */
export const EVALUATIONS = `
CREATE TABLE evaluation (
  run TEXT NOT NULL REFERENCES run,
  iteration INTEGER NOT NULL,
  step INTEGER NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('greedy', 'sampled')),
  value REAL,
  low REAL,
  high REAL,
  n INTEGER NOT NULL,
  PRIMARY KEY (run, iteration)
) STRICT;
${guardTriggers('evaluation', 'run = NEW.run AND iteration = NEW.iteration')}
`;

interface EvaluationRow {
  readonly iteration: number;
  readonly step: number;
  readonly kind: EvaluationKind;
  readonly value: number | null;
  readonly low: number | null;
  readonly high: number | null;
  readonly n: number;
}

export function evaluationReaders(session: Session): Pick<StoreReader, 'evaluations' | 'evaluationNumbers'> {
  const { db } = session;
  const all = db.prepare<[string], EvaluationRow>(
    'SELECT iteration, step, kind, value, low, high, n FROM evaluation WHERE run = ? ORDER BY step, iteration',
  );
  // Steps from each number to the next by the index, because an evaluation has thousands of episodes.
  const numbers = db
    .prepare<[{ run: string }], number>(
      `
    WITH RECURSIVE found (iteration) AS (
      SELECT min(iteration) FROM episode WHERE run = @run AND phase = 'evaluate'
      UNION ALL
      SELECT (SELECT min(iteration) FROM episode WHERE run = @run AND phase = 'evaluate' AND iteration > found.iteration)
      FROM found WHERE found.iteration IS NOT NULL
    )
    SELECT iteration FROM found WHERE iteration IS NOT NULL
    UNION SELECT iteration FROM hand_return WHERE run = @run AND phase = 'evaluate' ORDER BY 1`,
    )
    .pluck();
  return {
    evaluations: withStoreErrors(session, (run) => all.all(run).map(toStoredEvaluation)),
    evaluationNumbers: withStoreErrors(session, (run) => numbers.all({ run })),
  };
}

export function evaluationWriter(session: Session): Pick<StoreWriter, 'insertEvaluation'> {
  const insert = session.db.prepare<[EvaluationRow & { run: string }]>(`
    INSERT INTO evaluation (run, iteration, step, kind, value, low, high, n)
    VALUES (@run, @iteration, @step, @kind, @value, @low, @high, @n)`);
  return {
    insertEvaluation: withStoreErrors(session, (run, { iteration, step, kind, result }) =>
      insert.run({ run, iteration, step, kind, value: null, low: null, high: null, n: 0, ...result }),
    ),
  };
}

function toStoredEvaluation({ iteration, step, kind, value, low, high, n }: EvaluationRow): StoredEvaluation {
  return { iteration, step, kind, result: value === null ? null : { value, low, high, n } };
}
