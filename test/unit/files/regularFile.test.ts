import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { readRegular } from '../../../src/files/regularFile.ts';
import { C3Error } from '../../../src/shared/errors.ts';

it('readRegular gives the bytes of a file, and says in one sentence why it does not', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'c3-regular-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'data.jsonl');
  writeFileSync(path, 'twelve bytes');
  assert.equal((await readRegular(path, 12, 'choose another file')).toString(), 'twelve bytes');
  const refused = async (name: string, most: number, message: RegExp): Promise<void> => {
    await assert.rejects(readRegular(name, most, 'choose another file', 'input', 'split it'), (error) => {
      assert.ok(error instanceof C3Error && error.kind === 'input');
      assert.match(error.message, message);
      return true;
    });
  };
  await refused(path, 11, /^\S+data\.jsonl has 12 B, more than the 11 B that such a file may have; split it\.$/u);
  await refused(
    folder,
    99,
    /^Cannot read \S+: EISDIR, a folder, and it is not a regular file; choose another file\.$/u,
  );
  await refused(join(folder, 'none'), 99, /^Cannot read \S+: ENOENT.*; choose another file\.$/u);
});
