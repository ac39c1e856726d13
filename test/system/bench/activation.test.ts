/** `c3 bench activation`, of the extension that was built: it measures, and writes nothing where it is called. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { isRecord } from '../../../src/shared/guard.ts';

test('c3 bench activation activates the extension that was built', async (t) => {
  const cwd = mkdtempSync(join(tmpdir(), 'c3-activation-'));
  t.after(() => rmSync(cwd, { recursive: true, force: true }));
  const cli = join(import.meta.dirname, '../../../dist/cli.js');
  const { stdout } = await promisify(execFile)(process.execPath, [cli, 'bench', 'activation', '--quick', '--json'], {
    cwd,
  });
  assert.deepEqual(readdirSync(cwd), []);
  const report: unknown = JSON.parse(stdout);
  assert.ok(isRecord(report) && Array.isArray(report['figures']));
  assert.ok(
    report['figures'].some(
      (figure: unknown) =>
        isRecord(figure) && figure['name'] === 'loading and activating, median' && Number(figure['value']) > 0,
    ),
  );
});
