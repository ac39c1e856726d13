/** Files that are one JSON document: a list of items, or an object that has them under `problems`. */
import { readRegular } from '../../files/regularFile.ts';
import { C3Error } from '../../shared/errors.ts';
import { isRecord } from '../../shared/guard.ts';
import { readJsonRows, type Row } from './rows.ts';

const MOST_BYTES = 2 ** 26;
const MOST_ITEMS = 1_000_000;

/**
 * The items of a JSON document, bounded; where the file is no single document, its lines as JSON objects. An item that
 * is no object becomes the column `value`, and what an object says beside its `problems` is a column of each.
 * @throws C3Error('input') for a file that cannot be read, is too large or is no UTF-8
 */
export async function* readDocumentRows(path: string): AsyncGenerator<Row, void, undefined> {
  const advice = 'give the path of a readable JSON or JSONL file';
  const bytes = await readRegular(path, MOST_BYTES, advice, 'input', 'split it into smaller files');
  const document = parsed(bytes, path);
  if (document === undefined) {
    yield* readJsonRows(path);
    return;
  }
  const shared = isRecord(document) ? Object.entries(document).filter(([, value]) => typeof value !== 'object') : [];
  const items: unknown = isRecord(document) ? (document['instances'] ?? [document]) : document;
  if (!Array.isArray(items) || items.length > MOST_ITEMS) {
    throw new C3Error('input', `${path}: the document is no list of at most ${MOST_ITEMS} items.`);
  }
  for (const [index, item] of items.entries()) {
    const own: unknown = item;
    yield {
      number: index + 1,
      place: `${path}, item ${index + 1}`,
      line: 1,
      columns: { ...Object.fromEntries(shared), ...(isRecord(own) ? own : { value: own }) },
    };
  }
}

/** Undefined where the text is not one JSON value. */
function parsed(bytes: Buffer, path: string): unknown {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw new C3Error('input', `${path}: the file is not UTF-8; save the text as UTF-8.`, { cause: error });
  }
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // JSON Lines, whose reader says what is wrong and where.
  }
}
