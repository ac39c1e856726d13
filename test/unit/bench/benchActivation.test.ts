/** `c3 bench activation` on bundles made for the test: what it measures, and what it refuses. */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { benchActivation } from '../../../src/bench/speed/activation.ts';
import { C3Error, CancelledError } from '../../../src/shared/errors.ts';

const folder = mkdtempSync(join(tmpdir(), 'c3-activation-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const OPTIONS = { quick: true, signal: new AbortController().signal, note: () => undefined };

function bundle(name: string, text: string): string {
  const path = join(folder, `${name}.cjs`);
  writeFileSync(path, text);
  return path;
}

test('loading and activating are measured apart, each time in a new process', async () => {
  const wait = (milliseconds: number): string =>
    `Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ${milliseconds});`;
  const path = bundle(
    'slow',
    `${wait(40)} const { commands, window, EventEmitter } = require('vscode');
    exports.activate = async (context) => { ${wait(15)} context.subscriptions.push(commands.registerCommand('a', () => {}), window.createTreeView('b', {}), new EventEmitter()); };`,
  );
  const { suite, figures } = await benchActivation(OPTIONS, path);
  const value = (name: string): number => figures.find((figure) => figure.name === name)?.value ?? NaN;
  assert.equal(suite, 'activation');
  assert.ok(value('loading the bundle, median') >= 39, 'a bundle that was loaded before would take nothing');
  assert.ok(value('activating, median') >= 14);
  assert.ok(value('loading and activating, median') >= 54);
  assert.equal(value('goal'), 100);
});

test('a bundle that is missing, broken, idle or heavy is refused with a reason', async () => {
  const refused = (path: string, says: RegExp): Promise<void> =>
    assert.rejects(benchActivation(OPTIONS, path), (error) => error instanceof C3Error && says.test(error.message));
  await refused(join(folder, 'none.cjs'), /There is no extension at .*none\.cjs: build it first/u);
  await refused(bundle('broken', 'throw new Error("no");'), /did not activate/u);
  await refused(bundle('idle', 'exports.activate = () => {};'), /without registering a command/u);
  await refused(
    bundle(
      'heavy',
      `exports.activate = () => { try { require('better-sqlite3'); } catch {} require('vscode').commands.registerCommand('a', () => {}); };`,
    ),
    /loads better-sqlite3 when it activates/u,
  );
  await assert.rejects(benchActivation({ ...OPTIONS, signal: AbortSignal.abort() }, bundle('any', '')), CancelledError);
});
