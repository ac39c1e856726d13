import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import type { ListKeeper } from '../../../../src/extension/common/listKeeper.ts';
import {
  toConfigurationName,
  toConfigurationOverrides,
  createConfigurationText,
  findFreeName,
  toModelReference,
} from '../../../../src/extension/model/modelConfiguration.ts';
import { ModelFolders } from '../../../../src/extension/model/modelFolders.ts';
import { isModelState, MODEL_PANEL } from '../../../../src/shared/protocols/modelProtocol.ts';
import { guardToHost } from '../../../../src/shared/protocols/panel.ts';
import { readConfig } from '../../../../src/training/config/readConfig.ts';

const isModelToHost = guardToHost(MODEL_PANEL);

const CPU = { adapterRank: 16, device: 'cpu' } as const;

/** Keeps a value as the editor does: as JSON. */
function keeper(value?: unknown): ListKeeper & { kept: string | undefined } {
  return {
    kept: value === undefined ? undefined : JSON.stringify(value),
    get(): unknown {
      return this.kept === undefined ? undefined : JSON.parse(this.kept);
    },
    update(_key: string, next: unknown): Promise<void> {
      this.kept = JSON.stringify(next);
      return Promise.resolve();
    },
  };
}

test('the folder used last comes first, none is listed twice, at most twenty are there', async () => {
  const folders = new ModelFolders(keeper());
  assert.deepEqual(folders.list(), []);
  for (let number = 1; number <= 25; number++) {
    await folders.remember(`/models/${number}`);
  }
  await folders.remember('/models/10');
  const paths = folders.list().map(({ path }) => path);
  assert.deepEqual([paths.length, paths[0], paths[1], paths.at(-1)], [20, '/models/10', '/models/25', '/models/6']);
  await folders.forget('/models/25');
  assert.deepEqual(
    folders
      .list()
      .map(({ path }) => path)
      .slice(0, 2),
    ['/models/10', '/models/24'],
  );
});

test('a folder that vanished is missing, as is one whose place a file took; it is there again when it comes back', async () => {
  const home = mkdtempSync(join(tmpdir(), 'c3-models-'));
  try {
    const path = join(home, 'model');
    const folders = new ModelFolders(keeper());
    await folders.remember(path);
    assert.deepEqual(folders.list(), [{ path, missing: true }]);
    writeFileSync(path, '');
    assert.deepEqual(folders.list(), [{ path, missing: true }]);
    rmSync(path);
    mkdirSync(path);
    assert.deepEqual(folders.list(), [{ path, missing: false }]);
  } finally {
    rmSync(home, { recursive: true });
  }
});

test('what was kept by something else is left out, not believed', () => {
  assert.deepEqual(new ModelFolders(keeper({ 0: '/a' })).list(), []);
  assert.deepEqual(
    new ModelFolders(keeper(['/a', 'relative', 7, null, ['/b']])).list().map(({ path }) => path),
    ['/a'],
  );
});

test('the written configuration is what the run schema reads: model, adapter and device, whatever the folder is called', () => {
  for (const name of [
    'qwen3',
    'Qwen2.5 "coder": #1',
    "it's {a}, [b]",
    '- x',
    'null',
    'ünïcode 模型',
    'a\nsteps: 99',
    'back\\slash',
  ]) {
    const home = '/papers';
    const folder = join(home, 'models', name);
    const config = readConfig(createConfigurationText(folder, home, CPU), 'test');
    assert.equal(resolve(home, config.model), folder, name);
    assert.equal(config.title, name);
    assert.deepEqual(
      [config.adapter?.rank, config.adapter?.alpha, config.device.provider, config.steps],
      [16, 32, 'cpu', 36],
    );
    assert.equal(readConfig('', 'test', toConfigurationOverrides(folder, CPU)).model, folder, name);
  }
  const whole = readConfig(
    createConfigurationText('/models/x', '/papers', { adapterRank: null, device: 'webgpu' }),
    'test',
  );
  assert.deepEqual([whole.model, whole.adapter, whole.device.provider], ['/models/x', null, 'webgpu']);
});

test('a run is planned with the keys that are written: the two ways give the same configuration', () => {
  for (const settings of [CPU, { adapterRank: null, device: 'auto' }, { adapterRank: 64, device: 'cuda' }] as const) {
    const written = readConfig(createConfigurationText('/models/x', '/papers', settings), 'test');
    assert.deepEqual(
      { ...readConfig('', 'test', toConfigurationOverrides('/models/x', settings)), title: written.title },
      written,
    );
  }
});

test('a model inside the folder is named relative to it, and never as the bundled team; one outside by its whole path', () => {
  assert.equal(toModelReference('/papers/bundled', '/papers'), './bundled');
  assert.equal(toModelReference('/papers/a/b', '/papers'), './a/b');
  assert.equal(toModelReference('/papers-2/a', '/papers'), '/papers-2/a');
  assert.equal(toModelReference('/', '/papers'), '/');
  assert.equal(toModelReference('/papers/..a', '/papers'), './..a');
  assert.equal(toModelReference('/papers', '/papers'), './');
});

test('a file is named after the folder, without what a path could take amiss, and never as one that is there', () => {
  assert.equal(toConfigurationName('/models/Qwen2.5-3B-Instruct'), 'Qwen2.5-3B-Instruct.c3.yaml');
  assert.equal(toConfigurationName('/models/a b:c*"d'), 'a-b-c-d.c3.yaml');
  assert.equal(toConfigurationName('/models/..hidden'), 'hidden.c3.yaml');
  assert.equal(toConfigurationName('/models/???'), 'model.c3.yaml');
  assert.equal(toConfigurationName('/'), 'model.c3.yaml');
  assert.equal(toConfigurationName(`/models/${'x'.repeat(300)}`).length, 68);
  assert.equal(
    findFreeName('a.c3.yaml', () => false),
    'a.c3.yaml',
  );
  const there = new Set(['a.c3.yaml', 'a-2.c3.yaml']);
  assert.equal(
    findFreeName('a.c3.yaml', (name) => there.has(name)),
    'a-3.c3.yaml',
  );
});

test("the panel's page can ask for what it offers and for nothing else", () => {
  const settings = { adapterRank: null, device: 'auto' };
  for (const message of [
    { type: 'ready' },
    { type: 'test' },
    { type: 'use' },
    { type: 'settings', settings },
    { type: 'settings', settings: CPU },
  ]) {
    assert.ok(isModelToHost(message), JSON.stringify(message));
  }
  for (const message of [
    { type: 'use', folder: '/etc' },
    { type: 'settings', settings: { ...settings, device: 'tpu' } },
    { type: 'settings', settings: { ...settings, adapterRank: 0 } },
    { type: 'settings', settings: { adapterRank: 4 } },
    { type: 'open' },
  ]) {
    assert.equal(isModelToHost(message), false, JSON.stringify(message));
  }
  assert.ok(isModelState({ version: 1, folder: '/a', settings }));
  assert.equal(isModelState({ version: 1, folder: 7, settings }), false);
});
