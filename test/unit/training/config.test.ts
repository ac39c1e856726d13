import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { C3Error } from '../../../src/shared/errors.ts';
import { getRunSampling } from '../../../src/training/config/config.ts';
import { readConfig } from '../../../src/training/config/readConfig.ts';

const refused = (text: string, overrides: readonly string[], ...patterns: readonly RegExp[]): void => {
  assert.throws(
    () => readConfig(text, 'mine.c3.yaml', overrides),
    (error) => {
      assert.ok(error instanceof C3Error && error.kind === 'input', String(error));
      assert.ok(!error.message.includes('\n'), error.message);
      for (const pattern of patterns) {
        assert.match(error.message, pattern);
      }
      return true;
    },
  );
};

describe('readConfig', () => {
  it('has a default for every key', () => {
    const config = readConfig('', 'mine.c3.yaml');
    assert.deepEqual(getRunSampling(config), { temperature: 1, topP: 1, topK: 0, maxNewTokens: 48 });
    assert.deepEqual(readConfig('{}', 'x'), config);
    assert.deepEqual(readConfig('# nothing but a remark\n', 'x'), config);
    // A part that is given keeps the defaults of its other keys.
    assert.deepEqual(readConfig('ppo:\n  epochs: 2\n', 'x').ppo, { ...config.ppo, epochs: 2 });
    // A run that nobody named is named after its task.
    assert.equal(readConfig('task: {name: python}\n', 'x').title, 'Bundled team, python');
    assert.equal(readConfig('', 'x', ['task.name=python', 'title=Mine']).title, 'Mine');
  });

  it('names the nearest key and the line of an unknown one', () => {
    refused('seed: 1\nstep: 5\n', [], /^mine\.c3\.yaml, line 2: step:/, /did you mean steps\?/);
    refused('ppo:\n  epochs: 1\n  lerning_rate: 1\n', [], /line 3: ppo\.lerning_rate:/, /did you mean learning_rate\?/);
    refused('sampling: {temprature: 1}\n', [], /line 1: sampling\.temprature:/, /did you mean temperature\?/);
    refused('quite_something_else: 1\n', [], /known here: title, method, seed/);
    refused('prompt: {reasoner: a}\n', [], /line 1: prompt: unknown key; did you mean prompts\?/);
    refused('scorer: {comand: [a]}\n', [], /line 1: scorer\.comand: unknown key; did you mean command\?/);
    refused('rubric: a\n', [], /line 1: rubric: unknown key here; write it as scorer: rubric\./);
  });

  it('names key and line of a wrong value', () => {
    refused('seed: 1\nsteps: many\n', [], /line 2: steps:/, /expected number/);
    refused('instances_per_step: 0\n', [], /line 1: instances_per_step:/);
    refused('instances_per_step: 2.5\n', [], /line 1: instances_per_step:/);
    refused('memory: {micro_batch_tokens: 0}\n', [], /line 1: memory\.micro_batch_tokens:/);
    refused('memory:\n  recompute: 1\n', [], /line 2: memory\.recompute:/, /expected boolean/);
    refused('fanout: [2, -1]\n', [], /line 1: fanout\[1\]:/);
    refused('fanout: 8\n', [], /line 1: fanout:/, /expected array/);
    refused('method: ppo\n', [], /line 1: method:/, /c3/);
    refused('\nsampling:\n  temperature: 0\n', [], /line 3: sampling\.temperature:/);
    refused('sampling:\n  top_p: 1.5\n', [], /line 2: sampling\.top_p:/);
    refused('ppo:\n  learning_rate: .nan\n', [], /line 2: ppo\.learning_rate:/);
    refused('ppo: 3\n', [], /line 1: ppo:/, /expected object/);
    refused('title: ""\n', [], /line 1: title:/);
    refused('- seed\n', [], /mapping of keys/);
    refused('"text"', [], /mapping of keys/);
  });

  it('refuses text that is no single document', () => {
    refused('seed: 1\nseed: 2\n', [], /^mine\.c3\.yaml: is neither JSON nor YAML/);
    refused('seed: [1\n', [], /neither JSON nor YAML/);
    refused('seed: !!js/function "x"\n', [], /neither JSON nor YAML/);
  });

  it('refuses combinations that cannot be', () => {
    refused(
      'seed: 1\nfanout: [3, 3]\n',
      [],
      /line 2: fanout: \[3, 3\] needs 9 evaluator calls per problem, more than evaluator_budget \(8\)/,
    );
    assert.deepEqual(readConfig('fanout: [3, 3]\nevaluator_budget: 9\n', 'x').fanout, [3, 3]);
    refused('chat:\n  template: none\n  thinking: true\n', [], /line 3: chat\.thinking: needs chat\.template: auto/);
    assert.deepEqual(readConfig('chat: {thinking: true}\n', 'x').chat, { template: 'auto', thinking: true });
    refused('chat:\n  template: qwen\n', [], /line 2: chat\.template:/);
    refused('chat:\n  thinks: true\n', [], /line 2: chat\.thinks: unknown key; did you mean thinking\?/);
    refused(
      'method: magrpo\ncredit:\n  estimator: full_mean\n',
      [],
      /line 3: credit\.estimator: belongs to method c3, and magrpo has its own credit/,
    );
    assert.equal(readConfig('credit: {estimator: full_mean}\n', 'x').credit.estimator, 'full_mean');
    // A fan-out that only trees have binds nobody else.
    refused('fanout: [3, 3]\n', ['method=c3_full_mean'], /line 1: fanout: .* needs 9 evaluator calls/);
    for (const method of ['c3_no_replay', 'magrpo', 'sft']) {
      assert.deepEqual(readConfig('fanout: [3, 3]\n', 'x', [`method=${method}`]).fanout, [3, 3]);
    }
    refused('task:\n  evaluation_file: held.jsonl\n', [], /line 2: task\.evaluation_file: needs task\.train_file/);
    refused('task:\n  levels: [0, 0]\n', [], /line 2: task\.levels: .*positive weight/);
    refused('task:\n  levels: [1, 1, 1, 1, 1, 1, 1, 1, 1]\n', [], /line 2: task\.levels:/);
  });

  it('keeps the policy near the first one or near the last', () => {
    assert.equal(readConfig('ppo: {kl_against: last, kl_estimator: exact}', 'x').ppo.kl_against, 'last');
    assert.throws(
      () => readConfig('ppo: {kl_against: last, kl_estimator: k1}', 'x'),
      /line 1: ppo\.kl_against: last needs kl_estimator: k3 or exact/,
    );
    assert.throws(
      () => readConfig('ppo: {kl_aganst: last}', 'x'),
      /ppo\.kl_aganst: unknown key; did you mean kl_against\?/,
    );
    assert.throws(
      () => readConfig('kl_against: last', 'x'),
      /kl_against: unknown key here; write it as ppo: kl_against\./,
    );
  });

  it('reads which roles have a policy of their own', () => {
    const text =
      'policies:\n  checker:\n    kind: scripted\n    answers:\n      - {question: "1 + 1?", answer: "2"}\n      - answer: "?"\n';
    assert.deepEqual(readConfig(text, 'x').policies, {
      checker: { kind: 'scripted', answers: [{ question: '1 + 1?', answer: '2' }, { answer: '?' }] },
    });
    assert.equal('policies' in readConfig('policies: {}\n', 'x'), false);
    refused('policies:\n  checker: {}\n', [], /line 2: policies\.checker\.kind: must be one of scripted, snapshot, /);
    refused(
      'policies:\n  checker: {kind: scriptd, answers: [{answer: a}]}\n',
      [],
      /line 2: policies\.checker\.kind: did you mean scripted\?/,
    );
    refused(
      'policies:\n  checker: {kind: scripted}\n',
      [],
      /line 2: policies\.checker\.answers: is needed by kind: scripted\./,
    );
    refused('policies:\n  checker: {kind: scripted, answers: []}\n', [], /line 2: policies\.checker\.answers: /);
    refused(
      'policies:\n  checker:\n    kind: scripted\n    answers:\n      - {anser: a, answer: b}\n',
      [],
      /line 5: policies\.checker\.answers\[0\]\.anser: unknown key; did you mean answer\?/,
    );
    refused(
      'policies:\n  checker: {kind: scripted, answers: [{answer: a, context_key: 12}]}\n',
      [],
      /policies\.checker\.answers\[0\]\.context_key: .*expected string/,
    );
    refused('policies:\n  checker: {kind: scripted, answers: [{answer: a, turn: 0}]}\n', [], /answers\[0\]\.turn: /);
    refused(
      'policies:\n  checker:\n    model: other\n    adapter: lora\n',
      [],
      /line 3: policies\.checker\.model: does not belong to kind: adapter; omit it\./,
    );
    refused(
      'policies:\n  checker: {snapshot: 4}\n',
      [],
      /policies\.checker\.snapshot: names a snapshot of an earlier run; add run: RUN, or write base\./,
    );
    refused(
      'policies:\n  checker: {snapshot: base, run: c3-0-1}\n',
      [],
      /policies\.checker\.run: has no snapshot base; give a step of it, or omit run\./,
    );
    refused('policies:\n  checker: {modle: x}\n', [], /policies\.checker\.modle: unknown key; did you mean model\?/);
    refused('policies: [checker]\n', [], /line 1: policies: .*expected record/);
    refused('answer: 4\n', [], /line 1: answer: unknown key/);
  });

  it('reads which weights answer for a role', () => {
    const policiesOf = (text: string): unknown =>
      readConfig(`policies:\n  checker: ${text}\n`, 'x').policies?.['checker'];
    assert.deepEqual(policiesOf('{model: other}'), { kind: 'model', model: 'other' });
    assert.deepEqual(policiesOf('{kind: adapter, adapter: lora}'), { kind: 'adapter', adapter: 'lora' });
    assert.deepEqual(policiesOf('{snapshot: base}'), { kind: 'snapshot', snapshot: 'base' });
    assert.deepEqual(policiesOf('{run: c3-0-1, snapshot: 4}'), { kind: 'snapshot', snapshot: '4', run: 'c3-0-1' });
    assert.deepEqual(policiesOf('{answers: [{answer: a}]}'), { kind: 'scripted', answers: [{ answer: 'a' }] });
    for (const text of ['{learns: false}', '{kind: own, learns: false}']) {
      assert.deepEqual(policiesOf(text), { kind: 'own', learns: false });
    }
    refused('policies:\n  checker: {learns: true}\n', [], /line 2: policies\.checker\.learns: must be false/);
    refused(
      'policies: {checker: {model: x, learns: false}}\n',
      [],
      /policies\.checker\.learns: does not belong to kind: model; omit it\./,
    );
  });

  it('reads the addresses of a server, and says of one that is none what it must be', () => {
    const textOf = (endpoint: string): string => `policies:\n  checker: {endpoint: ${endpoint}, model_name: m}\n`;
    const addressesOf = (endpoint: string): unknown => {
      const settings = readConfig(textOf(endpoint), 'x').policies?.['checker'];
      return settings?.kind === 'endpoint' ? settings.endpoint : null;
    };
    assert.deepEqual(addressesOf('"http://[::1]:8000/v1/"'), ['http://[::1]:8000/v1']);
    assert.deepEqual(addressesOf('[https://a.example/v1, https://b.example]'), [
      'https://a.example/v1',
      'https://b.example',
    ]);
    const must = 'line 2: policies\\.checker\\.endpoint: must ';
    for (const [endpoint, words] of [
      ['nowhere', 'be an address such as https://api'],
      ['ftp://a.example/v1', 'be an address such as https://api'],
      ['[https://a.example/v1, ""]', 'be an address such as https://api'],
      ['https://me:secret@a.example/v1', 'have no name, key or query in it'],
      ['"https://a.example/v1?key=1"', 'have no name, key or query in it'],
      [`https://a.example/${'v'.repeat(500)}`, 'have at most 500 characters'],
      ['7', 'be an address, or a list'],
    ] as const) {
      refused(textOf(endpoint), [], new RegExp(must + words, 'u'));
    }
  });

  it('trains nothing where the method is sft', () => {
    assert.deepEqual(
      ['sft', 'magrpo'].map((method) => readConfig('steps: 9\n', 'x', [`method=${method}`]).steps),
      [0, 9],
    );
  });

  it('takes overrides over the file, as YAML', () => {
    const config = readConfig('seed: 1\nsampling: {temperature: 2, top_k: 5}\n', 'x', [
      'seed=7',
      'sampling.temperature=0.5',
      'fanout=[4, 2]',
      'task.train_file=a=b.jsonl',
      'steps=1',
      'steps=2',
    ]);
    assert.deepEqual(
      [
        config.seed,
        config.sampling.temperature,
        config.sampling.top_k,
        config.fanout,
        config.task.train_file,
        config.steps,
      ],
      [7, 0.5, 5, [4, 2], 'a=b.jsonl', 2],
    );
  });

  it('says which override is wrong', () => {
    refused('', ['stepz=3'], /^--override stepz: unknown key; did you mean steps\?/);
    refused('', ['ppo.epoch=3'], /^--override ppo\.epoch: unknown key; did you mean epochs\?/);
    refused('', ['steps=many'], /^--override steps: .*expected number/);
    refused('', ['steps'], /^--override steps: write key\.path=value/);
    refused('', ['=3'], /^--override =3: write key\.path=value/);
    refused('', ['steps=[1'], /^--override steps=\[1: the value is not YAML/);
    refused('steps: 4\n', ['steps.more=1'], /^--override steps\.more=1: steps is not a mapping/);
    refused('fanout: [2, 4]\n', ['fanout.0=3'], /^--override fanout\.0=3: fanout is not a mapping/);
    refused('fanout: [2, 4]\n', ['fanout=[9, 9]'], /^--override fanout: \[9, 9\] needs 81 evaluator calls/);
    refused('', ['__proto__.polluted=1'], /unknown key/);
    assert.equal(Object.hasOwn(Object.prototype, 'polluted'), false);
  });
});
