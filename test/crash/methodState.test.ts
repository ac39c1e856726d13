/** A run whose method carries a state, killed again and again: it ends with the rows of one that never was. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { after, before, it, type TestContext } from 'node:test';
import { connect } from '../../src/store/files/sqlite.ts';
import { teamFolder, temporaryFolder } from '../unit/training/tinyRun.ts';
import { tablesOf, type Row } from './tables.ts';

let team: Awaited<ReturnType<typeof teamFolder>>;
before(async () => {
  team = await teamFolder();
});
after(() => {
  team.remove();
});

/**
 * Runs until a line, after which it is killed some milliseconds later; null lets it come to its end.
 * @returns whether it was killed
 */
async function runUntil(folder: string, line: RegExp | null, later = 0): Promise<boolean> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'statefulRun.ts'), team.folder, folder], {
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
  moments: readonly (readonly [RegExp, number])[],
): Promise<{ readonly kills: number; readonly tables: Readonly<Record<string, readonly Row[]>> }> {
  const folder = temporaryFolder(t);
  let kills = 0;
  for (const [line, later] of moments) {
    if (await runUntil(folder, line, later)) {
      kills++;
    }
  }
  await runUntil(folder, null);
  const db = connect(join(folder, 'c3.sqlite'), 'read');
  try {
    return { kills, tables: tablesOf(db, { [folder]: 'FOLDER' }) };
  } finally {
    db.close();
  }
}

it('comes to the same states, messages and weights over kills in the middle of its steps', async (t) => {
  const step = (number: number, later: number): [RegExp, number] => [
    new RegExp(`^(?:Step ${String(number)} of 8|Training: step ${String(number + 1)} of 8)`, 'mu'),
    later,
  ];
  const moments = [
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
  const [whole, killed] = [await interrupted(t, []), await interrupted(t, moments)];
  // On a busy machine the run may have ended before the last ones.
  assert.ok(killed.kills >= 4, `${String(killed.kills)} kills`);
  assert.equal(whole.tables['method_state']?.length, 8);
  for (const [table, rows] of Object.entries(whole.tables)) {
    if (!table.startsWith('message_search')) {
      assert.deepEqual(killed.tables[table], rows, table);
    }
  }
});
