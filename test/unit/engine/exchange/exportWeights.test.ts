import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { test } from 'node:test';
import { exportWeights } from '../../../../src/engine/exchange/exportWeights.ts';

test('the weights of a model come last, so that a folder with weights is complete', async (t) => {
  const place = mkdtempSync(join(tmpdir(), 'c3-export-'));
  t.after(() => rmSync(place, { recursive: true, force: true }));
  const [model, out] = [join(place, 'model'), join(place, 'out')];
  const companions = ['config.json', 'generation_config.json', 'tokenizer.json', 'tokenizer_config.json'];
  mkdirSync(model);
  for (const name of companions) {
    writeFileSync(join(model, name), '{}');
  }
  let beside: readonly string[] = [];
  const runtime = {
    hasAdapter: () => Promise.resolve(false),
    saveAdapter: () => assert.fail('the whole model was asked for'),
    saveSnapshot: (snapshot: string, path: string) => {
      assert.deepEqual([snapshot, basename(path)], ['weights', 'model.safetensors']);
      beside = readdirSync(dirname(path)).toSorted();
      return Promise.resolve();
    },
  };
  assert.deepEqual(await exportWeights(runtime, 'weights', 'model', out, model), [out]);
  assert.deepEqual(beside, companions);
});
