import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { BUNDLED_TEAMS, EXAMPLES, selectFirstFault } from '../../../../src/extension/run/subjects.ts';
import { checkConfig } from '../../../../src/training/config/checkConfig.ts';
import { readConfig } from '../../../../src/training/config/readConfig.ts';

const FOLDER = join(import.meta.dirname, '..', '..', '..', '..', 'media', 'examples');

test('every example that comes with the product can be started from the list, and starts', () => {
  const files = readdirSync(FOLDER).filter((name) => name.endsWith('.c3.yaml'));
  assert.deepEqual(Object.keys(EXAMPLES).sort(), files.sort());
  for (const name of files) {
    assert.equal(selectFirstFault(checkConfig(readFileSync(join(FOLDER, name), 'utf8'))), null, name);
  }
});

test('every bundled team is in the list with what chooses it', () => {
  for (const [task, { overrides }] of Object.entries(BUNDLED_TEAMS)) {
    assert.equal(readConfig('', 'list', [...overrides]).task.name, task);
  }
});

test('a broken configuration is marked with what keeps it from starting, and a warning marks none', () => {
  assert.match(selectFirstFault(checkConfig('title: x\nstepz: 3\n'))?.message ?? '', /stepz/u);
  assert.equal(selectFirstFault([{ message: 'odd', start: 0, end: 1, severity: 'warning' }]), null);
});
