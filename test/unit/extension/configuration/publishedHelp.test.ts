import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { findHover, listWrittenPaths, findSuggestions } from '../../../../src/extension/configuration/help.ts';
import {
  CONFIGURATION,
  findConfigKey,
  selectKeys,
  type ConfigKey,
} from '../../../../src/extension/configuration/keys.ts';
import { checkConfig } from '../../../../src/training/config/checkConfig.ts';
import { PUBLISHED_SECTIONS } from '../../../../src/training/config/published/publishedKeys.ts';

const PUBLISHED = selectKeys('dataset: {}\n');
const SECTIONS = Object.keys(PUBLISHED_SECTIONS);

const labels = (text: string): string[] =>
  findSuggestions(text.replace('|', ''), text.indexOf('|'))?.items.map(({ label }) => label) ?? [];
const hover = (text: string): string => findHover(text.replace('|', ''), text.indexOf('|'))?.markdown ?? '';

describe('help for a file of the published scripts', () => {
  it('has words for every key and every name of a value', () => {
    const below = (key: ConfigKey): readonly ConfigKey[] => key.keys.flatMap((inner) => [inner, ...below(inner)]);
    for (const key of PUBLISHED.keys
      .filter(({ name }) => SECTIONS.includes(name))
      .flatMap((one) => [one, ...below(one)])) {
      assert.match(key.description, /^\p{L}.{10,299}\.$/u, key.path);
      for (const [name, words] of key.choices) {
        assert.match(words, /^\S.{3,199}\.$/u, `${key.path}: ${name}`);
      }
    }
  });

  it('offers its sections and keys, and ours beside them', () => {
    const top = labels('dataset: {type: mbpp}\n|');
    assert.deepEqual(
      top.filter((name) => SECTIONS.includes(name)),
      SECTIONS.filter((name) => name !== 'dataset'),
    );
    assert.ok(top.includes('steps') && top.includes('device'));
    assert.deepEqual(top, [...new Set(top)]);
    assert.deepEqual(labels('dataset:\n  |'), ['name', 'type', 'train_split', 'eval_split', 'private']);
    assert.ok(labels('model:\n  name: x\nmagrpo:\n  num_|').includes('num_generations'));
    assert.ok(labels('grpo:\n  |').includes('termination_threshold'));
    assert.deepEqual(labels('dataset:\n  type: |'), ['humaneval', 'coophumaneval', 'mbpp']);
    assert.deepEqual(labels('wandb: {}\nexternal: {memory_mode: |}'), ['last', 'full', 'memoryful']);
    assert.deepEqual(labels('wandb: {}\nmagrpo: {joint_mode: |}'), ['align', 'aligned', 'cross', 'crossed']);
  });

  it('leaves our own configurations as they are', () => {
    assert.equal(selectKeys('model: bundled\nmagrpo: {num_turns: 2}\n'), CONFIGURATION);
    assert.deepEqual(labels('model: |'), ['bundled', 'bundled-small']);
  });

  it('explains keys and names', () => {
    assert.match(
      hover('dataset: {}\nmagrpo: {num_gen|erations: 4}'),
      /\*\*magrpo\.num_generations\*\*[^]*Default: `4`/u,
    );
    assert.match(hover('dataset: {}\nexternal: {memory_mode: mem|oryful}'), /memoryful[^]*own conversation/u);
    assert.match(hover('wan|db: {}'), /Read and ignored/u);
    assert.match(hover('model:\n  na|me: x'), /Nothing is downloaded/u);
    assert.equal(findConfigKey(['model', 'name'], PUBLISHED)?.default, 'Qwen/Qwen2.5-Coder-3B');
  });

  it('looks for no file of that name on the disk', () =>
    assert.deepEqual(listWrittenPaths('model: {name: Qwen/Qwen2.5-Coder-3B}\ndataset: {name: OpenMLRL/MBPP}\n'), []));

  it('marks unknown keys with the nearest one', () => {
    const text = 'model: {name: x}\nexternal:\n  memory_mod: full\n';
    const [fault] = checkConfig(text);
    assert.equal(fault?.message, 'external.memory_mod: unknown key; did you mean memory_mode?');
    assert.deepEqual([text.slice(fault.start, fault.end), fault.replacement], ['memory_mod', 'memory_mode']);
  });
});
