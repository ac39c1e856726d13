import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { C3Error } from '../../../src/shared/errors.ts';
import { checkConfig } from '../../../src/training/config/checkConfig.ts';
import { readConfig } from '../../../src/training/config/readConfig.ts';

/** Line and column from 1, counted by hand from the text before. */
function placeOf(text: string, offset: number): string {
  const before = text.slice(0, offset).split('\n');
  return `${before.length}:${(before.at(-1) ?? '').length + 1}`;
}

/** Each problem as `line:column marked | message`. */
const found = (text: string): string[] =>
  checkConfig(text).map(({ start, end, message }) => `${placeOf(text, start)} ${text.slice(start, end)} | ${message}`);

function assertFound(text: string, ...expected: readonly RegExp[]): void {
  const all = found(text);
  assert.equal(all.length, expected.length, all.join('\n'));
  for (const [index, pattern] of expected.entries()) {
    assert.match(all[index] ?? '', pattern);
  }
}

describe('checkConfig', () => {
  it('finds nothing in what can be run', () => {
    for (const text of [
      '',
      '# a remark\n',
      '{}',
      'steps: 3\n',
      'device: webgpu\nadapter: {rank: 4}\n',
      '{"seed": 1, "task": {"name": "python"}}',
    ]) {
      assertFound(text);
    }
  });

  it('finds all problems at once, each where it is', () => {
    assertFound(
      'seed: 1\nstepz: 5\nppo:\n  lerning_rate: 1\n  epochs: many\n\n# a remark\nmethod: ppo\nsampling: {temperature: 0, top_p: 2}\n',
      /^2:1 stepz \| stepz: unknown key; did you mean steps\?$/,
      /^4:3 lerning_rate \| ppo\.lerning_rate: unknown key; did you mean learning_rate\?$/,
      /^5:11 many \| ppo\.epochs: .*expected number/,
      /^8:9 ppo \| method: did you mean mappo\? It must be one of c3, .*\.$/,
      /^9:25 0 \| sampling\.temperature: /,
      /^9:35 2 \| sampling\.top_p: /,
    );
  });

  it('counts columns right whatever the line ends, the indentation and the letters before', () => {
    assertFound('title: "ゼロ 😀"\r\nppo:\r\n    epochs: 0\r\n', /^3:13 0 \| ppo\.epochs: /);
    assertFound('{"title": "😀", "stepz": 1}', /^1:17 "stepz" \| stepz: /);
  });

  it('marks the key of a value that is missing or goes over lines', () => {
    assertFound(
      'steps:\nseed:\n  a: 1\n',
      /^1:1 steps \| steps: .*received null/,
      /^2:1 seed \| seed: .*received object/,
    );
  });

  it('says where a key of another section belongs, and which key of another section was meant', () => {
    assertFound(
      'learning_rate: 1\n',
      /^1:1 learning_rate \| learning_rate: unknown key here; write it as ppo: learning_rate or value_head: learning_rate\.$/,
    );
    assertFound('temprature: 1\n', /did you mean sampling: temperature\?$/);
  });

  it('marks an item of a list, and a bare value that represents a section', () => {
    assertFound(
      'adapter:\n  target_modules: [v_proj, q_pro]\ndevice: webgpuu\n',
      /^2:28 q_pro \| adapter\.target_modules\[1\]: .*mean q_proj\? /,
      /^3:9 webgpuu \| device\.provider: .*mean webgpu\? /,
    );
    assertFound('fanout: [2, -1]\n', /^1:13 -1 \| fanout\[1\]: /);
  });

  it('judges combinations beside other problems, but none whose keys are refused themselves', () => {
    assertFound(
      'fanout: [3, 3]\nstepz: 1\n',
      /^1:9 \[3, 3\] \| fanout: \[3, 3\] needs 9 evaluator calls/,
      /^2:1 stepz/,
    );
    assertFound('fanout: [3, 3]\nevaluator_budget: nine\n', /^2:19 nine/);
    assertFound('task: {evaluation_file: a.jsonl, train_file: 3}\n', /^1:46 3 \| task\.train_file/);
    assertFound('method: sft\ndevice: {precision: float16}\n');
    assertFound(
      'device: {precision: float16}\nchat: {template: none, thinking: true}\n',
      /^1:21 float16 \| device\.precision: /,
      /^2:34 true \| chat\.thinking: /,
    );
  });

  it('marks what keeps the text from being read, and what is given twice', () => {
    assertFound('seed: [1\n', /^1:8 1 \| Neither JSON nor YAML: Flow sequence/);
    assertFound('seed: 1\ntitle: "x\n', /\| Neither JSON nor YAML: Missing closing "quote\.$/);
    assertFound('seed: 1\nstepz: 2\nseed: 3\n', /^2:1 stepz/, /^3:1 seed \| This key has been given before/);
    assertFound('- seed\n', /^1:1 - seed \| A configuration must be a mapping/);
    assertFound('ppo: *base\n', /Unresolved alias/);
  });

  it('gives what a misspelt key or name should be, and nothing where it is not sure', () => {
    const replacements = (text: string): (string | null)[] => checkConfig(text).map(({ replacement }) => replacement);
    assert.deepEqual(replacements('stepz: 1\nmethod: magrop\nseed: x\nlearning_rate: 1\nzzzzzzzz: 1\n'), [
      'steps',
      'magrpo',
      null,
      null,
      null,
    ]);
  });

  it('finds at least what starting the run would refuse, and nothing where it would not', () => {
    const texts = [
      'stepz: 1',
      'steps: many',
      'fanout: 8',
      'ppo: 3',
      '"text"',
      '- a',
      'seed: 1\nseed: 2',
      'seed: [1',
      'seed: !!js/function "x"',
      'chat: {thinks: 1}',
      'fanout: [9]',
      'task: {levels: [0]}',
      'a: &a 1\nb: *a',
      'title: ok',
      'steps: 0',
      'device: auto',
    ];
    for (const text of texts) {
      let refusal: string | null = null;
      try {
        readConfig(text, 'x');
      } catch (error) {
        assert.ok(error instanceof C3Error);
        refusal = error.message;
      }
      const faults = checkConfig(text);
      assert.equal(faults.length > 0, refusal !== null, `${text}: ${String(refusal)}`);
      for (const { start, end } of faults) {
        assert.ok(start >= 0 && end > start && end <= text.length, `${text}: ${start} to ${end}`);
      }
    }
  });

  it('reads no more of a text than a configuration can be', () => {
    assertFound(`title: x\n${'# remark\n'.repeat(10_000)}`, /^1:1 title: x \| The file has 90009 characters/);
    assert.equal(checkConfig(Array.from({ length: 1000 }, (_, index) => `k${index}: 1`).join('\n')).length, 200);
  });
});
