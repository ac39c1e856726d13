import assert from 'node:assert/strict';
import { it } from 'node:test';
import { formatNumberedModels, groupTeamPairings, readRoleModels } from '../../../src/domain/stepRows.ts';

const recipe = (policies: object, roles: object): string =>
  JSON.stringify({ modelFolder: '/models/team-logic/', config: { policies }, roles });

it("the model of a role is that of its weights, of its server, or the run's own", () => {
  const found = readRoleModels(
    recipe(
      {
        a: { kind: 'model' },
        b: { kind: 'endpoint', model_name: 'vendor/big' },
        c: { kind: 'scripted' },
        d: { kind: 'own' },
      },
      { a: { folder: 'C:\\models\\small' } },
    ),
  );
  assert.deepEqual(found, { own: 'team-logic', roles: { a: 'small', b: 'big', c: 'scripted' } });
  assert.deepEqual(readRoleModels('no JSON'), { own: '', roles: {} });
  assert.deepEqual(readRoleModels('[]'), { own: '', roles: {} });
});

it('teams with the same models in the same roles are one pairing, and models are numbered by name', () => {
  const team = (run: string, ...small: readonly string[]) => ({
    run,
    models: { own: 'large', roles: Object.fromEntries(small.map((role) => [role, 'SMALL'])) },
    roles: ['v1', 'v2'],
    contributions: run === 'empty' ? [] : [{ role: 'v1', mean: 0, deviation: 0 }],
  });
  const { models, pairings } = groupTeamPairings([
    team('x'),
    team('y', 'v2'),
    team('z', 'v2'),
    team('w', 'v1'),
    team('empty', 'v1', 'v2'),
  ]);
  assert.equal(formatNumberedModels(models), '1 SMALL, 2 large');
  assert.deepEqual(
    pairings.map(({ label, teams }) => [label, ...teams.map(({ run }) => run)]),
    [
      ['1 2', 'w'],
      ['2 1', 'y', 'z'],
      ['2 2', 'x'],
    ],
  );
});
