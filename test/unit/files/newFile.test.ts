import assert from 'node:assert/strict';
import fs, { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { readSmall, replaceFile, writeNew } from '../../../src/files/newFile.ts';

test('a file is replaced, not what a link names; a folder in its place is an error that leaves nothing behind', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'c3-new-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const [other, link, taken] = [join(folder, 'other'), join(folder, 'link'), join(folder, 'taken')];
  writeFileSync(other, 'before');
  symlinkSync(other, link);
  replaceFile(link, 'after');
  assert.deepEqual([readFileSync(link, 'utf8'), readFileSync(other, 'utf8')], ['after', 'before']);
  mkdirSync(join(taken, 'within'), { recursive: true });
  assert.throws(() => replaceFile(taken, 'after'), /EISDIR|ENOTEMPTY|EEXIST/u);
  assert.deepEqual(readdirSync(folder).toSorted(), ['link', 'other', 'taken']);
});

test('a file that does not fit on the disk is an error, and neither it nor a part of it is there', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'c3-new-'));
  const sync = t.mock.method(fs, 'fsyncSync', () => {
    throw Object.assign(new Error('ENOSPC: no space left on device, fsync'), { code: 'ENOSPC' });
  });
  syncBuiltinESMExports();
  t.after(() => {
    sync.mock.restore();
    syncBuiltinESMExports();
    rmSync(folder, { recursive: true, force: true });
  });
  const kept = join(folder, 'kept');
  writeFileSync(kept, 'before');
  assert.throws(() => writeNew(join(folder, 'new'), 'content'), { code: 'ENOSPC' });
  assert.throws(() => replaceFile(kept, 'after'), { code: 'ENOSPC' });
  assert.deepEqual([readdirSync(folder), readFileSync(kept, 'utf8')], [['kept'], 'before']);
});

test('a small file is read up to its limit of bytes; one byte more, a link, and a folder give null', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'c3-new-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const [file, link] = [join(folder, 'file'), join(folder, 'link')];
  writeFileSync(file, 'ä12');
  symlinkSync(file, link);
  assert.deepEqual([readSmall(file, 4), readSmall(file, 3)], ['ä12', null]);
  assert.deepEqual([readSmall(link, 4), readSmall(folder, 4)], [null, null]);
  assert.throws(() => readSmall(join(folder, 'none'), 4), { code: 'ENOENT' });
});
