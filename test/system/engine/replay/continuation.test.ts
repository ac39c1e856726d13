/**
 * Replays continued with another snapshot, temperature or model: marked, kept apart and verified, from the command line
 * and the service.
 */

import assert from 'node:assert/strict';
import { renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { AS_RECORDED } from '../../../../src/domain/replay.ts';
import { OTHER_MODEL } from '../../../../src/domain/snapshot.ts';
import { EngineService } from '../../../../src/engine/service.ts';
import { CancelledError } from '../../../../src/shared/errors.ts';
import { newRecorded } from '../../../support/recordedStores.ts';
import { c3, copyOf, errorOf, parseLine, withStore } from '../../../unit/engine/workspace.ts';
import { makeTeam } from '../../../unit/training/tinyTeam.ts';

let workspace = '';
let run = '';
before(async () => {
  ({ folder: workspace, run: run } = await newRecorded('pair'));
  await makeTeam(join(workspace, 'other'), { hiddenSize: 48, steps: 10 });
});
after(() => rmSync(workspace, { recursive: true, force: true }));

/** A message of the last step that others were sampled beside. */
const plan = (folder: string): number =>
  withStore(folder, (store) => {
    const bucket = store
      .bucketsOfRun({ run, origin: 'training', offset: 0, limit: 100 })
      .findLast(
        ({ role, alternatives }) =>
          role === 'reasoner' && alternatives.some(({ credit }) => credit !== null && credit.verdict !== 'alone'),
      );
    return bucket?.alternatives[0]?.message ?? 0;
  });

describe('c3 replay', () => {
  it('continues with another snapshot at another temperature, says so, and verifies', async (t) => {
    const folder = copyOf(t, workspace);
    const message = plan(folder);
    const own = withStore(folder, (store) => store.message(message).credit);
    const told = await c3(folder, [
      'replay',
      String(message),
      '--alternatives',
      '2',
      '--replays',
      '2',
      '--snapshot',
      '0',
      '--temperature',
      '0.5',
      '--json',
    ]);
    const document = parseLine(told.stdout);
    const [began, first] = withStore(folder, (store) => store.snapshotsOfRun(run).map(({ id }) => id));
    assert.deepEqual(document['continuation'], {
      snapshot: began,
      step: 0,
      temperature: 0.5,
      model: null,
      differs: { snapshot: true, temperature: true, model: false },
      own: { snapshot: first, step: 1, temperature: 1 },
    });
    const bucket = Number(document['bucket']);
    withStore(folder, (store) => {
      const view = store.bucketView(bucket);
      assert.deepEqual(
        view.alternatives.map(({ verified }) => verified),
        [true, true, true],
      );
      assert.deepEqual(store.message(message).credit, own);
      for (const replay of store.replaysOfBucket(bucket)) {
        assert.deepEqual(
          [store.fullMessage(replay.leaf).snapshot, store.fullMessage(replay.leaf).sampling.temperature],
          [began, 0.5],
        );
      }
    });
    // The weights by the beginning of their hash are the same.
    const again = parseLine(
      (
        await c3(folder, [
          'replay',
          String(message),
          '--alternatives',
          '1',
          '--replays',
          '1',
          '--snapshot',
          String(began).slice(0, 8),
          '--json',
        ])
      ).stdout,
    );
    assert.equal((again['continuation'] as { snapshot: string }).snapshot, began);
    const words = (
      await c3(folder, ['replay', String(message), '--alternatives', '1', '--replays', '1', '--temperature', '2'])
    ).stdout;
    assert.match(
      words,
      new RegExp(
        `These are of another continuation distribution: snapshot ${String(first).slice(0, 12)} \\(step 1\\), temperature 2\\. The message itself: snapshot ${String(first).slice(0, 12)} \\(step 1\\), temperature 1\\.`,
      ),
    );
    // What it was worth stays that of its own distribution, which is its credit.
    assert.match(
      words,
      /\n {2}replace {5}\S+ \[.*\], n \d+, \d+ calls, undecided: [^\n]*, newest bucket \d+\n {2}remove {6}not measured: it was not replayed with nothing in its place\n/,
    );
    assert.match(
      (await c3(folder, ['verify', String(message)])).stdout,
      /: \d+ identical, 0 different, 0 not comparable/,
    );
    const diagnosed = await c3(folder, ['diagnose', '--run', run, '--origin', 'request', '--json']);
    assert.match(
      errorOf(diagnosed),
      /has no request buckets to measure.* 3 buckets of another continuation distribution are left out\./,
    );
  });

  it('continues with another model, and verifies as long as that is there as it was', async (t) => {
    const folder = copyOf(t, workspace);
    const message = plan(folder);
    const told = await c3(folder, [
      'replay',
      String(message),
      '--alternatives',
      '2',
      '--replays',
      '2',
      '--model',
      'other',
      '--json',
    ]);
    const document = parseLine(told.stdout);
    const continuation = document['continuation'] as { snapshot: string; step: unknown; model: string };
    assert.deepEqual([continuation.step, continuation.model], [null, join(folder, 'other')]);
    const bucket = Number(document['bucket']);
    withStore(folder, (store) => {
      assert.deepEqual(
        store.bucketView(bucket).alternatives.map(({ verified }) => verified),
        [true, true, true],
      );
      assert.deepEqual(
        store.snapshots(continuation.snapshot).map(({ iteration, base }) => [iteration, base]),
        [[OTHER_MODEL, join(folder, 'other')]],
      );
      assert.ok(store.snapshotsOfRun(run).every(({ id }) => id !== continuation.snapshot));
      const asked = store.fullMessage(message);
      for (const { message: one, original } of store.bucketView(bucket).alternatives) {
        assert.ok(original || store.fullMessage(one).context === asked.context);
      }
    });
    const report = async (): Promise<Record<string, unknown>> =>
      parseLine((await c3(folder, ['verify', String(message), '--json'])).stdout);
    assert.deepEqual([(await report())['different'], (await report())['notComparable']], [0, 0]);
    // An alternative that it sampled is its own: as recorded it is continued by that model again.
    const sampled = withStore(folder, (store) => store.bucketView(bucket).alternatives[1]?.message ?? 0);
    const next = parseLine(
      (await c3(folder, ['replay', String(sampled), '--alternatives', '1', '--replays', '1', '--json'])).stdout,
    );
    assert.equal(next['continuation'], null);
    assert.equal(
      withStore(folder, (store) => store.bucketView(Number(next['bucket'])).snapshot),
      continuation.snapshot,
    );
    renameSync(join(folder, 'other'), join(folder, 'away'));
    const gone = await report();
    assert.equal(gone['different'], 0);
    // Two continuations of each of the two that it sampled, and two of the message itself.
    assert.equal(gone['notComparable'], 6);
    assert.match(
      String(gone['firstReason']),
      /This replay was continued with another model, .*other with the weights [0-9a-f]{12}, which has changed or is missing: /,
    );
    await makeTeam(join(folder, 'other'), { hiddenSize: 48, steps: 11 });
    assert.match(String((await report())['firstReason']), /another model, .*which has changed or is missing/);
  });

  it("takes a model that is the run's own for what it is", async (t) => {
    const folder = copyOf(t, workspace);
    const first = withStore(
      folder,
      (store) => store.bucketsOfRun({ run, offset: 0, limit: 1 })[0]?.alternatives[0]?.message ?? 0,
    );
    const document = parseLine(
      (
        await c3(folder, [
          'replay',
          String(first),
          '--alternatives',
          '1',
          '--replays',
          '1',
          '--model',
          'team',
          '--json',
        ])
      ).stdout,
    );
    assert.equal(document['continuation'], null);
  });

  it('refuses what it cannot continue with, and stores nothing', async (t) => {
    const folder = copyOf(t, workspace);
    const message = String(plan(folder));
    const cases = [
      [['--snapshot', '9'], /has 2 steps; snapshot 9 is not one of them/],
      [['--snapshot', '0123456789'], /has no snapshot 0123456789/],
      [['--temperature', 'warm'], /--temperature must be a number, such as 0\.25, not "warm"/],
      [['--snapshot', '1', '--model', 'other'], /not both/],
      [['--model', 'nowhere'], /nowhere/],
    ] as const;
    for (const [more, pattern] of cases) {
      assert.match(errorOf(await c3(folder, ['replay', message, ...more])), pattern);
    }
    assert.equal(
      withStore(folder, (store) => store.countBuckets({ run, origin: 'request' })),
      0,
    );
  });
});

describe('a replay that is cancelled while its model is loaded', () => {
  it('ends at once, stores nothing, and another one can be asked for', async (t) => {
    const folder = copyOf(t, workspace);
    const service = new EngineService(join(folder, '.c3', 'c3.sqlite'));
    t.after(() => service.close());
    const controller = new AbortController();
    const control = { signal: controller.signal, onProgress: () => undefined };
    const request = { message: plan(folder), alternatives: 1, replays: 1, text: null };
    const cancelled = assert.rejects(
      service.replay({ ...request, continuation: { ...AS_RECORDED, model: join(folder, 'other') } }, control),
      CancelledError,
    );
    await setImmediate();
    controller.abort();
    await cancelled;
    assert.equal(
      service.reading((store) => store.countBuckets({ run, origin: 'request' })),
      0,
    );
    const bucket = await service.replay(request, { signal: new AbortController().signal, onProgress: () => undefined });
    assert.deepEqual([bucket.alternatives.length, bucket.continuation], [2, null]);
  });
});
