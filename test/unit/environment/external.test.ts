import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readExtracted, promptFor, type SaidEvent } from '../../../src/domain/episode.ts';
import type { Examined } from '../../../src/domain/message.ts';
import type { Problem } from '../../../src/domain/problem.ts';
import type { EnvironmentOutcome } from '../../../src/environment/kind.ts';
import { findEnvironmentKind } from '../../../src/environment/kinds.ts';
import { parseProtocol } from '../../../src/team/parseProtocol.ts';

const INSTANCE: Problem = {
  uid: 'one',
  uidSha: 'ab',
  question: 'def f(n):',
  answer: '',
  source: 'test',
  level: null,
  tests: {
    tests: [],
    test: 'def check(candidate):\n    assert candidate(1) == 9\n',
    entryPoint: 'f',
    setup: '',
    prefix: '',
  },
};
const AUX = 'def aux(n):\n    return n';
const MAIN = 'def f(n):\n    return aux(n)';
const FOUND: Examined = {
  entryPoint: 'f',
  helper: { source: AUX, returns: true },
  main: { source: MAIN, returns: true },
  syntax: null,
  usage: { called: true, used: true, wrapper: true },
  tests: [
    { source: 'assert f(1) == 1', passed: true, detail: '' },
    { source: 'assert f(2) == 9', passed: false, detail: 'AssertionError: ' },
  ],
  testCount: 2,
};

async function said(
  name: string,
  found: Partial<Exclude<Examined, { rule: string }>> = {},
  texts: readonly string[] = [AUX, MAIN],
  slices: number[] = [],
): Promise<EnvironmentOutcome & { readonly to: (role: string) => string }> {
  const messages = texts.map((text, index): SaidEvent => {
    const role = index === texts.length - 1 ? 'main' : 'aux';
    return { kind: 'decision', position: index, role, text };
  });
  const kind = findEnvironmentKind(name) ?? assert.fail(name);
  const outcome = await kind.run({
    problem: INSTANCE,
    log: messages,
    messages,
    options: { sandbox_slice: '-2' },
    uniform: () => 0,
    examine: (problem, _, slice) => {
      slices.push(slice);
      // An expert never sees what tests expect.
      assert.ok(name !== 'expert_edits' || !JSON.stringify(problem).includes('== 9'));
      return Promise.resolve({ ...FOUND, ...found });
    },
  });
  return { ...outcome, to: (role) => promptFor({ text: '', json: outcome.json ?? null }, role) };
}

describe('the external modes', () => {
  it('level_feedback tells each its own function first, then every level with each failed assertion', async () => {
    const slices: number[] = [];
    const { to, json } = await said('level_feedback', {}, [AUX, MAIN], slices);
    const levels = 'Syntax: ok.\nTests: 1 of 2 passed.\n- assert f(2) == 9: AssertionError:\n';
    assert.equal(to('aux'), `aux: defined.\nf: defined.\n${levels}Revise your function aux. Write the code only.`);
    assert.equal(
      to('main'),
      `f: defined.\naux: defined.\n${levels}aux: called and used.\nYour function only hands on what aux gives.\nRevise your function f. Write the code only.`,
    );
    assert.deepEqual(slices, [-2]);
    assert.equal(readExtracted({ json: json ?? null }, 'main'), MAIN);
  });

  it('level_feedback says where the program cannot be parsed, and what is missing', async () => {
    const { to, json } = await said(
      'level_feedback',
      {
        helper: { source: null, returns: false },
        syntax: { line: 3, column: 5, message: 'invalid syntax' },
        usage: null,
        tests: [],
      },
      ['nothing', MAIN],
    );
    assert.match(to('aux'), /^aux: missing; begin a line with def aux/u);
    assert.match(to('main'), /Syntax: error in line 3, column 5: invalid syntax\.\nTests: none were run\.\nRevise/u);
    assert.equal(readExtracted({ json: json ?? null }, 'aux'), null);
  });

  it('level_passed, passed and plain say less and less', async () => {
    const [levels, whole, plain] = [await said('level_passed'), await said('passed'), await said('plain')];
    assert.equal(
      levels.to('main').split('\n').slice(0, 4).join(' '),
      'Implementation: ok. Syntax: ok. Tests: 1 of 2 passed. aux: called and used.',
    );
    assert.match(whole.to('aux'), /^Not all levels passed\.\nRevise/u);
    assert.match((await said('passed', { tests: FOUND.tests.slice(0, 1) })).to('aux'), /^All levels passed\./u);
    assert.match((await said('passed', { tests: [] })).to('aux'), /^Not all/u);
    assert.equal(plain.to('aux'), 'Revise your function aux. Write the code only.');
  });

  it('expert_edits proposes what follows from the program alone', async () => {
    const { to } = await said('expert_edits');
    assert.match(to('aux'), /proposes:\nperfect\n/u);
    assert.match(to('main'), /proposes:\nDo your own part of the work/u);
  });

  it('ask a single agent about its function alone', async () => {
    const { text } = await said('level_feedback', { helper: { source: null, returns: false } }, [MAIN]);
    assert.doesNotMatch(text, /aux:/u);
    assert.match(text, /^f: defined\./u);
  });
});

describe('in a protocol', () => {
  const protocolOf = (environment: object, history?: object): ReturnType<typeof parseProtocol> =>
    parseProtocol(
      JSON.stringify({
        name: 'pair',
        roles: [
          { role: 'aux', prompt: 'A' },
          { role: 'main', prompt: 'M', with_answer: true },
        ],
        rounds: { turns: 2, environment, ...(history !== undefined && { history }) },
      }),
      'pair.json',
    );

  it('sandbox_slice is a number, also as text, and all for 0, null and its words', () => {
    const slices: [unknown, string][] = [
      [undefined, '1'],
      [2, '2'],
      [-1, '-1'],
      ['-2', '-2'],
      [0, '0'],
      [null, '0'],
      ['all', '0'],
      ['None', '0'],
    ];
    for (const [given, kept] of slices) {
      const { rounds } = protocolOf({ name: 'level_feedback', ...(given !== undefined && { sandbox_slice: given }) });
      assert.equal(rounds?.between[0]?.options['sandbox_slice'], kept, String(given));
    }
    assert.throws(() => protocolOf({ name: 'passed', sandbox_slice: 'some' }), /must be a whole number, below 0/u);
  });

  it('history says what a role remembers, and needs an environment that asks', () => {
    const { rounds } = protocolOf({ name: 'plain' }, { memory: 'last' });
    assert.deepEqual(rounds?.history, { memory: 'last', prompts: false, responses: true });
    assert.throws(() => protocolOf({ name: 'plain', after: 'main' }, {}), /needs an environment that asks/u);
    assert.throws(() => protocolOf({ name: 'plain' }, { prompts: 'yes' }), /must be true or false/u);
  });
});
