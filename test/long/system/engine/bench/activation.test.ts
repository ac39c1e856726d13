/** `c3 bench activation`, of the extension that was built. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { isRecord } from '../../../../../src/shared/guard.ts';

test('c3 bench activation activates the extension that was built', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [
    join(import.meta.dirname, '../../../../../dist/cli.js'),
    'bench',
    'activation',
    '--quick',
    '--json',
  ]);
  const report: unknown = JSON.parse(stdout);
  assert.ok(isRecord(report) && Array.isArray(report['figures']));
  assert.ok(
    report['figures'].some(
      (figure: unknown) =>
        isRecord(figure) && figure['name'] === 'loading and activating, median' && Number(figure['value']) > 0,
    ),
  );
});
