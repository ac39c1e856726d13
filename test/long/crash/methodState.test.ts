/** A run whose method carries a state, killed again and again: it ends with the rows of one that never was. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { after, before, it, type TestContext } from 'node:test';
import { connect } from '../../../src/store/files/sqlite.ts';
import { tablesOf, type Row } from '../../crash/tables.ts';
import { teamFolder, temporaryFolder } from '../../unit/training/tinyRun.ts';

let team: Awaited<ReturnType<typeof teamFolder>>;

/** A line of the run, and how many milliseconds later it is killed. */
type KillMoment = readonly [RegExp, number];

type Kind = 'statistics' | 'stages' | 'teamtr' | 'diagnosed' | 'ccpo' | 'voting';

/**
 * Runs until a line, after which it is killed some milliseconds later; null lets it come to its end.
 * @returns whether it was killed
 */
async function runUntil(kind: Kind, folder: string, line: RegExp | null, later = 0): Promise<boolean> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'statefulRun.ts'), team.folder, folder, kind], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [stdout, stderr] = ['', ''];
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  child.stdout.on('data', (chunk: Buffer) => {
    const seen = line?.test(stdout) === true;
    stdout += chunk.toString();
    if (!seen && line?.test(stdout) === true) {
      setTimeout(() => child.kill('SIGKILL'), later);
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

async function interrupted(
  t: TestContext,
  kind: Kind,
  moments: readonly KillMoment[],
): Promise<{ readonly kills: number; readonly tables: Readonly<Record<string, readonly Row[]>> }> {
  const folder = temporaryFolder(t);
  let kills = 0;
  for (const [line, later] of moments) {
    if (await runUntil(kind, folder, line, later)) {
      kills++;
    }
  }
  await runUntil(kind, folder, null);
  const db = connect(join(folder, 'c3.sqlite'), 'read');
  try {
    return { kills, tables: tablesOf(db, { [folder]: 'FOLDER' }) };
  } finally {
    db.close();
  }
}

/** When a step has ended, and its next one begins. */
const step = (number: number, later: number): KillMoment => [
  new RegExp(`^(?:Step ${number} of 8: mean|Training: step ${number + 1} of 8)`, 'mu'),
  later,
];
/** When a step has sampled its stage. */
const stage = (number: number, later: number): KillMoment => [
  new RegExp(`^Step ${number} of 8: stage 1 is sampled`, 'mu'),
  later,
];

function assertSame(
  whole: Readonly<Record<string, readonly Row[]>>,
  killed: Readonly<Record<string, readonly Row[]>>,
): void {
  for (const [table, rows] of Object.entries(whole)) {
    if (!table.startsWith('message_search')) {
      assert.deepEqual(killed[table], rows, table);
    }
  }
}

/** A model that the tests of a file share. */
function statefulTeam(): void {
  before(async () => {
    team = await teamFolder();
  });
  after(() => team.remove());
}

/** Before, in and after a stage. */
const IN_STAGES: readonly KillMoment[] = [
  step(0, 20),
  stage(1, 0),
  step(1, 40),
  stage(2, 8),
  stage(3, 15),
  step(3, 60),
  stage(5, 3),
  step(6, 30),
  stage(8, 0),
];

function killedInStages(moments: readonly KillMoment[]): void {
  it('comes to the same stages, messages and weights over kills before, in and after a stage', async (t) => {
    const [whole, killed] = [await interrupted(t, 'stages', []), await interrupted(t, 'stages', moments)];
    assert.ok(killed.kills >= 0.5 * moments.length, `${killed.kills} kills`);
    assert.deepEqual([whole.tables['stage']?.length, whole.tables['stage_state']?.length], [8, 8]);
    assertSame(whole.tables, killed.tables);
  });
}

/** In the first turn of whichever step it is at. */
const first = (later: number): KillMoment => [/^Training: step \d of 8/mu, later];
/** In the second one. */
const second = (later: number): KillMoment => [/^Step \d of 8: stage 1 is sampled/mu, later];
const IN_TURNS: readonly KillMoment[] = [
  ...[0, 10, 20, 30, 45, 60].map(first),
  ...[0, 4, 8, 14, 20, 28, 36].flatMap((later) => [first(later), second(later)]),
];

function killedInTurns(kind: 'teamtr' | 'diagnosed', moments: readonly KillMoment[]): void {
  const words = kind === 'teamtr' ? 'turns of teamtr' : 'turns and diagnostics of teamtr';
  it(`comes to the same ${words} over kills, most of them within a turn`, async (t) => {
    const [whole, killed] = [await interrupted(t, kind, []), await interrupted(t, kind, moments)];
    t.diagnostic(`${killed.kills} of ${moments.length} kills`);
    assert.ok(killed.kills >= Math.floor(0.75 * moments.length), `${killed.kills} kills`);
    // A state after the second turn's episodes, and one of what the step came to.
    assert.deepEqual([whole.tables['stage']?.length, whole.tables['stage_state']?.length], [8, 16]);
    const shown = JSON.stringify(whole.tables['step']).includes('occupancyDrift');
    assert.equal(shown, kind === 'diagnosed');
    assertSame(whole.tables, killed.tables);
  });
}

/** In the middle of steps. */
const IN_STEPS: readonly KillMoment[] = [
  step(0, 0),
  step(0, 12),
  step(1, 3),
  step(2, 9),
  step(3, 0),
  step(4, 6),
  step(5, 15),
  step(6, 4),
  step(7, 8),
];

function killedInSteps(moments: readonly KillMoment[]): void {
  it('comes to the same states, messages and weights over kills in the middle of its steps', async (t) => {
    const [whole, killed] = [await interrupted(t, 'statistics', []), await interrupted(t, 'statistics', moments)];
    // On a busy machine the run may have ended before the last ones.
    assert.ok(killed.kills >= 0.4 * moments.length, `${killed.kills} kills`);
    assert.equal(whole.tables['method_state']?.length, 8);
    assertSame(whole.tables, killed.tables);
  });
}

/** In whichever step it is at: some come to its end, and most do not. */
const ANYWHERE: readonly KillMoment[] = Array.from({ length: 24 }, (_, number): KillMoment => [
  /^Training: step \d of 8/mu,
  (7 * number) % 30,
]);

function killedAnywhere(kind: 'ccpo' | 'voting', moments: readonly KillMoment[]): void {
  const words =
    kind === 'ccpo'
      ? 'statistics, solo rollouts and weights of CCPO'
      : 'statistics, votes and weights of CCPO with voters';
  it(`comes to the same ${words} over kills`, async (t) => {
    const [whole, killed] = [await interrupted(t, kind, []), await interrupted(t, kind, moments)];
    t.diagnostic(`${killed.kills} kills`);
    // On a busy machine the run may have ended before the last ones.
    assert.ok(killed.kills >= Math.floor(0.75 * moments.length), `${killed.kills} kills`);
    const states = whole.tables['method_state'] ?? [];
    assert.deepEqual([states.length, new Set(states.map(({ json }) => String(json))).size], [8, 8]);
    assert.equal((whole.tables['environment_event'] ?? []).length > 0, kind === 'voting');
    assertSame(whole.tables, killed.tables);
  });
}

statefulTeam();
killedInStages(IN_STAGES);
killedInTurns('teamtr', IN_TURNS);
killedInTurns('diagnosed', IN_TURNS);
killedInSteps(IN_STEPS);
killedAnywhere('ccpo', ANYWHERE);
killedAnywhere('voting', ANYWHERE);
