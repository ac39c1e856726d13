/** Buckets sampled or imported for measurements: their credited alternatives and their cost. */

import { withStoreErrors } from '../files/sqlite.ts';
import type { Session } from '../files/sqlite.ts';
import { checkPage } from '../rows.ts';
import type { DiagnosticRow, DiagnosticSample, Page, StoreReader, StoreWriter } from '../types.ts';
import { guardTriggers } from './schema.ts';

/**
 * The SQL of store version 4. The CHECK of a column cannot be changed, so the table of buckets is
 * created again with its rows. References to them are checked at the end of the migration.
 */
export const VERSION_4 = `
PRAGMA defer_foreign_keys = ON;
CREATE TABLE bucket_before AS SELECT * FROM bucket;
DROP TABLE bucket;
CREATE TABLE bucket (
  id INTEGER PRIMARY KEY,
  run TEXT NOT NULL REFERENCES run,
  origin TEXT NOT NULL CHECK (origin IN ('training', 'request', 'diagnostic')),
  iteration INTEGER NOT NULL,
  instance INTEGER NOT NULL REFERENCES instance,
  event_type TEXT NOT NULL,
  turn INTEGER NOT NULL,
  context_key TEXT NOT NULL,
  snapshot INTEGER NOT NULL REFERENCES snapshot,
  message INTEGER REFERENCES decision
) STRICT;
INSERT INTO bucket SELECT * FROM bucket_before;
DROP TABLE bucket_before;
CREATE INDEX bucket_context ON bucket (run, event_type, context_key);
CREATE INDEX bucket_origin ON bucket (run, origin);
${guardTriggers('bucket', 'id = NEW.id')}

CREATE TABLE diagnostic_sample (
  id INTEGER PRIMARY KEY,
  run TEXT NOT NULL REFERENCES run,
  settings TEXT NOT NULL
) STRICT;
CREATE INDEX diagnostic_sample_run ON diagnostic_sample (run);
${guardTriggers('diagnostic_sample', 'id = NEW.id')}

CREATE TABLE diagnostic_bucket (
  bucket INTEGER PRIMARY KEY REFERENCES bucket,
  sample INTEGER NOT NULL REFERENCES diagnostic_sample,
  credited INTEGER NOT NULL,
  value_from INTEGER NOT NULL,
  value_count INTEGER NOT NULL,
  real INTEGER,
  seconds REAL,
  joules REAL,
  source TEXT
) STRICT;
CREATE INDEX diagnostic_bucket_sample ON diagnostic_bucket (sample);
${guardTriggers('diagnostic_bucket', 'bucket = NEW.bucket')}
`;

export function diagnosticReaders(
  session: Session,
): Pick<StoreReader, 'diagnosticSamples' | 'diagnosticBuckets' | 'diagnosticBucket'> {
  const row =
    'SELECT bucket, sample, credited, value_from AS valueFrom, value_count AS valueCount, real, seconds, joules, source FROM diagnostic_bucket';
  const samples = session.db.prepare<[string], DiagnosticSample>(
    'SELECT id, run, settings FROM diagnostic_sample WHERE run = ? ORDER BY id',
  );
  const buckets = session.db.prepare<[{ sample: number } & Page], DiagnosticRow>(
    `${row} WHERE sample = @sample ORDER BY bucket LIMIT @limit OFFSET @offset`,
  );
  const one = session.db.prepare<[number], DiagnosticRow>(`${row} WHERE bucket = ?`);
  return {
    diagnosticSamples: withStoreErrors(session, (run) => samples.all(run)),
    diagnosticBuckets: withStoreErrors(session, (sample, offset, limit) =>
      buckets.all({ sample, ...checkPage({ offset, limit }) }),
    ),
    diagnosticBucket: withStoreErrors(session, (bucket) => one.get(bucket) ?? null),
  };
}

export function diagnosticWriters(
  session: Session,
): Pick<StoreWriter, 'insertDiagnosticSample' | 'insertDiagnosticBucket'> {
  const sample = session.db.prepare<[string, string]>('INSERT INTO diagnostic_sample (run, settings) VALUES (?, ?)');
  const bucket = session.db.prepare<[DiagnosticRow]>(`
    INSERT INTO diagnostic_bucket (bucket, sample, credited, value_from, value_count, real, seconds, joules, source)
    VALUES (@bucket, @sample, @credited, @valueFrom, @valueCount, @real, @seconds, @joules, @source)`);
  return {
    insertDiagnosticSample: withStoreErrors(session, (run, settings) =>
      Number(sample.run(run, settings).lastInsertRowid),
    ),
    insertDiagnosticBucket: withStoreErrors(session, (row) => bucket.run(row)),
  };
}
