import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { WITHIN_STEP } from '../../../../src/domain/snapshot.ts';
import { HEADLINE_RULE } from '../../../../src/engine/recipe/headlines.ts';
import { salvageStore } from '../../../../src/store/repair/salvage.ts';
import { migrateStore, MIGRATIONS } from '../../../../src/store/tables/migrations.ts';
import { STAGES } from '../../../../src/store/tables/stages.ts';
import type { StoreWriter } from '../../../../src/store/types.ts';
import { openStoreForWriting } from '../../../../src/store/write/writer.ts';
import {
  filledStore,
  INSTANCE,
  newBucket,
  newMessage,
  rawConnection,
  RUN,
  storeErrorLike,
  temporaryFolder,
  WEIGHTS,
} from '../helpers.ts';

const MOVED = 'cd'.repeat(32);
const GROUP = { run: RUN, phase: 'train', iteration: 1, problem: INSTANCE.uidSha, offset: 0, limit: 100 } as const;
const STATE = { name: 'mine', version: 1, json: 1, tensors: {} };

/** Two messages of a bucket, of the same place as those of every other stage. */
const sampled = (store: StoreWriter, snapshot: string): number[] => {
  const bucket = store.insertBucket(newBucket({ snapshot }));
  return [0, 1].map((siblingIndex) => store.insertMessage(newMessage({ bucket, siblingIndex, snapshot })));
};

/** A step with a stage: two messages each. */
function withStage(t: TestContext): { readonly store: StoreWriter; readonly messages: readonly (readonly number[])[] } {
  const store = filledStore(t);
  const first = sampled(store, WEIGHTS);
  store.insertMethodState(RUN, 1, STATE);
  const second = store.transaction(() => {
    store.insertSnapshot({ id: MOVED, run: RUN, iteration: WITHIN_STEP, base: '/models/team', file: null });
    store.insertStage(RUN, { iteration: 1, stage: 1, snapshot: MOVED });
    store.insertMethodState(RUN, 1, { ...STATE, json: 2 }, 1);
    return sampled(store, MOVED);
  });
  return { store, messages: [first, second] };
}

test('the messages of a stage are apart from those of the beginning, and follow them in the transcript', (t) => {
  const { store, messages } = withStage(t);
  const read = (stage?: number): number[] => store.trainingMessages(RUN, 1, 'loo', stage).map(({ message }) => message);
  assert.deepEqual([read(), read(0), read(1)], [messages[0], messages[0], messages[1]]);
  assert.deepEqual(store.stages(RUN, 1), [{ iteration: 1, stage: 1, snapshot: MOVED }]);
  assert.deepEqual([store.stages(RUN, 2), store.stages('other', 1)], [[], []]);
  const shown = store.transcript(GROUP).messages;
  assert.deepEqual(
    shown.map(({ id, stage }) => [id, stage]),
    [...(messages[0] ?? []).map((id) => [id, undefined]), ...(messages[1] ?? []).map((id) => [id, 1])],
  );
  assert.ok(!('stage' in (shown[0] ?? {})));
  assert.deepEqual(
    [0, 1].map((stage) => store.methodState(RUN, 1, stage)?.json),
    [1, 2],
  );
  // An evaluation of the same number has no stages.
  const evaluated = store.insertMessage(newMessage({ phase: 'evaluate' }));
  assert.equal(store.message(evaluated).stage, undefined);
});

test('weights within a step are none that the run had after one, until it has', (t) => {
  const { store } = withStage(t);
  const after = (): unknown => store.snapshotsOfRun(RUN).map(({ id, iteration }) => [id, iteration]);
  assert.deepEqual(after(), [[WEIGHTS, 0]]);
  assert.deepEqual(store.stageOfSnapshot(RUN, MOVED), { iteration: 1, stage: 1, snapshot: MOVED });
  assert.equal(store.stageOfSnapshot(RUN, WEIGHTS), null);
  store.insertSnapshot({ id: MOVED, run: RUN, iteration: 1, base: '/models/team', file: null });
  assert.deepEqual(after(), [
    [WEIGHTS, 0],
    [MOVED, 1],
  ]);
  // Weights that a stage has again stay those of their step.
  store.insertSnapshot({ id: MOVED, run: RUN, iteration: WITHIN_STEP, base: '/models/team', file: null });
  assert.deepEqual(after(), [
    [WEIGHTS, 0],
    [MOVED, 1],
  ]);
});

test('a stage is never changed, and needs the weights that sampled it', (t) => {
  const { store } = withStage(t);
  assert.throws(() => store.insertStage(RUN, { iteration: 1, stage: 1, snapshot: MOVED }), /never changed/);
  for (const stage of [
    { iteration: 1, stage: 2, snapshot: 'ee'.repeat(32) },
    { iteration: 1, stage: 0, snapshot: MOVED },
  ]) {
    assert.throws(() => store.insertStage(RUN, stage), storeErrorLike());
  }
});

test('a store of the version before gets the tables, and a copy of what is whole has the stages', (t) => {
  const folder = temporaryFolder(t);
  const path = `${folder}/c3.sqlite`;
  const old = rawConnection(t, path);
  migrateStore(old, path, MIGRATIONS.slice(0, MIGRATIONS.indexOf(STAGES)));
  old.exec("INSERT INTO run VALUES ('run-1', 'c3', 1, 'Old', '{}', 3, 'done', '2026', '2026', NULL)");
  old.close();
  const opened = openStoreForWriting(path);
  assert.deepEqual([opened.run(RUN).title, opened.stages(RUN, 1)], ['Old', []]);
  opened.close();
  const { store } = withStage(t);
  const copy = `${folder}/copy.sqlite`;
  const copied = salvageStore(store.path, copy, HEADLINE_RULE);
  for (const table of ['stage', 'stage_state']) {
    assert.deepEqual(
      copied.find((one) => one.table === table),
      { table, copied: 1, left: 0, unreadable: 0 },
    );
  }
  const again = openStoreForWriting(copy);
  t.after(() => again.close());
  assert.deepEqual(again.stages(RUN, 1), store.stages(RUN, 1));
  assert.deepEqual(again.methodState(RUN, 1, 1), store.methodState(RUN, 1, 1));
});
