import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { stringify } from 'yaml';
import { isRecord } from '../../../src/shared/guard.ts';
import { parseYaml, readYamlValue } from '../../../src/shared/text/yaml.ts';
import { checkConfig } from '../../../src/training/config/checkConfig.ts';
import {
  convertPublished,
  NOTHING_THERE,
  toSliceNumber,
  countSliced,
} from '../../../src/training/config/published/convertPublished.ts';
import { isPublished, looksPublished } from '../../../src/training/config/published/publishedForm.ts';
import type { PublishedFacts } from '../../../src/training/config/published/publishedRow.ts';
import { readConfig, readConfigDocument } from '../../../src/training/config/readConfig.ts';
import { processReward } from '../../../src/training/methods/joint.ts';

const FOLDER = join(import.meta.dirname, '../../fixtures/published');
const FILES = readdirSync(FOLDER).sort();
const textOf = (file: string): string => readFileSync(join(FOLDER, file), 'utf8');

function recordOf(text: string): Readonly<Record<string, unknown>> {
  const value = readYamlValue(parseYaml(text));
  assert.ok(isRecord(value));
  return value;
}

const converted = (text: string, facts: PublishedFacts = NOTHING_THERE): ReturnType<typeof convertPublished> =>
  convertPublished(recordOf(text), facts);

/** The value at dotted keys of a conversion. */
function at(value: unknown, key: string): unknown {
  return key.split('.').reduce<unknown>((inner, part) => (isRecord(inner) ? inner[part] : undefined), value);
}

const faults = (text: string): string[] =>
  converted(text).faults.map(({ path, sentence }) => `${path.join('.')}: ${sentence}`);
const notes = (text: string, facts?: PublishedFacts): string[] =>
  converted(text, facts).notes.map(({ path, sentence }) => `${path.join('.')}: ${sentence}`);

/** The form of the scripts in 2026. */
const PRESENT = `
agent_model: {name: some/coder, type: qwen, temperature: 0.6, top_p: 0.6, top_k: null, max_length: 2048, special_tokens: {}, torch_dtype: bfloat16}
agents: null
critic_model: null
critics: null
dataset: {name: some/coop, type: coophumaneval, train_split: "train[16:]", eval_split: "train[:16]"}
seed: 42
output: {base_dir: out, verbose: false, save_final_model: false}
external: {mode: level_feedback, sandbox_slice: 1, external_prompt_passthrough: false}
magrpo:
  parallel_training: none
  agent_devices: ["cuda:0"]
  num_turns: 2
  agent_learning_rate: 3.0e-05
  logging_steps: 50
  discount: 1.0
  joint_mode: aligned
  early_termination_threshold: -0.2
  rollout_buffer_size: 4
  train_batch_size: 4
  advantage_normalization: true
  eval_interval: 4
  eval_num_samples: 4
  eval_batch_size: 1
reward_processor: {enabled: true, scale_factor: 1.0, shift: -3}
wandb: {project: x}
`;

describe('the published files', () => {
  it('are six', () => assert.equal(FILES.length, 6));

  for (const file of FILES) {
    it(`${file} converts`, () => {
      const text = textOf(file);
      assert.ok(isPublished(recordOf(text)) && looksPublished(text));
      const { value, faults: found, notes: said } = converted(text);
      assert.deepEqual(found, []);
      const [trainer = '', data = ''] = file.split('_');
      const two = trainer === 'magrpo';
      const keys = (names: readonly string[]): unknown[] => names.map((name) => at(value, name));
      assert.deepEqual(keys(['method', 'model', 'task.name', 'task.roles', 'evaluator']), [
        'magrpo',
        'bundled',
        'functions',
        two ? 2 : 1,
        'ladder',
      ]);
      assert.deepEqual(at(value, 'magrpo'), {
        num_agents: two ? 2 : 1,
        joint_mode: 'align',
        num_turns: 2,
        num_generations: 4,
        termination_threshold: two ? -0.2 : -0.1,
        discount: 0.9,
        reward_shift: two ? -4 : -2.1,
        // Section 8 of the reference: 4 points in all, and a score is a share of them.
        reward_processor: { enabled: true, scale_factor: 4 },
        cross_reduce: 'sum',
      });
      assert.deepEqual(at(value, 'external'), {
        mode: 'level_feedback',
        memory_mode: 'full',
        previous_prompts: true,
        previous_responses: true,
        sandbox_slice: 1,
      });
      assert.deepEqual(at(value, 'sampling'), { temperature: 0.8, top_p: 0.95, top_k: 50, max_new_tokens: 256 });
      assert.deepEqual(at(value, 'ppo'), {
        learning_rate: data === 'mbpp' ? 3e-5 : 2e-5,
        warmup_fraction: 0,
        final_fraction: 1,
        kl_coefficient: 0,
      });
      assert.deepEqual(at(value, 'output'), { save_model: false, save_path: null, verbose: false });
      const steps = { he: 6 * 130, che: 8 * 66, mbpp: 8 * 50 }[data];
      const held = { he: 32, che: 16, mbpp: 15 }[data];
      assert.deepEqual(keys(['steps', 'instances_per_step', 'evaluation.instances']), [steps, 1, held]);
      // A node of two turns with four joint actions each: 4 + 4 x 4 rewards.
      assert.equal(at(value, 'evaluator_budget'), 20);
      assert.equal(at(value, 'checkpoint_every'), 200);
      const sentences = said.map(({ path, sentence }) => `${path.join('.')}: ${sentence}`);
      assert.match(sentences.join('\n'), /^model\.name: Qwen\/Qwen2\.5-Coder-3B is not a folder here.*bundled model/mu);
      assert.match(sentences.join('\n'), /^dataset\.name: .* is not a file here.*bundled functions/mu);
      assert.match(sentences.join('\n'), /read and ignored.*wandb/u);
      assert.ok(said.every(({ warns }) => !warns));
    });
  }
});

describe('convertPublished', () => {
  it('has the defaults of the code', () => {
    const { value } = converted('model: {}\nmagrpo: {}\n');
    assert.deepEqual(
      [
        'num_turns',
        'num_generations',
        'num_agents',
        'termination_threshold',
        'discount',
        'reward_shift',
        'joint_mode',
      ].map((key) => at(value, `magrpo.${key}`)),
      [1, 4, 2, null, 0.9, -4, 'align'],
    );
    assert.deepEqual(at(value, 'external'), {
      mode: 'level_feedback',
      memory_mode: 'full',
      previous_prompts: false,
      previous_responses: true,
      sandbox_slice: 1,
    });
    assert.deepEqual(at(value, 'sampling'), { temperature: 0.7, top_p: 0.9, top_k: 50, max_new_tokens: 256 });
    // Ten epochs of one turn, seven of several.
    assert.equal(at(value, 'steps'), 10 * 130);
    assert.equal(at(converted('dataset: {type: mbpp}\nmagrpo: {num_turns: 2}\n').value, 'steps'), 7 * 50);
    const single = converted('grpo: {}\n').value;
    assert.deepEqual([at(single, 'magrpo.num_agents'), at(single, 'magrpo.reward_shift')], [1, -2.1]);
    assert.equal(at(single, 'evaluator_budget'), 4);
  });

  it('takes both spellings, and warns where they differ', () => {
    for (const [given, mode] of [
      ['align', 'align'],
      ['aligned', 'align'],
      ['cross', 'cross'],
      ['crossed', 'cross'],
    ] as const) {
      assert.equal(at(converted(`model: {}\nmagrpo: {joint_mode: ${given}}\n`).value, 'magrpo.joint_mode'), mode);
    }
    const saved = (output: string): unknown =>
      at(converted(`model: {}\noutput: ${output}\n`).value, 'output.save_model');
    assert.deepEqual(['{save_model: true}', '{save_final_model: true}', '{}'].map(saved), [true, true, false]);
    assert.equal(saved('{save_model: true, save_final_model: false}'), true);
    assert.match(
      notes('model: {}\noutput: {save_model: true, save_final_model: false}\n').join('\n'),
      /^output\.save_final_model: differs from save_model/mu,
    );
    assert.doesNotMatch(
      notes('model: {}\noutput: {save_model: true, save_final_model: true}\n').join('\n'),
      /differs/u,
    );
  });

  it('says that the rules propose the edits, whoever a file names', () => {
    const expert = (external: string): unknown =>
      at(converted(`model: {}\nexternal: ${external}\n`).value, 'external.expert_edits_model');
    assert.equal(expert('{expert_model: a}'), undefined);
    assert.equal(expert('{mode: expert_edits, expert_model: a}'), 'rules');
    for (const [keys, words] of [
      ['', /^external\.expert_edits_model: deepseek-coder is not asked.*rules/mu],
      [', expert_model: a', /^external\.expert_model: a is not asked/mu],
      [', expert_model: a, expert_edits_model: b', /^external\.expert_edits_model: b is not asked/mu],
    ] as const) {
      assert.match(notes(`model: {}\nexternal: {mode: expert_edits${keys}}\n`).join('\n'), words);
    }
  });

  it('shifts points, as the scripts do, where scores are shares of them', () => {
    const processed = (text: string, points: number): number => {
      const { magrpo } = readConfig(text, 'x');
      assert.ok(magrpo);
      return processReward(points / 4, magrpo);
    };
    // Section 1 of the reference: rewards of two roles lie in [-4, 0], those of one in [-2.1, 0].
    for (const [text, most] of [
      ['model: {}\nmagrpo: {}\n', 4],
      ['grpo: {}\n', 2.1],
    ] as const) {
      assert.equal(processed(text, most), 0, text);
      assert.equal(processed(text, 0), -most, text);
    }
    // Section 3: a threshold of -0.2 is a mean of 3.8 of 4 points.
    assert.ok(processed('model: {}\n', 3.81) > -0.2 && processed('model: {}\n', 3.79) < -0.2);
    // Scaled first, then shifted; a factor that is not enabled says nothing.
    const factor = (enabled: boolean): string =>
      `magrpo: {reward_shift: -1}\nreward_processor: {enabled: ${String(enabled)}, scale_factor: 0.5}\n`;
    assert.deepEqual([processed(factor(true), 3), processed(factor(false), 3)], [0.5, 2]);
    assert.equal(processed('magrpo: {reward_shift: null}\nwandb: {}\n', 3), 3);
  });

  it('warns of a threshold that no reward is above', () => {
    const said = (text: string): string[] =>
      notes(text).filter((line) => /^(?:magrpo|grpo)\.termination_threshold: /u.test(line));
    // The most that two roles and one can have is shifted to 0; a threshold holds strictly above.
    assert.deepEqual(said('model: {}\nmagrpo: {num_turns: 2, termination_threshold: -0.01}\n'), []);
    assert.deepEqual(said('grpo: {num_turns: 2, termination_threshold: -0.01}\n'), []);
    for (const text of [
      'model: {}\nmagrpo: {num_turns: 2, termination_threshold: 0}\n',
      'grpo: {num_turns: 2, termination_threshold: 0.5}\n',
    ]) {
      assert.match(said(text).join(), /no reward is above 0, so no node ends early/u);
    }
    const shifted = 'wandb: {}\nmagrpo: {num_turns: 2, termination_threshold: 3, reward_shift: null}\n';
    assert.deepEqual(said(shifted), []);
    assert.match(said(`${shifted}reward_processor: {enabled: true, scale_factor: 0.5}\n`).join(), /above 2,/u);
  });

  it('gives a configuration that means the same when it is read again', () => {
    for (const file of FILES) {
      const { config, converted: value } = readConfigDocument(textOf(file), file);
      assert.deepEqual(readConfig(stringify(value), 'converted'), config);
    }
  });

  it('clips no return that turns can add up to', () =>
    assert.equal(readConfig('model: {}\nmagrpo: {num_turns: 12, discount: 1}\n', 'x').credit.return_clip, 12));

  it('counts the calls of a tree', () => {
    const budget = (magrpo: string): unknown =>
      at(converted(`model: {}\nmagrpo: ${magrpo}\n`).value, 'evaluator_budget');
    assert.equal(budget('{}'), 4);
    assert.equal(budget('{num_turns: 2}'), 20);
    assert.equal(budget('{joint_mode: cross}'), 16);
    assert.equal(budget('{joint_mode: cross, num_turns: 2, num_generations: 2}'), 20);
    assert.equal(budget('{num_turns: 3, num_generations: 3}'), 39);
  });

  it('takes a folder and a file that are there', () => {
    const facts: PublishedFacts = {
      isFolder: (path) => path === 'models/mine',
      problemsIn: (path) => (path === 'mine.jsonl' ? 40 : null),
    };
    const text = 'model: {name: models/mine}\ndataset: {name: mine.jsonl, train_split: "x[8:]", eval_split: "x[:8]"}\n';
    const { value } = converted(text, facts);
    assert.equal(at(value, 'model'), 'models/mine');
    assert.deepEqual(at(value, 'task'), {
      name: 'functions',
      roles: 2,
      train_file: 'mine.jsonl',
      format: 'humaneval',
      train_split: 'x[8:]',
      evaluation_split: 'x[:8]',
    });
    assert.deepEqual([at(value, 'steps'), at(value, 'evaluation.instances')], [320, 8]);
    assert.doesNotMatch(notes(text, facts).join('\n'), /no file|no folder/u);
    const plain = converted('dataset: {name: mine.jsonl}\n', facts).value;
    assert.deepEqual([at(plain, 'steps'), at(plain, 'evaluation.instances')], [400, 0]);
  });

  it('reads the files as they are now and as they were first, and lists once what has no counterpart', () => {
    const { value, faults: found, notes: said } = converted(PRESENT);
    assert.deepEqual(found, []);
    assert.deepEqual(
      ['ppo.learning_rate', 'sampling.temperature', 'sampling.top_k', 'seed'].map((key) => at(value, key)),
      [3e-5, 0.6, 0, 42],
    );
    assert.deepEqual(
      ['termination_threshold', 'reward_shift', 'discount'].map((key) => at(value, `magrpo.${key}`)),
      [-0.2, -3, 1],
    );
    const ignored = said.filter(({ sentence }) => sentence.startsWith('read and ignored'));
    assert.equal(ignored.length, 1);
    assert.match(ignored[0]?.sentence ?? '', /magrpo\.agent_devices, .*magrpo\.rollout_buffer_size, .*wandb\.$/u);
    assert.doesNotMatch(ignored[0]?.sentence ?? '', /critics/u);
    assert.deepEqual(
      checkConfig(PRESENT).filter(({ severity }) => severity !== 'information'),
      [],
    );

    const first = converted(
      'model: {}\nexternal: {original_prompt: true, previous_response: false}\nmagrpo: {num_turns: 2, handoff: random, turn_gradient_weights: [1.2, 0.8], early_termination_weight: 2.0, early_termination_threshold: -1.0, save_epochs: 1}\n',
    ).value;
    assert.deepEqual(
      ['external.previous_prompts', 'external.previous_responses', 'magrpo.termination_threshold'].map((key) =>
        at(first, key),
      ),
      [true, false, -1],
    );
    assert.match(
      notes('model: {}\nmagrpo: {learning_rate: 1.0e-5, agent_learning_rate: 2.0e-5}\n').join('\n'),
      /^magrpo\.agent_learning_rate: differs from learning_rate/mu,
    );
    // What is wrong is said of the key that is there.
    assert.deepEqual(
      converted('grpo: {agent_learning_rate: -1}\n').faults.map(({ path }) => path.join('.')),
      ['grpo.agent_learning_rate'],
    );
  });

  it('lays keys of our own over the result', () => {
    const { value } = converted('model: {}\nsteps: 2\nseed: 7\nppo: {kl_coefficient: 0.5}\ndevice: cpu\n');
    assert.deepEqual([at(value, 'steps'), at(value, 'seed'), at(value, 'device')], [2, 7, 'cpu']);
    assert.deepEqual([at(value, 'ppo.kl_coefficient'), at(value, 'ppo.learning_rate')], [0.5, 2e-5]);
  });

  it('names what is wrong, with a suggestion', () => {
    assert.deepEqual(faults('model: {}\nmagrpo: {num_turn: 2}\n'), [
      'magrpo.num_turn: unknown key; did you mean num_turns?',
    ]);
    assert.deepEqual(faults('model: {}\ndatset: {}\n'), ['datset: unknown key; did you mean dataset?']);
    assert.deepEqual(faults('model: {}\nexternal: {mode: level_feedbak}\n'), [
      'external.mode: did you mean level_feedback? It must be one of level_feedback, level_passed, passed, plain, expert_edits.',
    ]);
    assert.match(
      faults('model: {}\nmagrpo: {num_generations: 1}\n').join(),
      /^magrpo\.num_generations: must be at least 2/u,
    );
    assert.match(faults('model: {}\nmagrpo: {num_agents: 3}\n').join(), /^magrpo\.num_agents: /u);
    assert.match(faults('model: {}\nmagrpo: {per_device_train_batch_size: 2}\n').join(), /^magrpo\.per_device.*: /u);
    assert.match(faults('magrpo: {}\ngrpo: {}\n').join(), /^grpo: magrpo is given too/u);
    assert.match(faults('grpo: {num_agents: 2}\n').join(), /^grpo\.num_agents: must be 1/u);
    assert.match(
      faults('dataset: {train_split: "test[a:]"}\n').join(),
      /^dataset\.train_split: .*write it as test\[16:\]/u,
    );
    assert.match(faults('dataset: {train_split: "test[164:]"}\n').join(), /^dataset\.train_split: .* none of the 164/u);
    assert.match(faults('model: 3\ndataset: {}\n').join(), /^model: /u);
    // What is written over lines may be a section without keys.
    assert.deepEqual(faults('model:\ndataset:\n'), []);
  });

  it('names all unknown keys at once, those of this product too', () => {
    assert.throws(
      () =>
        readConfig('agent_model: {nam: x, foo: 1}\nmagrpo: {num_turn: 2, bar: 3}\nstranger: 1\nppo: {baz: 2}\n', 'x'),
      /line 1: agent_model\.nam: unknown key; did you mean name\? Unknown, too: agent_model\.foo, magrpo\.num_turn, magrpo\.bar, stranger, ppo\.baz\.$/u,
    );
    assert.throws(() => readConfig('ppo: {foo: 1, bar: 2}\n', 'x'), /Unknown, too: ppo\.bar\.$/u);
  });

  it('knows such a file from one of ours', () => {
    for (const text of [
      'model: bundled\n',
      'magrpo: {num_turns: 2}\nexternal: {mode: plain}\n',
      'task: {name: python}\n',
    ]) {
      assert.ok(!isPublished(recordOf(text)) && !looksPublished(text), text);
    }
    for (const text of [
      'model:\n  name: x\n',
      'model: {name: x}\n',
      'dataset: {}\n',
      'wandb: {}\n',
      'seed: 1\ngrpo:\n  num_t',
    ]) {
      assert.ok(looksPublished(text), text);
    }
  });
});

describe('checkConfig of a published file', () => {
  it('finds nothing that keeps the published files from running', () => {
    for (const file of FILES) {
      assert.deepEqual(
        checkConfig(textOf(file)).filter(({ severity }) => severity !== 'information'),
        [],
        file,
      );
    }
  });

  it('says what keeps it from running as an error, and the rest as information', () => {
    const text = 'model:\n  name: x\nmagrpo:\n  num_turn: 2\n';
    const [fault, ...others] = checkConfig(text);
    assert.deepEqual(others, []);
    assert.equal(fault?.message, 'magrpo.num_turn: unknown key; did you mean num_turns?');
    assert.equal(text.slice(fault.start, fault.end), 'num_turn');
    assert.equal(fault.replacement, 'num_turns');
    assert.equal(fault.severity, undefined);
  });
});

describe('slices', () => {
  it('count as Python does', () => {
    for (const [slice, length, count] of [
      ['test[16:]', 82, 66],
      ['test[:16]', 82, 16],
      ['test[33:163]', 164, 130],
      ['test[15:65]', 40, 25],
      ['test[-10:]', 82, 10],
      ['test[:-10]', 82, 72],
      ['test[5:2]', 82, 0],
      ['test', 82, 82],
      ['test[:]', 82, 82],
      ['test[1]', 82, null],
      ['[1:2]', 82, null],
      ['test[1:2:3]', 82, null],
    ] as const) {
      assert.equal(countSliced(slice, length), count, slice);
    }
  });

  it('of assertions: numbers in texts are numbers, other texts mean all', () =>
    assert.deepEqual(
      [3, -2, 0, null, 'all', '2', ' -1 ', 'some', ''].map(toSliceNumber),
      [3, -2, 0, 0, 0, 2, -1, 0, 0],
    ));
});
