/** The scale of each run's returns, derived from its configuration by the rule of the writer. */

import type { ReturnScale } from '../../shared/credit/returns.ts';
import type { Connection } from '../files/sqlite.ts';

/** The SQL that adds them to a store. The values are NULL if the evaluator is not known. */
export const RETURN_SCALES = `
CREATE TABLE return_scale (
  run TEXT PRIMARY KEY REFERENCES run,
  low REAL,
  high REAL,
  solved REAL
) STRICT, WITHOUT ROWID;
`;

type Row = { readonly [Key in keyof ReturnScale]: number | null };

/** Reads the scale of a run. Null if its evaluator is unknown, or no writer has derived it yet. */
export function scaleReader(db: Connection): (run: string) => ReturnScale | null {
  const read = db.prepare<[string], Row>('SELECT low, high, solved FROM return_scale WHERE run = ?');
  return (run) => {
    const { low = null, high = null, solved = null } = read.get(run) ?? {};
    return low === null || high === null || solved === null ? null : { low, high, solved };
  };
}

/**
 * Derives the scale of a run, or of every run that has none yet.
 * @param scaleOf the rule, which reads the configuration of a run
 */
export function scaleKeeper(
  db: Connection,
  scaleOf: (runConfig: string) => ReturnScale | null,
): { readonly derive: (run: string) => void; readonly deriveMissing: () => void } {
  const config = db.prepare<[string], string>('SELECT config FROM run WHERE id = ?').pluck();
  const missing = db.prepare<[], string>('SELECT id FROM run WHERE id NOT IN (SELECT run FROM return_scale)').pluck();
  const write = db.prepare<[string, number | null, number | null, number | null]>(
    'INSERT OR REPLACE INTO return_scale (run, low, high, solved) VALUES (?, ?, ?, ?)',
  );
  const derive = (run: string): void => {
    const { low = null, high = null, solved = null } = scaleOf(config.get(run) ?? '') ?? {};
    write.run(run, low, high, solved);
  };
  return {
    derive,
    deriveMissing: () => {
      for (const run of missing.all()) {
        derive(run);
      }
    },
  };
}
