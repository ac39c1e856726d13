/** The user's labels on messages and buckets, appended and never changed; the last one counts. */

import { withStoreErrors } from '../files/sqlite.ts';
import type { Session } from '../files/sqlite.ts';
import type { Label, NewLabel, StoreReader, StoreWriter } from '../types.ts';

/** The SQL of store version 5. All labels of earlier versions are by the user of the workspace. */
export const VERSION_5 = `
ALTER TABLE label ADD COLUMN author TEXT NOT NULL DEFAULT 'you';
`;

const LABEL = 'SELECT label.id, label.message, label.bucket, name, note, author, created_at AS createdAt';

export function labelReaders(
  session: Session,
): Pick<StoreReader, 'labelsOfMessage' | 'labelsOfBucket' | 'labelsOfRun'> {
  const { db } = session;
  const ofMessage = db.prepare<[number], Label>(`${LABEL} FROM label WHERE message = ? ORDER BY id`);
  const ofBucket = db.prepare<[number], Label>(`${LABEL} FROM label WHERE bucket = ? ORDER BY id`);
  // The query starts with the run's buckets, which an index has in order.
  const ofRun = db.prepare<[string], Label>(
    `${LABEL} FROM bucket CROSS JOIN label ON label.bucket = bucket.id WHERE bucket.run = ? ORDER BY label.id`,
  );
  return {
    labelsOfMessage: withStoreErrors(session, (message) => ofMessage.all(message)),
    labelsOfBucket: withStoreErrors(session, (bucket) => ofBucket.all(bucket)),
    labelsOfRun: withStoreErrors(session, (run) => ofRun.all(run)),
  };
}

export function labelWriter(session: Session): Pick<StoreWriter, 'insertLabel'> {
  const insert = session.db.prepare<[NewLabel]>(
    'INSERT INTO label (message, bucket, name, note, author, created_at) VALUES (@message, @bucket, @name, @note, @author, @createdAt)',
  );
  return { insertLabel: withStoreErrors(session, (label) => Number(insert.run(label).lastInsertRowid)) };
}
