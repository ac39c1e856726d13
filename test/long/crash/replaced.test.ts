/** A run that begins with a policy replaced, killed in stage 0 and within its turns: it ends as one that never was. */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, it, type TestContext } from 'node:test';
import { connect } from '../../../src/store/files/sqlite.ts';
import { tablesOf, type Row } from '../../crash/tables.ts';
import { c3, copyOf, parseLine, startC3, withStore } from '../../unit/engine/workspace.ts';

const KEYS = [
  'method=teamtr',
  'task={name: chain, roles: 2, levels: [1]}',
  'instances_per_step=3',
  'evaluator_budget=8',
  'evaluation={instances: 4, before: false}',
  'adapter={per: role, rank: 2}',
  'ppo.learning_rate=0.01',
  'teamtr.delta=1',
  'device.threads=1',
];
const asked = (...keys: readonly string[]): readonly string[] => [
  'run',
  '--json',
  ...[...KEYS, ...keys].flatMap((key) => ['--override', key]),
];

let workspace = '';
let earlier = '';

/** A line, and how many milliseconds later the process is killed. */
type Moment = readonly [RegExp, number];

/** @returns whether it was killed */
function runUntil(folder: string, args: readonly string[], moment: Moment | null): Promise<boolean> {
  const child = startC3(folder, args);
  child.stdin.end();
  let stderr = '';
  let seen = false;
  child.stdout.resume();
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk.toString();
    if (!seen && moment?.[0].test(stderr) === true) {
      seen = true;
      setTimeout(() => child.kill('SIGKILL'), moment[1]);
    }
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => {
      if (code === 0 || signal === 'SIGKILL') {
        resolve(signal === 'SIGKILL');
      } else {
        reject(new Error(stderr));
      }
    });
  });
}

interface Ended {
  readonly kills: number;
  readonly weights: string;
  readonly tables: Readonly<Record<string, readonly Row[]>>;
}

/** A run in a copy of the workspace, killed at moment after moment until it ended before the next one. */
async function interrupted(
  t: TestContext,
  moments: readonly Moment[],
): Promise<Ended & { readonly unused: readonly Moment[] }> {
  const folder = copyOf(t, workspace);
  const begin = asked('steps=3', `begin={run: ${earlier}, replace: {role: second, max_steps: 6, probes: 6}}`);
  const started = (): string | undefined =>
    withStore(folder, (store) => store.runs(0, 5).find(({ id }) => id !== earlier)?.id);
  let kills = 0;
  for (const moment of [...moments, null]) {
    const id = started();
    if (!(await runUntil(folder, id === undefined ? begin : ['run', '--json', '--resume', id], moment))) {
      break;
    }
    kills++;
  }
  const id = started() ?? assert.fail();
  const db = connect(join(folder, '.c3', 'c3.sqlite'), 'read');
  try {
    const { file } = withStore(folder, (store) => store.snapshotsOfRun(id)).at(-1) ?? assert.fail();
    const weights = createHash('sha256')
      .update(readFileSync(file ?? assert.fail()))
      .digest('hex');
    const tables = tablesOf(db, { [id]: 'RUN', [folder]: 'FOLDER' });
    return { kills, weights, tables, unused: moments.slice(kills) };
  } finally {
    db.close();
  }
}

/** While the new policy is aligned: nothing of the run is stored yet. */
const IN_STAGE_0 = [0, 150, 300, 450, 600, 900].map((later): Moment => [/Memory: about/u, later]);
const IN_A_TURN = [0, 10, 20, 35, 50, 70, 90].flatMap((later): Moment[] => [
  [/the model is loaded/u, later],
  [/stage 1 is sampled|Step \d of 3: mean/u, later],
]);

function killedReplacement(moments: readonly Moment[]): void {
  before(async () => {
    workspace = mkdtempSync(join(tmpdir(), 'c3-killed-replace-'));
    const { stdout, stderr } = await c3(workspace, asked('steps=1'));
    assert.notEqual(stdout, '', stderr);
    earlier = String(parseLine(stdout)['run']);
  });
  after(() => rmSync(workspace, { recursive: true, force: true }));

  it('comes to the same weights and rows over kills in stage 0 and within turns', async (t) => {
    const whole = await interrupted(t, []);
    let left: readonly Moment[] = moments;
    while (left.length > 0) {
      // A run that ended before its moment came is one of several: the moment is tried again in another.
      const killed = await interrupted(t, left);
      assert.ok(killed.kills > 0, 'a run ended before it was killed at all');
      left = killed.unused;
      assert.equal(killed.weights, whole.weights);
      for (const [table, rows] of Object.entries(whole.tables)) {
        if (!table.startsWith('message_search')) {
          assert.deepEqual(killed.tables[table], rows, table);
        }
      }
    }
    t.diagnostic(`${moments.length} kills`);
  });
}

killedReplacement([...IN_STAGE_0, ...IN_A_TURN]);
