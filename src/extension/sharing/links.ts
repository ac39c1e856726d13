/**
 * Links into a store: what they look like, and where they lead. They come from outside, so nothing in them is believed
 * unseen.
 */
import { relative, resolve } from 'node:path';
import { clearestOf } from '../../shared/credit/order.ts';
import { hasCode } from '../../shared/errors.ts';
import type { Link, Subject } from '../../shared/links.ts';
import type { StoreReader } from '../../store/read/reader.ts';

/** Path and query of an address, decoded. */
export interface Address {
  readonly path: string;
  readonly query: string;
}

const LONGEST_ID = 200;
const LONGEST_FOLDER = 4096;

export const NO_LINK = 'This is not a link that C3 made; nothing was opened.';

/** What an address leads to; null where it is none of ours. */
export function readLink({ path, query }: Address): Link | null {
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

/** Why a link's folder is not the one that is open; null where it is. @param open null where no folder is open */
export function wrongFolder(folder: string, open: string | null): string | null {
  if (open !== null && relative(resolve(open), resolve(folder)) === '') {
    return null;
  }
  return `This link points to another folder, ${harmless(folder)}: open that folder first, then open the link again.`;
}

/**
 * A path in a notification, which would make links of brackets: only what names are usually made of, and its end where
 * it is long.
 */
function harmless(path: string): string {
  const shown = path.toWellFormed().replaceAll(/[^\p{L}\p{N} ._/\\:@~-]/gu, '\u00b7');
  return shown.length > 120 ? `\u2026${shown.slice(-119)}` : shown;
}

/**
 * What to show for a subject.
 * @returns the run, or the message of it, or one sentence where the store does not hold it
 */
export function placeOf(
  reader: Pick<StoreReader, 'run' | 'message' | 'bucketView'>,
  subject: Subject,
): { readonly run: string; readonly message: number | null } | string {
  const gone = `The ${subject.kind} that this link points to is not in the store of this folder; it may come from an earlier store.`;
  try {
    const { run } = subject.kind === 'run' ? { run: reader.run(subject.run).id } : subject;
    if (subject.kind === 'run') {
      return { run, message: null };
    }
    const message = subject.kind === 'message' ? subject.id : messageOfBucket(reader, subject.id);
    return message !== null && reader.message(message).run === run ? { run, message } : gone;
  } catch (error) {
    if (hasCode(error, 'notFound')) {
      return gone;
    }
    throw error;
  }
}

/**
 * The message that a bucket is about: the one that was asked about, else the one of the clearest credit, as the side
 * bar opens it, else the first.
 */
export function messageOfBucket(reader: Pick<StoreReader, 'bucketView'>, id: number): number | null {
  const { message, alternatives } = reader.bucketView(id);
  const clearest = clearestOf(alternatives.map(({ message: one, credit }) => ({ id: one, credit })));
  return message ?? clearest?.id ?? alternatives[0]?.message ?? null;
}
