import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { makeReaders } from '../../../../src/store/read/reader.ts';
import { filledStore, rawConnection } from '../helpers.ts';

/** The plan of every statement that the readers prepare, by its text with single blanks. */
function plansOfReaders(t: TestContext): Map<string, string[]> {
  const db = rawConnection(t, filledStore(t).path);
  const prepare = db.prepare.bind(db);
  const plans = new Map<string, string[]>();
  Object.defineProperty(db, 'prepare', {
    value: (sql: string) => {
      const names = [...sql.matchAll(/@(\w+)/gu)].map(([, name]) => [name, null]);
      const places = [...sql.matchAll(/\?/gu)].map(() => null);
      const plan = prepare<unknown[], { readonly detail: string }>(`EXPLAIN QUERY PLAN ${sql}`).all(
        ...(names.length > 0 ? [Object.fromEntries(names) as unknown] : places),
      );
      plans.set(
        sql.replaceAll(/\s+/gu, ' ').trim(),
        plan.map(({ detail }) => detail),
      );
      return prepare(sql);
    },
  });
  makeReaders({ db, path: db.name }, () => db.close());
  return plans;
}

/** Tables that grow with every run; labels are written by hand. */
const GROWING = [
  'text',
  'context',
  'decision',
  'bucket',
  'alternative',
  'episode',
  'replay',
  'credit',
  'verification',
  'snapshot',
  'step',
  'instance',
  'bucket_measure',
  'problem',
  'problem_round',
  'headline',
  'bucket_pool',
];

test('no reader walks through a whole table, but for the one that counts them all', (t) => {
  const plans = plansOfReaders(t);
  assert.ok(plans.size > 30, 'the readers prepare their statements through the connection');
  const scanning = [...plans].filter(([, plan]) =>
    plan.some((line) => /AUTOMATIC/u.test(line) || GROWING.some((table) => line.startsWith(`SCAN ${table}`))),
  );
  assert.deepEqual(
    scanning.map(([sql]) => /count\(\*\) FROM \w+\) AS \w+/u.test(sql)),
    [true],
  );
});

test('what is measured at every append is found by its keys, however many buckets there are', (t) => {
  const db = rawConnection(t, filledStore(t).path);
  const triggers = db
    .prepare<[], { name: string; sql: string }>(
      "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND name GLOB '*_measured*' ORDER BY name",
    )
    .all();
  assert.deepEqual(
    triggers.map(({ name }) => name),
    ['bucket_measured', 'episode_measured', 'replay_measured'],
  );
  for (const { name, sql } of triggers.filter((trigger) => trigger.sql.includes('UPDATE'))) {
    const update = sql.slice(sql.indexOf('UPDATE'), sql.lastIndexOf(';')).replaceAll(/NEW\.\w+/gu, '1');
    const plan = db
      .prepare<[], { readonly detail: string }>(`EXPLAIN QUERY PLAN ${update}`)
      .all()
      .map(({ detail }) => detail);
    assert.ok(
      plan.length > 0 && plan.every((line) => !/AUTOMATIC|^SCAN (?!path\b)/u.test(line)),
      `${name}: ${plan.join('; ')}`,
    );
  }
});

test('pages of buckets and what belongs to one context come from an index in order, unsorted', (t) => {
  const plans = plansOfReaders(t);
  const ordered = [
    [/FROM bucket WHERE run = @run AND origin = .* UNION ALL/u, /bucket_origin \(run=\? AND origin=\?\)/u],
    [/AND context_key = @contextKey/u, /bucket_context \(run=\? AND event_type=\? AND context_key=\?\)/u],
    [/AND origin = 'request' AND bucket.instance/u, /bucket_origin \(run=\? AND origin=\?\)/u],
    [/FROM bucket_measure CROSS JOIN .* ORDER BY clearest DESC/u, /bucket_measure_clearest \(run=\?\)/u],
    [/FROM bucket_measure CROSS JOIN .* ORDER BY credit DESC/u, /bucket_measure_credit \(run=\?\)/u],
    [/FROM bucket_measure CROSS JOIN .* ORDER BY variance DESC/u, /bucket_measure_variance \(run=\?\)/u],
    [/ORDER BY message_search.rowid DESC/u, /VIRTUAL TABLE/u],
  ] as const;
  for (const [statement, index] of ordered) {
    const found = [...plans].filter(([sql]) => statement.test(sql));
    assert.equal(found.length, 1, statement.source);
    const plan = found[0]?.[1] ?? [];
    assert.ok(
      plan.some((line) => index.test(line)),
      plan.join('; '),
    );
    assert.ok(!plan.some((line) => line.includes('TEMP B-TREE')), plan.join('; '));
  }
});
