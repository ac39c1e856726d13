/** A change in words and numbers, and what passes for a trial that was kept. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  describeTeamChange,
  describeTrialCosts,
  DECODING,
  listRolePolicies,
  parsePrices,
  parseDecodingNumber,
  isTeamChange,
  isTrial,
  NO_CHANGE,
  readRecordedSampling,
  writeTrialSentence,
  type Trial,
} from '../../../src/domain/trial.ts';

const TRIAL: Trial = {
  run: 'run-1',
  contexts: 8,
  difference: { value: 0.5, low: 0.1, high: 0.9, n: 2 },
  better: 1,
  worse: 0,
  same: 1,
  masked: 0,
  cases: [
    {
      question: 'How many?',
      before: { return: 0, messages: [{ role: 'actor', text: '3' }] },
      after: { return: 1, messages: [{ role: 'actor', text: '4' }] },
    },
  ],
  problems: [{ question: 'How many?', pairs: 2, before: 0.5, after: 1 }],
  evaluatorCalls: 4,
  tokens: { before: 2, after: 2 },
  seconds: 0.1,
  most: 1,
  sentence: 'The change helps.',
};

describe('the sentence of a trial', () => {
  it('shows a bound next to 0 with its sign and one digit, not as 0 or with an exponent', () => {
    const write = (value: number, low: number, high: number): string =>
      writeTrialSentence({ ...TRIAL, difference: { value, low, high, n: 816 }, better: 57, worse: 97 });
    assert.match(write(-0.049, -0.098, -0.00024), /^The change harms: \u22125 points \[\u221210, \u22120\.02\], /u);
    assert.match(write(0.05, 0.004, 0.1), /^The change helps: \+5 points \[\+0\.4, \+10\], /u);
    assert.match(write(0.002, -0.005, 0), /^Undecided: \+0\.2 points \[\u22121, 0\], /u);
  });
});

describe('a change', () => {
  it('is said in a few words', () => {
    assert.equal(
      describeTeamChange({
        prompts: { reasoner: 'Plan.' },
        sampling: { topK: 4, temperature: 0 },
        policy: { snapshot: '3' },
        roles: { actor: { model: '/m' } },
      }),
      'another prompt of reasoner, temperature 0, top_k 4, snapshot 3, model /m for actor',
    );
    assert.equal(
      describeTeamChange({
        ...NO_CHANGE,
        roles: { actor: { endpoint: 'https://api.example.com/v1', model_name: 'gpt-4.1' } },
      }),
      'model gpt-4.1 of https://api.example.com/v1 for actor',
    );
    assert.equal(describeTeamChange(NO_CHANGE), '');
  });

  it('takes the numbers that sampling can have, and no blank one', () => {
    const read = (key: string, text: string): number | null => {
      const decoding = DECODING.find((one) => one.key === key);
      return decoding === undefined ? assert.fail(key) : parseDecodingNumber(decoding, text);
    };
    assert.deepEqual(
      [read('temperature', ' 0.5 '), read('temperature', '0'), read('top_k', '0'), read('max_new_tokens', '1')],
      [0.5, 0, 0, 1],
    );
    for (const [key, text] of [
      ['temperature', ''],
      ['temperature', ' '],
      ['temperature', '-1'],
      ['temperature', 'NaN'],
      ['top_p', '0'],
      ['top_p', '1.01'],
      ['top_k', '1.5'],
      ['max_new_tokens', '0'],
    ] as const) {
      assert.equal(read(key, text), null, `${key} ${text}`);
    }
  });

  it('stands beside what the run samples with', () => {
    assert.deepEqual(readRecordedSampling('{"config": {"sampling": {"temperature": 1, "top_k": 0, "top_p": "x"}}}'), {
      temperature: 1,
      topK: 0,
    });
    assert.deepEqual(readRecordedSampling('no json'), {});
  });
});

describe('what was kept', () => {
  it('is a trial only where all that is shown is there', () => {
    assert.ok(isTrial(JSON.parse(JSON.stringify(TRIAL))));
    for (const key of Object.keys(TRIAL)) {
      assert.equal(isTrial({ ...TRIAL, [key]: undefined }), false, key);
    }
    assert.equal(isTrial({ ...TRIAL, cases: [{ question: 'x', before: { return: 1 }, after: {} }] }), false);
    assert.equal(isTrial({ ...TRIAL, problems: [{ question: 'x', pairs: 1, before: 1 }] }), false);
    assert.equal(isTrial(null), false);
  });

  it('of a server for the whole team is one of every role that it does not name itself', () => {
    const policy = { endpoint: 'https://a.example/v1', model_name: 'm' };
    const roles = { actor: { snapshot: '1' } };
    assert.deepEqual(listRolePolicies({ policy, roles }, ['reasoner', 'actor']), { reasoner: policy, ...roles });
    assert.deepEqual(listRolePolicies({ policy: { model: '/m' }, roles }, ['reasoner', 'actor']), roles);
  });

  it('takes two prices, and shows what servers charged only where it is known', () => {
    assert.deepEqual(['2,8', ' 0.5, 0 '].map(parsePrices), [
      { input: 2, output: 8 },
      { input: 0.5, output: 0 },
    ]);
    assert.deepEqual(['', '2', '2,', '2,8,1', '-1,2', 'a,b', '1,Infinity'].map(parsePrices), Array(7).fill(null));
    const costs = {
      before: { prompt: 0, completion: 0, money: 0 },
      after: { prompt: 1000, completion: 234, money: 0.01234567 },
    };
    assert.equal(
      describeTrialCosts(costs),
      'Servers: 0 tokens without the change, 1,234 tokens (cost 0.0123) with it.',
    );
    assert.equal(
      describeTrialCosts({ before: costs.after, after: { prompt: 1, completion: 1, money: null } }),
      'Servers: 1,234 tokens (cost 0.0123) without the change, 2 tokens (no price is known) with it.',
    );
    assert.ok(isTrial({ ...TRIAL, costs }));
    assert.equal(isTrial({ ...TRIAL, costs: { before: costs.before } }), false);
  });

  it('is a change only where it can be tried again', () => {
    const change = {
      prompts: { a: 'x' },
      sampling: { topK: 1 },
      policy: { model: '/m' },
      roles: { a: { snapshot: '1' } },
    };
    const server = { endpoint: 'https://api.example.com/v1', model_name: 'gpt-4.1' };
    assert.ok(isTeamChange(change) && isTeamChange(NO_CHANGE) && isTeamChange({ ...change, roles: { a: server } }));
    assert.ok(isTeamChange({ ...change, policy: { adapter: '/a' }, roles: { a: { adapter: '/b' } } }));
    assert.ok(isTeamChange({ ...change, policy: { ...server, prices: { input: 1, output: 2 } } }));
    for (const other of [
      { ...change, prompts: { a: 1 } },
      { ...change, sampling: { topK: '1' } },
      { ...change, policy: { model: '/m', snapshot: '1' } },
      { ...change, policy: {} },
      { ...change, policy: { adapter: '/a', model: '/m' } },
      { ...change, policy: { ...server, prices: { input: 1 } } },
      { ...change, policy: { ...server, key: 'x' } },
      { ...change, roles: { a: { endpoint: server.endpoint } } },
      { ...change, roles: { a: { ...server, model: '/m' } } },
      { ...change, roles: { a: null } },
      { ...change, roles: [] },
      null,
    ]) {
      assert.equal(isTeamChange(other), false, JSON.stringify(other));
    }
  });
});
