/** A run that is killed at given moments and resumed each time, and its end beside that of one that never was. */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { connect } from '../../src/store/files/sqlite.ts';
import { copyOf, withStore } from '../unit/engine/workspace.ts';
import { Onlooker, runUntil, type Moment } from './killed.ts';
import { tablesOf, type Row, type Sizes } from './tables.ts';

export const LOADED = /the model is loaded/;

/**
 * Milliseconds from the model's loading to the kill: pseudo-random (a linear congruential generator), the same in every
 * run of this test.
 */
export function delays(seed: number, count: number, longest: number): number[] {
  let state = seed;
  return Array.from({ length: count }, () => {
    state = (state * 1664525 + 1013904223) % 2 ** 32;
    return Math.floor((state / 2 ** 32) * longest);
  });
}

export interface Result {
  readonly kills: number;
  readonly log: string;
  readonly tables: Readonly<Record<string, readonly Row[]>>;
  readonly weights: string;
  readonly lost: number;
  readonly found: readonly string[];
  readonly looks: number;
  readonly folder: string;
}

/** Runs to the end over all the moments at which it is killed. */
export async function interrupted(
  t: TestContext,
  workspace: string,
  moments: readonly Moment[],
  overrides: readonly string[],
  sizes: Sizes,
): Promise<Result> {
  const folder = copyOf(t, workspace);
  const onlooker = new Onlooker(folder, sizes);
  const begin = ['run', 'tiny.c3.yaml', '--json', ...overrides.flatMap((override) => ['--override', override])];
  const path = join(folder, '.c3', 'c3.sqlite');
  const run = (): string | undefined => {
    try {
      return withStore(folder, (store) => store.runs(0, 1)[0]?.id);
    } catch {
      // Killed before there was a store.
      return undefined;
    }
  };
  let kills = 0;
  let log = '';
  try {
    for (const [index, moment] of [...moments, null].entries()) {
      const id = run();
      const later = moments
        .slice(index + 1)
        .flatMap((next) => (next.kind === 'line' && next.line !== LOADED ? [next.line] : []));
      const { killed, code, stderr } = await runUntil(
        folder,
        id === undefined ? begin : ['run', '--resume', id, '--json'],
        moment,
        later,
        onlooker,
      );
      log += `${moment === null ? 'to the end' : `${moment.kind} ${'line' in moment ? `${String(moment.line)} ${moment.later ?? ''}` : 'name' in moment ? String(moment.name) : ''}`}: ${killed ? 'killed' : `ended ${String(code)}`}\n${stderr}\n`;
      if (killed) {
        kills++;
      } else {
        assert.equal(code, 0, log);
      }
    }
  } finally {
    onlooker.close();
  }
  const id = run() ?? assert.fail(log);
  const db = connect(path, 'read');
  try {
    const tables = tablesOf(db, { [id]: 'RUN', [folder]: 'FOLDER' });
    const final = withStore(folder, (store) => store.snapshotsOfRun(id).at(-1)) ?? assert.fail(log);
    assert.ok(final.file !== null);
    const weights = createHash('sha256').update(readFileSync(final.file)).digest('hex');
    const lost = withStore(folder, (store) => store.run(id).summary?.lostEvaluatorCalls ?? NaN);
    return { kills, log, tables, weights, lost, found: [...onlooker.found], looks: onlooker.looks, folder };
  } finally {
    db.close();
  }
}

export function assertSame(killed: Result, whole: Result): void {
  assert.equal(killed.weights, whole.weights, killed.log);
  assert.deepEqual(Object.keys(killed.tables), Object.keys(whole.tables));
  for (const [table, rows] of Object.entries(whole.tables)) {
    // What the search index holds depends on its transactions; what it finds does not.
    if (!table.startsWith('message_search')) {
      assert.deepEqual(killed.tables[table], rows, `${table}\n${killed.log}`);
    }
  }
  assert.deepEqual([killed.found, whole.found], [[], []], killed.log);
  assert.ok(killed.looks > 100, `the onlooker looked ${killed.looks} times`);
  assert.deepEqual(
    readdirSync(join(killed.folder, '.c3', 'snapshots')).filter((name) => name.endsWith('.tmp')),
    [],
    'nothing unfinished is left',
  );
}
