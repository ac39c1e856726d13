/** What the user of an assistant reads before a replay, in the editor and over the Model Context Protocol. */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import {
  prepareReplay,
  prepareRunSearch,
  prepareSearch,
  type AskedReplay,
} from '../../../../src/engine/assistant/askedReplay.ts';
import { readTeam } from '../../../../src/engine/program/teamFile.ts';

const TEAM = JSON.stringify({
  driver: ['node', 'driver.mjs', '--all'],
  policy: { endpoint: 'http://127.0.0.1:1/v1', model_name: 'm' },
});

function workspace(t: TestContext): string {
  const above = realpathSync(mkdtempSync(join(tmpdir(), 'c3-asked-')));
  t.after(() => rmSync(above, { recursive: true, force: true }));
  const folder = join(above, 'work');
  mkdirSync(folder);
  writeFileSync(join(above, 'team.yaml'), TEAM);
  writeFileSync(join(folder, 'team.yaml'), TEAM);
  return folder;
}
const ask = (folder: string, team?: string): Promise<AskedReplay> =>
  prepareReplay({ folder, asked: { message: 7, max_evaluator_calls: 20, ...(team !== undefined && { team }) } }, () =>
    Promise.resolve([]),
  );

it('says the command that a team file starts, and asks for the bytes that were read', async (t) => {
  const folder = workspace(t);
  const { request, words } = await ask(folder, 'team.yaml');
  const command = `"node" "driver.mjs" "--all" in the folder ${JSON.stringify(folder)}`;
  assert.equal(
    words,
    `Replaying message 7 with 4 alternatives and 4 continuations starts ${command}, which "team.yaml" names, and costs at most 20 evaluator calls`,
  );
  const path = join(folder, 'team.yaml');
  const teamHash = createHash('sha256').update(TEAM).digest('hex');
  assert.deepEqual(request, {
    message: 7,
    alternatives: 4,
    replays: 4,
    text: null,
    result: null,
    team: path,
    teamHash,
  });
  writeFileSync(path, TEAM.replace('--all', '--none'));
  await assert.rejects(readTeam(path, teamHash), /was changed after the user was asked/u);
});

it('refuses a team file outside of the folder in the words of one that is not there', async (t) => {
  const folder = workspace(t);
  for (const team of ['../team.yaml', '../none.yaml', join(folder, '..', 'team.yaml'), '/etc/passwd']) {
    await assert.rejects(ask(folder, team), {
      message: `team must be a file in the folder of this store, but ${JSON.stringify(team)} is not; nothing was replayed.`,
    });
  }
});

it('has no file in what is asked without one', async (t) => {
  const { request } = await ask(workspace(t));
  assert.deepEqual([request.team, request.teamHash], [undefined, undefined]);
});

it('says what a search starts and costs, and asks for the bytes that were read', async (t) => {
  const folder = workspace(t);
  const asked = { message: 7, team: 'team.yaml', max_evaluator_calls: 20 };
  const { request, words } = await prepareSearch({ folder, asked, spending: { tokens: 5 } }, () => Promise.resolve([]));
  assert.equal(
    words,
    `Searching for the message that lost the episode of message 7 starts "node" "driver.mjs" "--all" in the folder ${JSON.stringify(folder)}, which "team.yaml" names, and costs at most 20 evaluator calls`,
  );
  const path = join(folder, 'team.yaml');
  assert.deepEqual(request, {
    message: 7,
    budget: 20,
    team: path,
    teamHash: createHash('sha256').update(TEAM).digest('hex'),
    spending: { tokens: 5 },
  });
  const { team: _, ...own } = asked;
  const without = await prepareSearch({ folder, asked: own }, () => Promise.resolve([]));
  assert.deepEqual(without.request, { message: 7, budget: 20 });
  assert.match(without.words, /^Searching for the message that lost the episode of message 7 costs at most 20/u);
  await assert.rejects(
    prepareSearch({ folder, asked: { ...asked, team: '../team.yaml' } }, () => Promise.resolve([])),
    /team must be a file in the folder of this store/u,
  );
});

it('says of a search of a run what it starts and costs, and asks for the bytes that were read', async (t) => {
  const folder = workspace(t);
  const asked = { run: 'r1', team: 'team.yaml', max_evaluator_calls: 200 };
  const { request, words } = await prepareRunSearch({ folder, asked, spending: { money: 2 } }, () =>
    Promise.resolve([]),
  );
  assert.equal(
    words,
    `Searching for what loses the episodes of run "r1" starts "node" "driver.mjs" "--all" in the folder ${JSON.stringify(folder)}, which "team.yaml" names, and costs at most 200 evaluator calls`,
  );
  assert.deepEqual(request, {
    run: 'r1',
    budget: 200,
    team: join(folder, 'team.yaml'),
    teamHash: createHash('sha256').update(TEAM).digest('hex'),
    spending: { money: 2 },
  });
  const { team: _, ...own } = asked;
  const without = await prepareRunSearch({ folder, asked: own }, () => Promise.resolve([]));
  assert.deepEqual(without.request, { run: 'r1', budget: 200 });
  assert.equal(without.words, 'Searching for what loses the episodes of run "r1" costs at most 200 evaluator calls');
  await assert.rejects(
    prepareRunSearch({ folder, asked: { ...asked, team: '../team.yaml' } }, () => Promise.resolve([])),
    /team must be a file in the folder of this store/u,
  );
});
