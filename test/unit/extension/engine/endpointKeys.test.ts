/** Keys of servers: kept before they are said to be set, found again by their names, and removed. */

import assert from 'node:assert/strict';
import { registerHooks } from 'node:module';
import { test } from 'node:test';
import type { SecretStorage } from 'vscode';

const answers: string[] = [];
const said: string[] = [];
Object.assign(globalThis, {
  c3Answered: () => Promise.resolve(answers.shift()),
  c3Said: (words: string) => {
    said.push(words);
    return Promise.resolve();
  },
});
const EDITOR = `export class Disposable { dispose() {} }
  export const window = {
    showInputBox: () => globalThis.c3Answered(),
    showInformationMessage: (words) => globalThis.c3Said(words),
  };`;
registerHooks({
  resolve: (specifier, context, next) =>
    specifier === 'vscode'
      ? { url: `data:text/javascript,${encodeURIComponent(EDITOR)}`, shortCircuit: true }
      : next(specifier, context),
});
const { Disposable } = await import('vscode');
const { EndpointKeys } = await import('../../../../src/extension/engine/endpointKeys.ts');

const NAME = 'C3_KEY_API_EXAMPLE_COM';

function keysOf(
  secrets: Map<string, string>,
  store: (key: string) => Promise<void>,
): InstanceType<typeof EndpointKeys> {
  const kept = new Map<string, unknown>();
  const storage: Pick<SecretStorage, 'get' | 'store' | 'delete' | 'onDidChange'> = {
    get: (name) => Promise.resolve(secrets.get(name)),
    store: async (name, key) => {
      await store(key);
      secrets.set(name, key);
    },
    delete: (name) => Promise.resolve(void secrets.delete(name)),
    onDidChange: () => new Disposable(() => undefined),
  };
  const memento = {
    keys: () => [...kept.keys()],
    get: (name: string, other?: unknown): unknown => kept.get(name) ?? other,
    update: (name: string, value: unknown) => Promise.resolve(void kept.set(name, value)),
  };
  return new EndpointKeys(storage, memento, () => undefined);
}

test('a key is kept before it is said to be set, and is gone once it is removed', async () => {
  const secrets = new Map<string, string>();
  const keys = keysOf(secrets, async () => {
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(said, [], 'nothing is said before');
  });
  answers.push('https://api.example.com/v1', 'sk-typed');
  await keys.set();
  assert.deepEqual(said.splice(0), ['Key of api.example.com set.']);
  assert.deepEqual(await keys.all(), { [NAME]: 'sk-typed' });
  answers.push('https://api.example.com/v1', '');
  await keys.set();
  assert.deepEqual(said.splice(0), ['Key of api.example.com removed.']);
  assert.deepEqual([await keys.all(), secrets.size], [{}, 0]);
});

test('a key that cannot be kept is not said to be set', async () => {
  const keys = keysOf(new Map(), () => Promise.reject(new Error('locked')));
  answers.push('https://api.example.com/v1', 'sk-typed');
  await assert.rejects(keys.set(), /locked/u);
  assert.deepEqual(said, []);
});
