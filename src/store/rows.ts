/** Small things that all readers share. */
import { C3Error } from '../shared/errors.ts';
import { damagedStore } from './files/sqlite.ts';
import type { Session } from './files/sqlite.ts';
import { parentFault } from './tree.ts';
import type { Page } from './types.ts';

/** Throws C3Error('input') for an id that the store does not hold. */
export function notFound(session: Session, what: string, id: string | number): never {
  throw new C3Error('input', `There is no ${what} ${id} in the store ${session.path}: check the id and --store.`, {
    code: 'notFound',
  });
}

/**
 * A message as it was read. Whoever follows messages to the first comes to an end because each was stored after the one
 * that it follows.
 * @throws C3Error('store') for one that was not
 */
export function inOrder<Row extends { readonly id: number; readonly parent: number | null }>(
  session: Session,
  row: Row,
): Row {
  if (row.parent !== null && !(row.parent < row.id)) {
    throw damagedStore(session.path, parentFault(row.id));
  }
  return row;
}

/** The offset and limit of a page. @throws C3Error('input') unless both are whole numbers from 0 on */
export function checkedPage({ offset, limit }: Page): Page {
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
