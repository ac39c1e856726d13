import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { recordedText } from '../../../../src/extension/configuration/recordedText.ts';
import { readConfig } from '../../../../src/training/config/readConfig.ts';

const FOLDER = join(import.meta.dirname, '..', '..', '..', '..', 'media', 'examples');

test('the configuration of a run, as text, is read as the run was', () => {
  const texts = readdirSync(FOLDER)
    .filter((name) => name.endsWith('.c3.yaml'))
    .map((name) => readFileSync(join(FOLDER, name), 'utf8'));
  for (const text of ['', 'ppo: {epochs: 3}\nadapter: {rank: 4, alpha: 8}\nseed: 5', ...texts]) {
    const config = readConfig(text, 'written');
    const again = recordedText(JSON.stringify({ config, folder: '/runs of "mine"' })) ?? '';
    assert.deepEqual(readConfig(again, 'again'), config, again);
  }
});

test('it says what differs from the defaults and nothing else, and where its paths lead', () => {
  const config = readConfig('title: Mine\nppo: {epochs: 3}', 'written');
  assert.deepEqual(recordedText(JSON.stringify({ config, folder: '/a' }))?.split('\n'), [
    '# As a run was recorded. Omitted keys have their defaults.',
    '# Paths are relative to "/a", where it was.',
    'title: "Mine"',
    'ppo:',
    '  epochs: 3',
    '',
  ]);
  assert.deepEqual(['{}', 'no json', '[]'].map(recordedText), [null, null, null]);
});
