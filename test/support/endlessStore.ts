/**
 * A store whose pages were made by hand so that a scan of its messages never ends: each page of the table is reached by
 * 300 ways from the one above it.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { loadSqlite } from '../../src/store/files/sqlite.ts';

/** A tree of SQLite has at most 20. */
const LEVELS = 12;
const CELLS = 300;
/** Of a header of the file: where the number of pages is. */
const PAGE_COUNT = 28;
const INTERIOR = 5;
const LEAF = 13;
/** Child page and a key of two bytes. */
const CELL_BYTES = 6;

/** Changes the pages of the store at `path`, which nobody has open. */
export function makeEndless(path: string): void {
  const db = new (loadSqlite())(path);
  db.pragma('wal_checkpoint(TRUNCATE)');
  db.pragma('journal_mode = DELETE');
  const root = Number(db.prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'decision'").pluck().get());
  const size = Number(db.pragma('page_size', { simple: true }));
  db.close();
  const before = readFileSync(path);
  const pages = before.length / size;
  const content = Buffer.concat([before, Buffer.alloc(LEVELS * size)]);
  content.writeUInt32BE(pages + LEVELS, PAGE_COUNT);
  let at = root;
  for (let level = 1; level <= LEVELS; level++) {
    interior(content.subarray((at - 1) * size, at * size), pages + level);
    at = pages + level;
  }
  const leaf = content.subarray((at - 1) * size, at * size);
  leaf.fill(0);
  leaf.writeUInt8(LEAF, 0);
  // One row: a record of one byte, row 1, and of its columns nothing.
  leaf.writeUInt16BE(1, 3);
  leaf.writeUInt16BE(size - 4, 5);
  leaf.writeUInt16BE(size - 4, 8);
  leaf.set([1, 1, 1], size - 4);
  writeFileSync(path, content);
}

function interior(page: Buffer, child: number): void {
  page.fill(0);
  page.writeUInt8(INTERIOR, 0);
  page.writeUInt16BE(CELLS, 3);
  page.writeUInt16BE(page.length - CELLS * CELL_BYTES, 5);
  page.writeUInt32BE(child, 8);
  for (let cell = 0; cell < CELLS; cell++) {
    const place = page.length - (cell + 1) * CELL_BYTES;
    page.writeUInt16BE(place, 12 + 2 * cell);
    page.writeUInt32BE(child, place);
    page.writeUInt8(0x80 | (cell >> 7), place + 4);
    page.writeUInt8(cell & 0x7f, place + 5);
  }
}
