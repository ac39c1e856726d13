/** Helpers that all readers share. */

import { C3Error } from '../shared/errors.ts';
import { damagedStoreError } from './files/sqlite.ts';
import type { Session } from './files/sqlite.ts';
import { describeParentFault } from './tree.ts';
import type { Page } from './types.ts';

/**
 * Reports an unknown id.
 * @throws C3Error('input') always
 */
export function throwNotFound(session: Session, what: string, id: string | number): never {
  throw new C3Error('input', `There is no ${what} ${id} in the store ${session.path}: check the id and --store.`, {
    code: 'notFound',
  });
}

/**
 * Returns a row after checking that its parent was stored before it. This check ensures that following
 * parents ends.
 * @throws C3Error('store') if it was not
 */
export function requireParentBefore<Row extends { readonly id: number; readonly parent: number | null }>(
  session: Session,
  row: Row,
): Row {
  if (row.parent !== null && !(row.parent < row.id)) {
    throw damagedStoreError(session.path, describeParentFault(row.id));
  }
  return row;
}

/**
 * Returns the offset and limit of a page.
 * @throws C3Error('input') unless both are whole numbers from 0 on
 */
export function checkPage({ offset, limit }: Page): Page {
  for (const [name, value] of Object.entries({ offset, limit })) {
    if (!Number.isSafeInteger(value) || value < 0) {
      throw new C3Error(
        'input',
        `The ${name} ${value} of a page of the store is not a whole number from 0 on: correct it.`,
      );
    }
  }
  return { offset, limit };
}
