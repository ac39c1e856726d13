/** Parses links into a store and finds their targets. Each part is validated: links are untrusted. */

import { relative, resolve } from 'node:path';
import { findClearest } from '../../shared/credit/order.ts';
import { hasCode } from '../../shared/errors.ts';
import type { Link, Subject } from '../../shared/links.ts';
import type { StoreReader } from '../../store/read/reader.ts';

/** The decoded path and query of an address. */
export interface Address {
  readonly path: string;
  readonly query: string;
}

const LONGEST_ID = 200;
const LONGEST_FOLDER = 4096;

export const NO_LINK = 'This is not a link that C3 made; nothing was opened.';

/** Parses an address. Returns null if it is not a link of C3. */
export function parseLink({ path, query }: Address): Link | null {
  const [, kind, id = ''] = /^\/(run|bucket|message)\/([^]+)$/u.exec(path) ?? [];
  const [, run, folder = ''] = /^(?:run=([^&]+)&)?folder=([^]+)$/u.exec(query) ?? [];
  if (kind === undefined || id.length > LONGEST_ID || folder === '' || folder.length > LONGEST_FOLDER) {
    return null;
  }
  if (kind === 'run') {
    return run === undefined ? { subject: { kind, run: id }, folder } : null;
  }
  if (
    (kind !== 'bucket' && kind !== 'message') ||
    run === undefined ||
    run.length > LONGEST_ID ||
    !/^[1-9]\d{0,15}$/u.test(id)
  ) {
    return null;
  }
  const number = Number(id);
  return Number.isSafeInteger(number) ? { subject: { kind, id: number, run }, folder } : null;
}

/**
 * Returns a sentence if a link's folder is not the open one, or null. @param open null if no folder is
 * open
 */
export function findFolderFault(folder: string, open: string | null): string | null {
  if (open !== null && relative(resolve(open), resolve(folder)) === '') {
    return null;
  }
  return `This link points to another folder, ${sanitizePath(folder)}: open that folder first, then open the link again.`;
}

/**
 * Makes a path safe for a notification, where brackets could form links. Replaces unusual characters,
 * and keeps only the end of a long path.
 */
function sanitizePath(path: string): string {
  const shown = path.toWellFormed().replaceAll(/[^\p{L}\p{N} ._/\\:@~-]/gu, '\u00b7');
  return shown.length > 120 ? `\u2026${shown.slice(-119)}` : shown;
}

/**
 * Finds the run or the message of a subject.
 * @returns the place, or one sentence if the store does not hold it
 */
export function findSubjectPlace(
  reader: Pick<StoreReader, 'run' | 'message' | 'bucketView'>,
  subject: Subject,
): { readonly run: string; readonly message: number | null } | string {
  const gone = `The ${subject.kind} that this link points to is not in the store of this folder; it may come from an earlier store.`;
  try {
    const { run } = subject.kind === 'run' ? { run: reader.run(subject.run).id } : subject;
    if (subject.kind === 'run') {
      return { run, message: null };
    }
    const message = subject.kind === 'message' ? subject.id : findBucketMessage(reader, subject.id);
    return message !== null && reader.message(message).run === run ? { run, message } : gone;
  } catch (error) {
    if (hasCode(error, 'notFound')) {
      return gone;
    }
    throw error;
  }
}

/**
 * Returns the message of a bucket: the replayed one, else the alternative with the clearest credit, as
 * in the side bar, else the first alternative.
 */
export function findBucketMessage(reader: Pick<StoreReader, 'bucketView'>, id: number): number | null {
  const { message, alternatives } = reader.bucketView(id);
  const clearest = findClearest(alternatives.map(({ message: one, credit }) => ({ id: one, credit })));
  return message ?? clearest?.id ?? alternatives[0]?.message ?? null;
}
