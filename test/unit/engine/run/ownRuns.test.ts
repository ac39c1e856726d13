import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { applyNoteChanges, deleteRun } from '../../../../src/engine/run/ownRuns.ts';
import { checkpointPath, snapshotPath, valueHeadPath } from '../../../../src/training/state/checkpoints.ts';
import { addRun, filledStore, inputErrorLike, RUN, WEIGHTS } from '../../store/helpers.ts';

const BEFORE = { title: 'Rate', note: 'x', tags: ['a'] };

test('a note is changed where something is said, and trimmed', () => {
  assert.deepEqual(applyNoteChanges(BEFORE, { title: ' Rate 3e-4 ' }), { title: 'Rate 3e-4', note: 'x', tags: ['a'] });
  assert.deepEqual(applyNoteChanges(BEFORE, { note: '', tags: [] }), { title: 'Rate', note: '', tags: [] });
});

test('what cannot be shown as a title or tag is refused', () => {
  for (const changes of [
    { title: '  ' },
    { title: 'two\nlines' },
    { title: 'x'.repeat(201) },
    { note: 'x'.repeat(10_001) },
    { tags: ['x'.repeat(41)] },
    { tags: Array.from({ length: 21 }, (_, index) => String(index)) },
  ]) {
    assert.throws(
      () => applyNoteChanges(BEFORE, changes),
      inputErrorLike(/up to|1 to/),
      JSON.stringify(changes).slice(0, 60),
    );
  }
});

const OWN = 'cd'.repeat(32);

test('a deleted run takes along the weights that no other run has, and its checkpoints', async (t) => {
  const store = filledStore(t);
  addRun(store, 'run-2', '2026-01-02T00:00:00.000Z');
  store.insertSnapshot({ id: OWN, run: RUN, iteration: 1, base: '/models/team', file: null });
  const folder = join(dirname(store.path), 'snapshots');
  mkdirSync(folder);
  const kept = [snapshotPath(folder, WEIGHTS), checkpointPath(folder, 'run-2', 1)];
  for (const file of [
    ...kept,
    snapshotPath(folder, OWN),
    checkpointPath(folder, RUN, 1),
    valueHeadPath(folder, RUN, 1),
  ]) {
    writeFileSync(file, 'x'.repeat(1000));
  }
  await assert.rejects(deleteRun(store, folder, RUN), inputErrorLike(/in progress/));
  store.updateRunStatus(RUN, 'done', null, null);
  const bytes = await deleteRun(store, folder, RUN);
  assert.ok(bytes >= 3000);
  assert.deepEqual(
    readdirSync(folder)
      .map((name) => join(folder, name))
      .sort(),
    kept.toSorted(),
  );
});

test('a run whose weights another one began with is kept', async (t) => {
  const store = filledStore(t);
  store.updateRunStatus(RUN, 'done', null, null);
  addRun(store, 'run-2', '2026-01-02T00:00:00.000Z');
  store.updateRunConfig('run-2', JSON.stringify({ config: { begin: { run: RUN } } }));
  await assert.rejects(deleteRun(store, '/nowhere', RUN), inputErrorLike(/Run run-2 begins with weights of run run-1/));
  assert.equal(store.countRuns(), 2);
});
