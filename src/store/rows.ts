/** Small things that all readers share. */
import { C3Error } from '../shared/errors.ts';
import type { Session } from './sqlite.ts';
import type { Page } from './types.ts';

/** Throws C3Error('input') for an id that the store does not hold. */
export function notFound(session: Session, what: string, id: string | number): never {
  throw new C3Error('input', `There is no ${what} ${id} in the store ${session.path}: check the id and --store.`);
}

/** The offset and limit of a page. @throws C3Error('input') unless both are whole numbers from 0 on */
export function checkedPage({ offset, limit }: Page): Page {
  for (const [name, value] of Object.entries({ offset, limit })) {
    if (!Number.isSafeInteger(value) || value < 0) {
      throw new C3Error('input', `The ${name} ${value} of a page of the store is not a whole number from 0 on: correct it.`);
    }
  }
  return { offset, limit };
}
