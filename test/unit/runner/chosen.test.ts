import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { chooseFiles } from '../../runner/chosen.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..');
const chosen = (...names: string[]): string[] =>
  chooseFiles('unit', names, ROOT).map((file) => file.replaceAll('\\', '/'));

test('a room is all tests below its folder, a part of it those below that', () => {
  const runtime = chosen('runtime');
  assert.ok(runtime.includes('test/unit/runtime/random.test.ts'));
  assert.ok(runtime.includes('test/unit/runtime/graph/graph.test.ts'));
  assert.ok(runtime.every((file) => file.startsWith('test/unit/runtime/')));
  assert.ok(chosen('runtime/graph').every((file) => file.startsWith('test/unit/runtime/graph/')));
});

test('a room of the system tests is what lies below its folder there', () => {
  const engine = chooseFiles('system', ['engine'], ROOT).map((file) => file.replaceAll('\\', '/'));
  assert.ok(engine.includes('test/system/engine/commandLine/cli.test.ts'));
  assert.ok(engine.every((file) => file.startsWith('test/system/engine/')));
  assert.ok(chosen('engine').every((file) => file.startsWith('test/unit/engine/')));
  assert.throws(() => chooseFiles('system', ['absent'], ROOT), /no test file and no room named "absent"/u);
});

test('a name that has tests of the other kind only says how to run them', () => {
  assert.throws(() => chosen('engine/program'), /has system tests only: npm run test:system -- engine\/program$/u);
  assert.throws(() => chooseFiles('system', ['credit'], ROOT), /has unit tests only: npm run test:unit -- credit$/u);
});

test('files and rooms go together, each file once', () => {
  const own = 'test/unit/runner/chosen.test.ts';
  assert.deepEqual(chosen(own), [own]);
  assert.deepEqual(chosen(own, 'runner').toSorted(), chosen('runner').toSorted());
});

test('without a name it is the whole suite', () => {
  const all = chosen();
  assert.ok(all.includes('test/unit/runner/chosen.test.ts'));
  assert.ok(all.every((file) => file.startsWith('test/unit/')));
  const system = chooseFiles('system', [], ROOT).map((file) => file.replaceAll('\\', '/'));
  for (const folder of ['system', 'crash', 'attack']) {
    assert.ok(system.some((file) => file.startsWith(`test/${folder}/`)));
  }
  assert.ok(chooseFiles('integration', [], ROOT).every((file) => file.includes('integration')));
});

test('a name that is nothing is refused with the nearest room', () => {
  assert.throws(
    () => chosen('credits'),
    /^Error: There is no test file and no room named "credits"\. Did you mean credit\?$/u,
  );
  assert.throws(() => chosen('test/unit/absent.test.ts'), /no test file and no room/u);
  assert.throws(() => chosen('../attack'), /no test file and no room/u);
});
