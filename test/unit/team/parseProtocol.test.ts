import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { C3Error } from '../../../src/shared/errors.ts';
import { parseProtocol } from '../../../src/team/parseProtocol.ts';
import {
  listDescendants,
  isTerminal,
  requireOccurrence,
  requireRole,
  type Protocol,
} from '../../../src/team/protocol.ts';

/** Positions whose own text determines the return. */
const terminalPositions = (protocol: Protocol): number[] =>
  protocol.occurrences.map(({ position }) => position).filter((position) => isTerminal(protocol, position));
const parse = (value: unknown): Protocol => parseProtocol(JSON.stringify(value), 'roles/team.json');
const role = (name: string, ...dependsOn: string[]): Record<string, unknown> => ({
  role: name,
  prompt: `You are ${name}.`,
  depends_on: dependsOn,
});
const ids = (protocol: Protocol): string[] => protocol.occurrences.map((occurrence) => occurrence.id);
const names = (protocol: Protocol, positions: readonly number[]): string[] =>
  positions.map((position) => requireOccurrence(protocol, position).id);

function refuses(text: string, ...parts: RegExp[]): void {
  assert.throws(
    () => parseProtocol(text, 'roles/team.json'),
    (error) => {
      assert.ok(error instanceof C3Error, String(error));
      assert.equal(error.kind, 'input');
      assert.match(error.message, /^roles\/team\.json/);
      assert.doesNotMatch(error.message, /\n/);
      for (const part of parts) {
        assert.match(error.message, part);
      }
      return true;
    },
  );
}
const refusesValue = (value: unknown, ...parts: RegExp[]): void => refuses(JSON.stringify(value, null, 1), ...parts);

describe('order, visibility and scoring', () => {
  it('orders the published branch as planner, b, a, integrator and hides parallel roles from each other', () => {
    const protocol = parse([role('p'), role('b', 'p'), role('a', 'p'), role('i', 'b', 'a')]);
    assert.deepEqual(ids(protocol), ['p', 'b', 'a', 'i']);
    assert.deepEqual(
      protocol.occurrences.map((occurrence) => occurrence.parents),
      [[], [0], [0], [1, 2]],
    );
    assert.deepEqual(
      protocol.occurrences.map((occurrence) => occurrence.ancestors),
      [[], [0], [0], [0, 1, 2]],
    );
    assert.deepEqual(
      protocol.occurrences.map((occurrence) => occurrence.scored),
      [false, false, false, true],
    );
    assert.deepEqual(names(protocol, listDescendants(protocol, 1)), ['i']);
    assert.deepEqual(names(protocol, listDescendants(protocol, 0)), ['b', 'a', 'i']);
    assert.deepEqual(terminalPositions(protocol), [3]);
  });

  it('releases children first in, first out, in the file order', () => {
    // A stack would give z before y; sorting by name would give a first.
    const protocol = parse([role('i', 'z', 'y'), role('y', 'x'), role('x'), role('z', 'a'), role('a')]);
    assert.deepEqual(ids(protocol), ['x', 'a', 'y', 'z', 'i']);
  });

  it('sees transitive ancestors in a chain of four', () => {
    const protocol = parse([role('a'), role('b', 'a'), role('c', 'b'), role('d', 'c')]);
    assert.deepEqual(requireOccurrence(protocol, 3).parents, [2]);
    assert.deepEqual(requireOccurrence(protocol, 3).ancestors, [0, 1, 2]);
    assert.deepEqual(listDescendants(protocol, 1), [2, 3]);
    assert.equal(isTerminal(protocol, 3), true);
    assert.equal(isTerminal(protocol, 2), false);
  });

  it('does not see a role that merely is earlier', () => {
    const protocol = parse([role('a'), role('b')]);
    assert.deepEqual(requireOccurrence(protocol, 1).ancestors, []);
  });

  it('scores every role with an answer, the last role without one', () => {
    const two = parse([
      role('plan'),
      { ...role('one', 'plan'), with_answer: true },
      { ...role('two', 'plan'), with_answer: true },
      role('review', 'one'),
    ]);
    assert.deepEqual(
      two.occurrences.filter((occurrence) => occurrence.scored).map((occurrence) => occurrence.id),
      ['one', 'two'],
    );
    // Nothing scored lies below any of the three, so their own text determines the return.
    assert.deepEqual(names(two, terminalPositions(two)), ['one', 'two', 'review']);
    assert.deepEqual(
      parse([role('a'), role('b', 'a')]).occurrences.map((occurrence) => occurrence.scored),
      [false, true],
    );
  });

  it('takes a role that speaks twice from turns', () => {
    const protocol = parse({
      roles: [
        { ...role('reasoner'), depends_on: null, max_new_tokens: 16 },
        { role: 'actor', prompt: 'Solve.', with_answer: true },
      ],
      turns: [
        { role: 'reasoner' },
        { role: 'actor', depends_on: ['reasoner'] },
        { role: 'reasoner', depends_on: ['actor'] },
        { id: 'final', role: 'actor', depends_on: ['reasoner#2'] },
      ],
    });
    assert.deepEqual(
      protocol.occurrences.map(({ id, role: name, turn, ancestors, scored }) => ({
        id,
        name,
        turn,
        ancestors,
        scored,
      })),
      [
        { id: 'reasoner', name: 'reasoner', turn: 0, ancestors: [], scored: false },
        { id: 'actor', name: 'actor', turn: 0, ancestors: [0], scored: true },
        { id: 'reasoner#2', name: 'reasoner', turn: 1, ancestors: [0, 1], scored: false },
        { id: 'final', name: 'actor', turn: 1, ancestors: [0, 1, 2], scored: true },
      ],
    );
    // The first answer is a checkpoint, but a later one still depends on it.
    assert.deepEqual(terminalPositions(protocol), [3]);
    assert.equal(requireRole(protocol, 'reasoner').maxNewTokens, 16);
    assert.equal(requireRole(protocol, 'actor').maxNewTokens, null);
  });

  it('counts turns in canonical order, whatever the file order', () => {
    const protocol = parse({
      roles: [role('a')],
      turns: [
        { id: 'late', role: 'a', depends_on: ['early'] },
        { id: 'early', role: 'a' },
      ],
    });
    assert.deepEqual(
      protocol.occurrences.map(({ id, turn }) => [id, turn]),
      [
        ['early', 0],
        ['late', 1],
      ],
    );
  });

  it('lets scored overrule with_answer', () => {
    const protocol = parse({
      roles: [
        { ...role('a'), with_answer: true },
        { ...role('b'), depends_on: ['a'] },
      ],
      scored: ['b'],
    });
    assert.deepEqual(
      protocol.occurrences.map((occurrence) => occurrence.scored),
      [false, true],
    );
  });
});

describe('forms of the file', () => {
  it('reads YAML as it reads JSON', () => {
    const yaml =
      'name: duo\nroles:\n  - role: reasoner\n    prompt: |\n      Plan {question}.\n  - name: actor\n    prompt: Solve.\n    with_answer: true\n    depends_on: [reasoner]\n';
    assert.deepEqual(
      parseProtocol(yaml, 'x.yaml'),
      parse({
        name: 'duo',
        roles: [
          { role: 'reasoner', prompt: 'Plan {question}.\n' },
          { role: 'actor', prompt: 'Solve.', with_answer: true, depends_on: ['reasoner'] },
        ],
      }),
    );
  });

  it('reads tabs, escapes and surrogate pairs of JSON', () => {
    const protocol = parseProtocol('[\n\t{"role": "a",\t"prompt": "x\\/\\ud83d\\ude00\\n"}\n]', 'x.json');
    assert.equal(requireRole(protocol, 'a').prompt, 'x/😀\n');
  });

  it('names a nameless protocol after its file', () => {
    assert.equal(parse([role('a')]).name, 'team');
    assert.equal(parseProtocol('[{role: a, prompt: b}]', 'C:\\x\\my.roles.yaml').name, 'my.roles');
    assert.equal(parseProtocol('[{role: a, prompt: b}]', '.roles').name, '.roles');
  });

  it('reads the bundled team', () => {
    const file = new URL('../../../media/team/protocol.json', import.meta.url);
    const protocol = parseProtocol(readFileSync(file, 'utf8'), 'protocol.json');
    assert.equal(protocol.name, 'reasoner-actor');
    assert.deepEqual(ids(protocol), ['reasoner', 'actor']);
    assert.deepEqual(
      protocol.roles.map((one) => one.maxNewTokens),
      [16, 48],
    );
    assert.deepEqual(
      protocol.occurrences.map(({ parents, scored }) => [parents, scored]),
      [
        [[], false],
        [[0], true],
      ],
    );
  });
});

describe('errors', () => {
  it('refuses what is no protocol at all', () => {
    refuses('', /list of roles/);
    refuses('3', /list of roles/);
    refuses('[]', /empty/);
    refuses('{"roles": []}', /roles: .*empty/);
    refuses('{"name": "x"}', /roles: must be a list/);
    refuses('{"roles": {"a": 1}}', /roles: must be a list/);
    refuses('[3]', /\[0\]: must be a mapping/);
    refuses('[[]]', /\[0\]: must be a mapping/);
  });

  it('refuses text that cannot be parsed, in one line', () => {
    refuses('[{"role": "a",', /neither JSON nor YAML/);
    refuses('a: 1\na: 2', /unique.*line 2/);
    refuses('a: *nope', /nope/);
    refuses('- role: !exec a\n  prompt: b', /tag/i);
    refuses('[{role: a, prompt: b}]\n---\n[]', /multiple documents/);
    refuses('['.repeat(20_000), /neither JSON nor YAML/);
    refuses(' '.repeat(2 ** 20 + 1), /characters/);
    refuses(JSON.stringify(Array.from({ length: 1001 }, (_, index) => role(`r${index}`))), /1001/);
  });

  it('names line, key and role of a missing or wrong value', () => {
    refusesValue([{ prompt: 'p' }], /line 2/, /\[0\]\.role/);
    refusesValue([{ role: ' ', prompt: 'p' }], /\[0\]\.role/);
    refusesValue([{ name: 7, prompt: 'p' }], /\[0\]\.name/);
    refusesValue([{ role: 'a', name: 'a', prompt: 'p' }], /\[0\]\.name/);
    refusesValue([{ role: 'a' }], /\[0\]\.prompt/, /'a'/);
    refusesValue([{ role: 'a', prompt: ' \n' }], /\[0\]\.prompt/);
    refusesValue([{ role: 'a', prompt: 'p', with_answer: 'yes' }], /\[0\]\.with_answer/);
    refusesValue([{ role: 'a', prompt: 'p', depends_on: 'b' }], /\[0\]\.depends_on/);
    refusesValue([{ role: 'a', prompt: 'p', depends_on: [1] }], /\[0\]\.depends_on\[0\]/);
    for (const value of [0, -1, 1.5, '9', true]) {
      refusesValue([{ role: 'a', prompt: 'p', max_new_tokens: value }], /\[0\]\.max_new_tokens/);
    }
    refusesValue([{ role: 'a\u0000', prompt: 'p' }], /\[0\]\.role/);
    refusesValue([{ role: 'x'.repeat(101), prompt: 'p' }], /\[0\]\.role/);
    refuses('- role: a\n  prompt: b\n- role: c\n  prompt: 4\n', /line 4: \[1\]\.prompt/);
  });

  it('refuses repeated and ambiguous names', () => {
    refusesValue([role('a'), role('b'), role('a')], /\[2\]\.role/, /'a'/);
    // Surrounding blanks make no other name.
    refusesValue([role('a'), role(' a ')], /\[1\]\.role/);
    refusesValue([role('question')], /placeholder/);
    refusesValue([role('context')], /placeholder/);
    refusesValue([role('a_output'), role('a')], /\[0\]\.role/, /placeholder/);
  });

  it('names the nearest role for an unknown dependency', () => {
    refusesValue(
      [role('planner'), role('actor', 'planer')],
      /\[1\]\.depends_on\[0\]/,
      /'planer'/,
      /did you mean 'planner'/,
    );
    refusesValue([role('a'), role('b', 'zzzzzzzzz')], /valid are a, b/);
  });

  it('shows a cycle along its arrows', () => {
    refusesValue(
      [role('start'), role('a', 'start', 'c'), role('b', 'a'), role('c', 'b')],
      /depends_on/,
      /(a -> b -> c -> a|b -> c -> a -> b|c -> a -> b -> c)/,
    );
    refusesValue([role('a', 'a')], /a -> a/);
  });

  it('names the nearest key for an unknown one', () => {
    refusesValue([{ role: 'a', promt: 'p' }], /\[0\]\.promt/, /did you mean 'prompt'/);
    refusesValue({ role: [role('a')] }, /did you mean 'roles'/);
    refusesValue(
      { roles: [role('a')], turns: [{ role: 'a', depend_on: [] }] },
      /turns\[0\]\.depend_on/,
      /did you mean 'depends_on'/,
    );
    refuses('[{"role": "a", "prompt": "p", "__proto__": 1}]', /__proto__/);
    refuses('[{"role": "a", "prompt": "p", "two\\nlines": 1}]', /"two\\nlines"/);
  });

  it('refuses turns that do not fit the roles', () => {
    const roles = [role('planner'), role('actor')];
    refusesValue({ roles, turns: [] }, /turns: .*empty/);
    refusesValue({ roles, turns: [{ role: 'planer' }] }, /turns\[0\]\.role/, /did you mean 'planner'/);
    refusesValue({ roles, turns: [{ role: 'planner' }] }, /roles\[1\]/, /'actor' has no turn/);
    refusesValue(
      {
        roles,
        turns: [
          { id: 'x', role: 'planner' },
          { id: 'x', role: 'actor' },
        ],
      },
      /turns\[1\]\.id/,
    );
    refusesValue(
      { roles, turns: [{ role: 'planner' }, { role: 'actor', depends_on: ['planner#2'] }] },
      /turns\[1\]\.depends_on\[0\]/,
      /did you mean 'planner'/,
    );
    refusesValue(
      { roles: [role('a'), role('b', 'a')], turns: [{ role: 'a' }, { role: 'b' }] },
      /roles\[1\]\.depends_on/,
      /set them in the turns/,
    );
    refusesValue({ roles, scored: ['actr'] }, /scored\[0\]/, /did you mean 'actor'/);
    refusesValue({ roles, scored: [] }, /scored/);
  });

  it('refuses positions and roles that the protocol does not have', () => {
    const protocol = parse([role('a')]);
    for (const call of [
      () => requireOccurrence(protocol, 1),
      () => listDescendants(protocol, -1),
      () => isTerminal(protocol, 0.5),
      () => requireRole(protocol, 'b'),
    ]) {
      assert.throws(call, (error) => error instanceof C3Error && error.kind === 'input');
    }
  });
});
