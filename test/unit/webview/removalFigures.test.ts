/** The figures of runs that credit by removal. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { summarizeRemovals, type RemovalRollout } from '../../../src/domain/stepRows.ts';
import { removalFigures } from '../../../webview/dashboard/removalFigures.ts';
import { row, view } from './dashboardFixture.ts';

const rollout = (joint: number, solo: number, thinker: number, shared: number): RemovalRollout => ({
  problem: 'a',
  joint,
  solo,
  shared,
  tokens: 2,
  soloTokens: 1,
  messages: [
    { role: 'thinker', credit: thinker },
    { role: 'solver', credit: 2 * thinker },
  ],
});
const ROLLOUTS = [rollout(1, 0, 1, 0.5), rollout(1, 0, 3, 0.7), rollout(0, 0, -1, -0.5), rollout(0.5, 0, 9, 9)];

const contributions = (...means: readonly number[]) => ({
  contributions: means.map((mean, index) => ({ role: `voter${index + 1}`, mean, deviation: 0.5 })),
});

it('boxes of each role lie beside those of a shared return, outcome by outcome', () => {
  const made = view([['run', [row(1)]]]);
  const shown = { ...made, snapshot: { ...made.snapshot, removal: summarizeRemovals(ROLLOUTS) } };
  const [thinker, solver, ...others] = removalFigures(shown);
  assert.ok(thinker !== undefined && solver !== undefined);
  assert.deepEqual([thinker.id, solver.id, others], ['outcome thinker', 'outcome solver', []]);
  const [line] = thinker.lines(shown);
  // (1, 0) is the second outcome and (0, 0) the last one; the others have no rollout.
  assert.deepEqual(
    line?.points.map(({ x, y, look }) => [x, y, look]),
    [
      [1.83, 2, 0],
      [2.17, 0.6, 1],
      [3.83, -1, 0],
      [4.17, -0.5, 1],
    ],
  );
  const { format } = thinker.x('step');
  assert.deepEqual([1, 2, 4, 5].map(format), ['(1, 1)', '(1, 0)', '(0, 0)', '']);
  assert.deepEqual(
    solver.lines(shown)[0]?.points.map(({ y }) => y),
    [4, 0.6, -2, -0.5],
  );
  assert.equal(thinker.latest(shown), '0.0 % → 62.5 %');
  const { rows } = thinker.table(shown);
  assert.deepEqual(
    [rows.length, rows[2]?.cells.map(({ text }) => text)],
    [8, ['(1, 0), learned from', '2', '+1.000', '+1.500', '+2.000', '+2.500', '+3.000']],
  );
  // Another method has none.
  assert.deepEqual(removalFigures(made), []);
});

it('contributions lie by the pairing of models, where there is more than one model', () => {
  const voters = ['voter1', 'voter2'];
  const rows = (...means: readonly number[]) => {
    const [first] = row(1).credits.roles;
    const roles = first === undefined ? [] : voters.map((role) => ({ ...first, role }));
    return [{ ...row(1), ...contributions(...means), credits: { roles, variance: null } }];
  };
  const made = view([
    ['run', rows(0.1, -0.2)],
    ['other', rows(0.3, 0.4)],
  ]);
  const models = [
    { own: 'large', roles: { voter2: 'small' } },
    { own: 'large', roles: {} },
  ];
  const shown = { ...made, runs: made.runs.map((run, index) => ({ ...run, models: models[index] ?? run.models })) };
  const figure = removalFigures(shown).at(-1);
  assert.equal(figure?.title, 'Contribution by pairing of models');
  assert.equal(figure.x('step').title, '1 large, 2 small');
  assert.deepEqual([1, 2, 3].map(figure.x('step').format), ['1 1', '1 2', '']);
  assert.deepEqual(
    figure.lines(shown).map(({ label, points }) => [label, ...points.map(({ x, y, target }) => [x, y, target])]),
    [
      ['voter1', [0.76, 0.3, { kind: 'run', run: 'other' }], [1.76, 0.1, { kind: 'run', run: 'run' }]],
      ['voter2', [1.24, 0.4, { kind: 'run', run: 'other' }], [2.24, -0.2, { kind: 'run', run: 'run' }]],
    ],
  );
  assert.equal(figure.latest(shown), '+0.100, −0.200');
  assert.deepEqual(
    figure
      .table(shown)
      .rows.at(-1)
      ?.cells.map(({ text }) => text),
    ['A', '1 2', 'voter2', 'small', '1', '−0.200', '0.500'],
  );
  // All of one model: there is nothing to compare.
  assert.equal(
    removalFigures(made).some(({ title }) => title.includes('pairing')),
    false,
  );
});

it('each voter has a line of its own, with a name that says whose it is', () => {
  const rows = [
    { ...row(1), ...contributions(0.1, -0.2) },
    { ...row(2), ...contributions(0.3, 0) },
  ];
  const one = view([['run', rows]]);
  const [figure] = removalFigures(one);
  assert.ok(figure !== undefined);
  assert.deepEqual(
    figure.lines(one).map(({ label, look, points }) => [label, look, ...points.map(({ x, y }) => [x, y])]),
    [
      ['voter1', 0, [1, 0.1], [2, 0.3]],
      ['voter2', 1, [1, -0.2], [2, 0]],
    ],
  );
  assert.equal(figure.latest(one), '0.000 to +0.300');
  assert.equal(figure.table(one).rows.length, 4);
  const two = view([
    ['run', rows],
    ['other', [{ ...row(1), ...contributions(0.5) }]],
  ]);
  assert.deepEqual(
    figure.lines(two).map(({ label }) => label),
    ['A voter1', 'A voter2', 'B voter1'],
  );
});
