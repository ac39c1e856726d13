/** The differences that verifications found, for programs; `verification.detail` is for readers. */

import type { Difference } from '../../domain/verification.ts';
import type { Session } from '../files/sqlite.ts';
import { guardTriggers } from './schema.ts';

/** The SQL that adds them to a store. Verifications of earlier versions have no row. */
export const VERIFICATION_DIFFERENCES = `
CREATE TABLE verification_difference (
  verification INTEGER PRIMARY KEY REFERENCES verification,
  kind TEXT NOT NULL CHECK (kind IN ('token', 'return', 'row', 'event')),
  token INTEGER CHECK ((kind = 'token') = (token IS NOT NULL))
) STRICT;
${guardTriggers('verification_difference', 'verification = NEW.verification')}
`;

/** The columns of a row that may be missing. */
export interface DifferenceColumns {
  readonly kind: Difference['kind'] | null;
  readonly token: number | null;
}

export function toDifference({ kind, token }: DifferenceColumns): Difference | null {
  if (kind === null) {
    return null;
  }
  return kind === 'token' ? { kind, token: token ?? 0 } : { kind };
}

export function differenceWriter({ db }: Session): (verification: number, difference: Difference) => void {
  const insert = db.prepare<[number, string, number | null]>(
    'INSERT INTO verification_difference (verification, kind, token) VALUES (?, ?, ?)',
  );
  return (verification, difference) =>
    insert.run(verification, difference.kind, difference.kind === 'token' ? difference.token : null);
}
