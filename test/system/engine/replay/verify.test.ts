/**
 * The proof of a replay through both doors of the engine: asked for, cancelled, and with random numbers of each
 * alternative's own.
 */

import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { CancellationTokenSource, ResponseError, type MessageConnection } from 'vscode-jsonrpc/node';
import { classifyDraws, type BucketView } from '../../../../src/domain/replay.ts';
import { EngineService } from '../../../../src/engine/service.ts';
import {
  CANCELLED_CODE,
  FAILED_CODE,
  REQUESTS,
  VerifyProgressNotification,
  type VerifyProgress,
} from '../../../../src/shared/protocols/engineProtocol.ts';
import { loadSqlite } from '../../../../src/store/files/sqlite.ts';
import { newRecorded } from '../../../support/recordedStores.ts';
import { tamper } from '../../../support/tamper.ts';
import { startEngine } from '../../../unit/engine/engineProcess.ts';
import { c3, copyOf, parseLine, withStore } from '../../../unit/engine/workspace.ts';

let workspace = '';
let run = '';
before(async () => {
  ({ folder: workspace, run: run } = await newRecorded('pair'));
});
after(() => {
  rmSync(workspace, { recursive: true, force: true });
});

const engine = async (t: TestContext, folder: string): Promise<MessageConnection> =>
  (await startEngine(t, folder)).connection;
const firstPlan = (folder: string): number =>
  withStore(folder, (store) => store.bucketsOfRun({ run, offset: 0, limit: 1 })[0]?.alternatives[0]?.message ?? 0);

describe('verify/start', () => {
  it('re-executes the replays of a message with progress, and reports a changed return', async (t) => {
    const folder = copyOf(t, workspace);
    const connection = await engine(t, folder);
    const message = firstPlan(folder);
    const told: VerifyProgress[] = [];
    connection.onNotification(VerifyProgressNotification, (progress) => {
      told.push(progress);
    });
    const same = await connection.sendRequest(REQUESTS.verify, { message });
    assert.deepEqual(same, {
      checked: 4,
      identical: 4,
      different: 0,
      notComparable: 0,
      firstDifference: null,
      firstReason: null,
    });
    assert.deepEqual(told, [{ message, done: 4, total: 4 }]);
    const db = new (loadSqlite())(join(folder, '.c3', 'c3.sqlite'));
    tamper(db, `UPDATE replay SET return = 1 - return WHERE alternative = ${message} AND replay_index = 2`);
    db.close();
    const { different, identical, firstDifference } = await connection.sendRequest(REQUESTS.verify, { message });
    assert.deepEqual([different, identical], [1, 3]);
    assert.match(
      firstDifference?.detail ?? '',
      /^return differs: [01] is stored, the evaluator says [01] of the stored messages$/,
    );
    assert.equal(
      withStore(folder, (store) => store.bucketsFor(message)[0]?.alternatives[0]?.verification?.label),
      'return differs',
    );
  });

  it('is cancelled like any other work', async (t) => {
    const folder = copyOf(t, workspace);
    const connection = await engine(t, folder);
    const source = new CancellationTokenSource();
    const verification = connection.sendRequest(REQUESTS.verify, { message: firstPlan(folder) }, source.token);
    source.cancel();
    await assert.rejects(
      verification,
      (error: unknown) => error instanceof ResponseError && error.code === CANCELLED_CODE,
    );
    assert.equal(
      withStore(folder, (store) => store.newestVerification()),
      0,
    );
  });

  it('refuses a message that was never replayed, and one that is not there', async (t) => {
    const folder = copyOf(t, workspace);
    const connection = await engine(t, folder);
    const evaluated = withStore(
      folder,
      (store) => store.episodes({ run, phase: 'evaluate', iteration: 1, offset: 0, limit: 1 })[0]?.leaf ?? 0,
    );
    const refused =
      (pattern: RegExp) =>
      (error: unknown): boolean =>
        error instanceof ResponseError && error.code === FAILED_CODE && pattern.test(error.message);
    await assert.rejects(
      connection.sendRequest(REQUESTS.verify, { message: evaluated }),
      refused(/Message \d+ has no replay to verify; replay its alternatives first/),
    );
    await assert.rejects(
      connection.sendRequest(REQUESTS.verify, { message: 999_999 }),
      refused(/There is no message 999999/),
    );
  });
});

describe('a replay', () => {
  it('that is cancelled while it is verified is complete all the same, and not verified', async (t) => {
    const folder = copyOf(t, workspace);
    const service = new EngineService(join(folder, '.c3', 'c3.sqlite'));
    t.after(() => service.close());
    const { id } = await service.replay(
      { message: firstPlan(folder), alternatives: 15, replays: 24, text: null },
      { signal: new AbortController().signal, onProgress: () => undefined },
    );
    const states = (bucket: BucketView): Set<string | undefined> =>
      new Set(bucket.alternatives.map(({ verification }) => verification?.state));
    const at = await service.proveBucket(id, AbortSignal.abort());
    assert.deepEqual(
      at.alternatives.map(({ returns, credit }) => [returns.length, credit !== null]),
      Array.from({ length: 16 }, () => [24, true]),
    );
    assert.deepEqual(
      [states(at), new Set(at.alternatives.map(({ verified }) => verified))],
      [new Set(['unverified']), new Set([null])],
    );
    // What was found before a later cancel stays.
    const controller = new AbortController();
    const proving = service.proveBucket(id, controller.signal);
    while (withStore(folder, (store) => store.newestVerification()) === 0) {
      await setImmediate();
    }
    controller.abort();
    const later = await proving;
    assert.deepEqual(states(later), new Set(['identical', 'unverified']));
    assert.deepEqual(states(await service.proveBucket(id, new AbortController().signal)), new Set(['identical']));
  });

  it('draws common random numbers unless asked not to', async (t) => {
    const folder = copyOf(t, workspace);
    const message = String(firstPlan(folder));
    for (const [more, draws] of [
      [[], 'common'],
      [['--independent'], 'independent'],
    ] as const) {
      const document = parseLine(
        (await c3(folder, ['replay', message, '--alternatives', '2', '--replays', '2', '--json', ...more])).stdout,
      );
      assert.equal(document['draws'], draws);
      const found = withStore(folder, (store) =>
        classifyDraws(store.replaysOfBucket(Number(document['bucket'])), (id) => store.fullMessage(id).streamKey),
      );
      assert.equal(found, draws);
    }
    const words = (await c3(folder, ['replay', message, '--alternatives', '1', '--replays', '1'])).stdout;
    assert.match(words, /\nDrawn with common random numbers\.\n$/);
  });
});

describe('c3 verify', () => {
  it('takes one message', async (t) => {
    const folder = copyOf(t, workspace);
    const message = String(firstPlan(folder));
    const one = await c3(folder, ['verify', message, '--json']);
    assert.deepEqual([one.code, parseLine(one.stdout)['checked'], parseLine(one.stdout)['identical']], [0, 4, 4]);
    assert.match(
      (await c3(folder, ['verify', message])).stdout,
      new RegExp(`^4 replays of message ${message} re-executed: 4 identical, 0 different, 0 not comparable\\n$`),
    );
    const both = await c3(folder, ['verify', message, '--run', run]);
    assert.deepEqual([both.code, both.stdout], [2, '']);
    assert.match(both.stderr, /either a message or --run and --sample/);
    assert.match((await c3(folder, ['verify', 'one'])).stderr, /c3 verify needs the number of a message/);
  });
});
