/** The paper table, stopped and continued with all methods at two budgets. */

import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { makePaperTable } from '../../../../src/bench/experiments/paper/paperTable.ts';
import { CancelledError } from '../../../../src/shared/errors.ts';
import { connect } from '../../../../src/store/files/sqlite.ts';
import { openStoreForReading } from '../../../../src/store/read/reader.ts';
import { tamper } from '../../../support/tamper.ts';
import { SAMPLES, TABLE_SCALE, TABLE_TASK } from '../../../system/bench/tableScale.ts';

let folder = '';
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'c3-paper-'));
});
after(() => rmSync(folder, { recursive: true, force: true }));

interface Line {
  readonly method: string;
  readonly budget: string;
  readonly seed: number;
  readonly run: string;
  readonly evaluatorCalls: number;
  readonly decisions: Record<string, number>;
  readonly greedy: unknown[];
  readonly sampled: { readonly samples: number }[];
  readonly contexts: number;
}

test('the table continues where it was stopped, at one budget for all methods, and runs nothing twice', async () => {
  let told = 0;
  const make = (until: number, controller = new AbortController()): Promise<unknown> =>
    makePaperTable(
      {
        quick: true,
        folder,
        signal: controller.signal,
        note: () => {
          if (++told >= until) {
            controller.abort();
          }
        },
      },
      TABLE_SCALE,
    );
  await assert.rejects(make(3), CancelledError);
  const path = join(folder, '.c3/paper-table-quick/c3.sqlite');
  const runs = (): number => {
    const store = openStoreForReading(path);
    try {
      return store.countRuns();
    } finally {
      store.close();
    }
  };
  const stopped = runs();
  assert.ok(stopped >= 3);
  await make(Infinity);
  // Three methods try two rates; four have the seeds, of which those that need other steps for equal tokens have more.
  const made = runs();
  const text = (name: string): string => readFileSync(join(folder, '.c3/paper-table-quick', name), 'utf8');
  const first = JSON.parse(text('table.json')) as {
    search: { method: string; chosen: boolean }[];
    runs: Line[];
    table: { rows: { method: string }[] };
  };
  assert.deepEqual(
    first.table.rows.map(({ method }) => method),
    [...TABLE_SCALE.methods, ...TABLE_SCALE.methods],
  );
  assert.equal(made, 6 + new Set(first.runs.map(({ run }) => run)).size);
  assert.deepEqual(
    first.search.filter(({ chosen }) => chosen).map(({ method }) => method),
    ['mappo', 'magrpo', 'c3'],
  );
  const atCalls = first.runs.filter(({ budget }) => budget === 'calls');
  for (const { method, evaluatorCalls, decisions, greedy, sampled, contexts } of atCalls) {
    assert.equal(evaluatorCalls, method === 'sft' ? 0 : 2 * 2 * 8);
    // Whole episodes have as many plans as answers; C3 has two plans of four answers each.
    assert.deepEqual(decisions, method === 'sft' ? {} : { reasoner: method === 'c3' ? 8 : 32, actor: 32 });
    assert.deepEqual(
      [greedy.length, sampled.map(({ samples }) => samples), contexts],
      [4, [SAMPLES, SAMPLES, SAMPLES, SAMPLES], 2],
    );
  }
  // C3 spends fewer tokens a step than the method that it is matched with, so that it takes more steps.
  const calls = (method: string, budget: string): number[] =>
    first.runs.filter((one) => one.method === method && one.budget === budget).map((one) => one.evaluatorCalls);
  assert.ok(
    calls('c3', 'tokens').every((spent) => spent > 2 * 2 * 8),
    String(calls('c3', 'tokens')),
  );
  assert.deepEqual(calls('magrpo', 'tokens'), calls('magrpo', 'calls'));
  assert.match(text('table.html'), /<!doctype html>/i);
  await make(Infinity);
  assert.equal(runs(), made);
  const samples = (method: string): number[] => {
    const store = openStoreForReading(path);
    try {
      return atCalls.filter((one) => one.method === method).map(({ run }) => store.diagnosticSamples(run).length);
    } finally {
      store.close();
    }
  };
  const each = (count: number): number[] => TABLE_TASK.seeds.map(() => count);
  assert.deepEqual([samples('mappo'), samples('c3')], [each(1), each(1)]);
  assert.deepEqual((JSON.parse(text('table.json')) as typeof first).runs, first.runs);
  // Samples of MAPPO from before its credits were stored with them are made anew, nothing else is.
  rmSync(join(folder, '.c3/paper-table-quick/runs.jsonl'));
  const db = connect(path, 'write');
  assert.ok(tamper(db, 'DELETE FROM credit WHERE bucket IN (SELECT bucket FROM diagnostic_bucket)') > 0);
  db.close();
  await make(Infinity);
  assert.deepEqual([runs(), samples('mappo'), samples('c3')], [made, each(2), each(1)]);
  assert.deepEqual(
    readdirSync(join(folder, '.c3/paper-table-quick')).filter((name) => name.endsWith('.tmp')),
    [],
  );
});
