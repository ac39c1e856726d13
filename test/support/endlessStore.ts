/**
 * Makes a store in which a scan of one table never ends: each page of the table is reached by
 * hundreds of paths from the page above it.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { loadSqlite } from '../../src/store/files/sqlite.ts';

/** Levels of the tree. SQLite allows at most 20. */
const LEVELS = 12;
const MOST_CELLS = 300;
/** Offset of the number of pages in the header of the file. */
const PAGE_COUNT = 28;
const INTERIOR = 5;
const LEAF = 13;
const INTERIOR_BYTES = 12;
/** Bytes of a cell: the child page and a key of two bytes. */
const CELL_BYTES = 6;
/** Bytes of a cell and the pointer to it. */
const PLACED_BYTES = CELL_BYTES + 2;

export interface EndlessPages {
  /** The table whose scan does not end. */
  readonly table?: string;
  /** Bytes of a page. The default is the page size of the store. */
  readonly pageSize?: number;
  /** True if the pages mark their cells as free space. */
  readonly hidden?: boolean;
}

/** Changes the pages of the store at `path`, which must not be open. */
export function makeEndless(path: string, { table = 'decision', pageSize, hidden = false }: EndlessPages = {}): void {
  const db = new (loadSqlite())(path);
  db.pragma('wal_checkpoint(TRUNCATE)');
  db.pragma('journal_mode = DELETE');
  if (pageSize !== undefined) {
    db.pragma(`page_size = ${pageSize}`);
    db.exec('VACUUM');
  }
  const root = Number(db.prepare('SELECT rootpage FROM sqlite_schema WHERE name = ?').pluck().get(table));
  const size = Number(db.pragma('page_size', { simple: true }));
  db.close();
  const before = readFileSync(path);
  const pages = before.length / size;
  const content = Buffer.concat([before, Buffer.alloc(LEVELS * size)]);
  content.writeUInt32BE(pages + LEVELS, PAGE_COUNT);
  let at = root;
  for (let level = 1; level <= LEVELS; level++) {
    interior(content.subarray((at - 1) * size, at * size), pages + level, hidden);
    at = pages + level;
  }
  const leaf = content.subarray((at - 1) * size, at * size);
  leaf.fill(0);
  leaf.writeUInt8(LEAF, 0);
  // One row: a record of one byte, row 1, without columns.
  leaf.writeUInt16BE(1, 3);
  leaf.writeUInt16BE(size - 4, 5);
  leaf.writeUInt16BE(size - 4, 8);
  leaf.set([1, 1, 1], size - 4);
  writeFileSync(path, content);
}

function interior(page: Buffer, child: number, hidden: boolean): void {
  const cells = Math.min(MOST_CELLS, Math.floor((page.length - INTERIOR_BYTES) / PLACED_BYTES));
  page.fill(0);
  page.writeUInt8(INTERIOR, 0);
  page.writeUInt16BE(cells, 3);
  // An offset of 65,536 is stored as 0.
  page.writeUInt16BE((page.length - (hidden ? 0 : cells * CELL_BYTES)) % 65_536, 5);
  page.writeUInt32BE(child, 8);
  for (let cell = 0; cell < cells; cell++) {
    const place = page.length - (cell + 1) * CELL_BYTES;
    page.writeUInt16BE(place, INTERIOR_BYTES + 2 * cell);
    page.writeUInt32BE(child, place);
    page.writeUInt8(0x80 | (cell >> 7), place + 4);
    page.writeUInt8(cell & 0x7f, place + 5);
  }
}
