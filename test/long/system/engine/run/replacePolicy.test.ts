/** A run that begins with the team of an earlier one, a policy of it replaced: it answers, goes on, and is verified. */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, it } from 'node:test';
import { readReplacement, type Replacement } from '../../../../../src/domain/run.ts';
import { findBundledTeam } from '../../../../../src/engine/places.ts';
import { c3, parseLine, withStore } from '../../../../unit/engine/workspace.ts';

let folder = '';
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'c3-replace-policy-'));
});
after(() => rmSync(folder, { recursive: true, force: true }));

const run = (...overrides: readonly string[]) =>
  c3(folder, [
    'run',
    '--json',
    ...[
      'method=teamtr',
      'task={name: chain, roles: 2, levels: [1]}',
      'instances_per_step=3',
      'evaluator_budget=8',
      'evaluation={instances: 4, before: false}',
      'adapter={per: role, rank: 2}',
      'ppo.learning_rate=0.01',
      'teamtr.delta=1',
      'device.threads=1',
      ...overrides,
    ].flatMap((one) => ['--override', one]),
  ]);

it('goes on with the trained team, and aligns a new policy first', async () => {
  const first = await run('steps=1');
  assert.equal(first.code, 0, first.stderr);
  const earlier = String(parseLine(first.stdout)['run']);

  const strange = await run('steps=1', `begin={run: ${earlier}, replace: {role: third}}`);
  assert.equal(strange.code, 2);
  assert.match(strange.stderr, /begin\.replace\.role: The protocol .* has no role third; it has first, second\./u);
  const shared = await run('steps=1', 'adapter.per=team', `begin={run: ${earlier}}`);
  assert.match(shared.stderr, /begin\.run: Run .* had adapters of other owners/u);

  const begin = `begin={run: ${earlier}, replace: {role: second, probes: 30, max_steps: 30, delta: 0.00001, learning_rate: 0.001}}`;
  const next = await run('steps=1', begin);
  assert.equal(next.code, 0, next.stderr);
  const [, from, to] = /stage 0 brought the KL from (\S+) nats per message to (\S+) nats/u.exec(next.stderr) ?? [];
  assert.ok(Number(from) > Number(to), next.stderr);
  const id = String(parseLine(next.stdout)['run']);
  withStore(folder, (reader) => {
    const last = reader.snapshotsOfRun(earlier).at(-1)?.id;
    const began = reader.snapshotsOfRun(id)[0]?.id;
    assert.notEqual(began, last);
    assert.notEqual(began, reader.snapshotsOfRun(earlier)[0]?.id);
    const found = readReplacement(reader.runConfig(id)) ?? assert.fail();
    assert.deepEqual([found.run, found.role, found.by], [earlier, 'second', 'the model without an adapter']);
    assert.ok((found.kls.at(-1) ?? NaN) < (found.kls[0] ?? NaN), String(found.kls));
    // More than the earlier run's one step had: the team before the swap is asked further questions.
    assert.equal(found.probes, 30);
    // Of the same four questions each, as the run itself evaluates them.
    const { before, direct, aligned, directChange, evaluatorCalls } = found.shock ?? assert.fail();
    assert.deepEqual([before?.n, direct?.n, aligned?.n, evaluatorCalls], [4, 4, 4, 12]);
    assert.ok(Math.abs((direct?.value ?? NaN) - (before?.value ?? NaN) - (directChange?.value ?? NaN)) < 1e-12);
    const [ended] = reader.evaluations(earlier).filter(({ kind }) => kind === 'greedy');
    assert.equal(before?.value, ended?.result?.value);
  });
  // Its first messages are of the team that it began with, which is kept beside the store.
  const verified = parseLine((await c3(folder, ['verify', '--run', id, '--sample', '6', '--json'])).stdout);
  assert.equal(verified['different'], 0);
  assert.ok(Number(verified['identical']) > 0);
});

it('replaces a policy by command: by one that a run trained, or by a model', async () => {
  const earlier = withStore(folder, (reader) => reader.runs(0, 10).map(({ id }) => id)).at(-1);
  assert.ok(earlier !== undefined);
  const swap = (source: string, ...more: readonly string[]) =>
    c3(folder, ['replace', earlier, `second=${source}`, '--json', ...more, '--override', 'steps=0']);

  // Its own policy is no other; the one that it began with is swapped in as it was.
  const own = await swap(earlier, '--strategy', 'direct');
  assert.equal(own.code, 0, own.stderr);
  const same = parseLine(own.stdout)['replacement'] as Replacement;
  assert.deepEqual([same.delta, same.kls, same.shock?.aligned, same.shock?.directChange?.value], [null, [0], null, 0]);
  assert.equal(same.by, `the policy of second in run ${earlier}`);

  // A model answers without learning, with the rest of the team.
  const answered = await swap(findBundledTeam('chain'), '--strategy', 'direct');
  assert.equal(answered.code, 0, answered.stderr);
  withStore(folder, (reader) => {
    const began = reader
      .snapshotsOfRun(String(parseLine(answered.stdout)['run']))
      .find(({ iteration }) => iteration === 0);
    assert.equal(began?.id, reader.snapshotsOfRun(earlier).at(-1)?.id);
  });
});
