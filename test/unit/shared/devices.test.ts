/** The table of execution providers: what differs between them is there, and nothing else decides by their names. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import {
  AUTOMATIC_PROVIDERS,
  DEVICE_REQUESTS,
  PROVIDER_TRAITS,
  PROVIDERS,
  findTraits,
} from '../../../src/shared/devices.ts';
import { configSchema } from '../../../src/training/config/config.ts';
import { readConfig } from '../../../src/training/config/readConfig.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..');

function sourceFiles(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(folder, name));
}

describe('the table of providers', () => {
  it('describes each, one of them the processor', () => {
    assert.deepEqual(PROVIDERS, Object.keys(PROVIDER_TRAITS));
    assert.equal(new Set(PROVIDERS.map((provider) => findTraits({ provider }).title)).size, PROVIDERS.length);
    assert.deepEqual(
      PROVIDERS.filter((provider) => !findTraits({ provider }).accelerator),
      ['cpu'],
    );
    for (const provider of PROVIDERS) {
      assert.match(findTraits({ provider }).words, /^[A-Z].*\.$/u);
    }
    assert.equal(findTraits({}), PROVIDER_TRAITS.cpu);
  });

  it('ranks those that are tried for `auto`, no two alike', () => {
    assert.deepEqual(AUTOMATIC_PROVIDERS.slice(0, 3), ['cuda', 'webgpu', 'dml']);
    assert.ok(!AUTOMATIC_PROVIDERS.includes('cpu') && !AUTOMATIC_PROVIDERS.includes('coreml'));
    const ranks = AUTOMATIC_PROVIDERS.map((provider) => findTraits({ provider }).automatic);
    assert.equal(new Set(ranks).size, ranks.length);
  });

  it('is what a configuration may name', () => {
    for (const request of DEVICE_REQUESTS) {
      assert.equal(readConfig('', 'test', [`device=${request}`]).device.provider, request);
    }
    assert.equal(configSchema.parse({}).device.provider, 'cpu');
  });

  it('is the only place that decides by the name of a provider', () => {
    const names = [...PROVIDERS, 'auto'].join('|');
    const comparison = new RegExp(
      String.raw`(?:provider|request|device)\b[^\n=!?&|]*[!=]== '(?:${names})'|\?\? '(?:${PROVIDERS.join('|')})'|provider = '`,
      'u',
    );
    const deciding = ['src', 'webview']
      .flatMap(sourceFiles)
      .filter((file) => comparison.test(readFileSync(join(ROOT, file), 'utf8')));
    assert.deepEqual(deciding, []);
  });
});
