import assert from 'node:assert/strict';
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { CancellationTokenSource, ResponseError } from 'vscode-jsonrpc/node';
import type { RunSummary } from '../../../../src/domain/run.ts';
import { NO_FILTER, TAXONOMY_THRESHOLDS, VERDICTS, type TaxonomyParams } from '../../../../src/domain/taxonomy.ts';
import type { ErrorCode } from '../../../../src/shared/errors.ts';
import {
  CANCELLED_CODE,
  FAILED_CODE,
  ReplayProgressNotification,
  REQUESTS,
  ShutdownRequest,
  type CancelResult,
  type ReplayProgress,
} from '../../../../src/shared/protocols/engineProtocol.ts';
import type { RunJob, RunProgress } from '../../../../src/shared/protocols/jobs.ts';
import { newRecorded } from '../../../support/recordedStores.ts';
import { JobFailed, startEngine, type EngineProcess } from '../../../unit/engine/engineProcess.ts';
import { copyOf, makeWorkspace, withStore } from '../../../unit/engine/workspace.ts';
import { makeTeam } from '../../../unit/training/tinyTeam.ts';

let workspace = '';
/** A workspace whose store holds one finished run. */
let done = '';
let oldRun = '';
before(async () => {
  workspace = await makeWorkspace();
  ({ folder: done, run: oldRun } = await newRecorded('pair'));
});
after(() => {
  for (const folder of [workspace, done]) {
    rmSync(folder, { recursive: true, force: true });
  }
});

const failedWith =
  (kind: string, message: RegExp, code?: ErrorCode) =>
  (error: unknown): boolean => {
    assert.ok(error instanceof ResponseError, String(error));
    assert.deepEqual([error.code, error.data], [FAILED_CODE, code === undefined ? { kind } : { kind, code }]);
    assert.match(error.message, message);
    return true;
  };
const isCancelled = (error: unknown): boolean => error instanceof ResponseError && error.code === CANCELLED_CODE;
const runCancelled = (error: unknown): boolean => error instanceof JobFailed && error.job.outcome?.kind === 'cancelled';
const tiny = ({ folder }: EngineProcess): string => join(folder, 'tiny.c3.yaml');
const training = ({ stage, done: steps }: RunProgress): boolean => stage === 'train' && steps >= 1;
const statuses = ({ folder }: EngineProcess): string[] =>
  withStore(folder, (store) => store.runs(0, 10).map(({ status }) => status));
const firstMessage = ({ folder }: EngineProcess, offset = 0): number =>
  withStore(folder, (store) => store.bucketsOfRun({ run: oldRun, offset, limit: 1 })[0]?.alternatives[0]?.message ?? 0);
const endless = (engine: EngineProcess): Promise<RunJob> =>
  engine.connection.sendRequest(REQUESTS.startRun, {
    config: tiny(engine),
    overrides: ['steps=5000', 'evaluation.instances=0'],
  });
const cancel = ({ connection }: EngineProcess, job: string): Promise<CancelResult> =>
  connection.sendRequest(REQUESTS.cancelRun, { job });

/** What a panel that was just opened asks. */
function taxonomyOf(run: string): TaxonomyParams {
  return { run, thresholds: TAXONOMY_THRESHOLDS, filter: NO_FILTER, limit: 50, fresh: false };
}

describe('the engine process', () => {
  it('says who it is, makes no store before the first run, and ends when asked to', async (t) => {
    const engine = await startEngine(t, copyOf(t, workspace));
    assert.match(engine.hello.version, /^\d+\.\d+\.\d+$/);
    assert.equal(engine.hello.pid, engine.pid);
    await assert.rejects(
      engine.connection.sendRequest(REQUESTS.taxonomy, taxonomyOf('r')),
      failedWith('store', /There is no store at/),
    );
    assert.ok(!existsSync(join(engine.folder, '.c3')));
    assert.match(engine.log(), /^c3 engine \d+\.\d+\.\d+, process \d+\n/);
    assert.equal(await shutDown(engine, () => engine.exit), 0);
  });

  it('runs, and reports each stage and step', async (t) => {
    const engine = await startEngine(t, copyOf(t, workspace));
    const summary = await engine.run({ config: tiny(engine), overrides: ['seed=4'] });
    assert.deepEqual(
      [summary.seed, summary.steps, summary.evaluatorCalls + (summary.reusedEvaluations ?? 0), summary.store],
      [4, 2, 48, engine.store],
    );
    assert.deepEqual(
      [...new Set(engine.runs.map(({ stage }) => stage))],
      ['load', 'evaluate-before', 'train', 'evaluate-after'],
    );
    const steps = withStore(engine.folder, (store) => store.steps(summary.run, 0, 10));
    assert.deepEqual(
      engine.runs.filter(({ stage }) => stage === 'train').map(({ metrics }) => metrics),
      [null, ...steps.map(({ metrics }) => metrics)],
    );
    // A run has no number until its model is loaded.
    const loading = engine.runs.filter(({ run }) => run === null);
    assert.ok(
      loading.length > 0 &&
        loading.every(({ stage, done: read, total }) => stage === 'load' && read <= total) &&
        loading.at(-1)?.done === loading.at(-1)?.total,
    );
    assert.ok(engine.runs.every(({ run }, index) => run === (index < loading.length ? null : summary.run)));
    assert.deepEqual(
      withStore(engine.folder, (store) => store.run(summary.run).summary),
      summary,
    );
  });

  it('answers others while it trains, lets a second run wait for its turn, and stops when cancelled', async (t) => {
    const engine = await startEngine(t, copyOf(t, done));
    const job = await endless(engine);
    await engine.heard(training);
    const view = await engine.connection.sendRequest(REQUESTS.taxonomy, taxonomyOf(oldRun));
    assert.deepEqual(
      view.counts.map(({ name }) => name),
      [...VERDICTS],
    );
    const [{ bucket } = { bucket: 0 }] = view.rows;
    assert.equal(
      (await engine.connection.sendRequest(REQUESTS.label, { bucket, name: 'said while it trains', note: '' })).author,
      'you',
    );
    assert.equal(
      (await engine.connection.sendRequest(REQUESTS.taxonomy, taxonomyOf(oldRun))).rows[0]?.label?.name,
      'said while it trains',
    );
    const next = await engine.connection.sendRequest(REQUESTS.startRun, {
      config: tiny(engine),
      overrides: ['steps=1'],
    });
    assert.equal(next.state, 'queued');
    assert.deepEqual(statuses(engine), ['running', 'done']);
    assert.deepEqual(await cancel(engine, job.id), { cancelled: 'running' });
    await assert.rejects(engine.ended(job), runCancelled);
    // Its turn has come.
    assert.equal((await engine.ended(next)).steps, 1);
    assert.deepEqual(statuses(engine), ['done', 'cancelled', 'done']);
    assert.ok(withStore(engine.folder, (store) => store.runs(1, 1)[0]?.steps ?? 0) < 5000);
    assert.deepEqual(await cancel(engine, job.id), { cancelled: null });
  });

  it('takes a run that was cancelled to its end, with progress and a cancel of its own', async (t) => {
    const engine = await startEngine(t, copyOf(t, workspace));
    const cancelAfter = async (steps: number, start: () => Promise<RunJob>): Promise<void> => {
      const heard = engine.heard(({ stage, done: finished }) => stage === 'train' && finished >= steps);
      const job = await start();
      const { run } = await heard;
      assert.deepEqual(await cancel(engine, run ?? ''), { cancelled: 'running' }, 'by the id of the run');
      await assert.rejects(engine.ended(job), runCancelled);
    };
    await cancelAfter(1, () =>
      engine.connection.sendRequest(REQUESTS.startRun, {
        config: tiny(engine),
        overrides: ['steps=40', 'evaluation.instances=0'],
      }),
    );
    const run = engine.runs.at(-1)?.run ?? '';
    await cancelAfter(6, () => engine.connection.sendRequest(REQUESTS.resumeRun, { run }));
    const before = withStore(engine.folder, (store) => store.run(run).steps);
    assert.ok(before >= 6 && before < 40, String(before));
    await assert.rejects(
      engine.connection.sendRequest(REQUESTS.resumeRun, { run: 'none' }),
      failedWith('input', /There is no run none/, 'notFound'),
    );
    const [asked, again] = [
      await engine.connection.sendRequest(REQUESTS.resumeRun, { run }),
      await engine.connection.sendRequest(REQUESTS.resumeRun, { run }),
    ];
    assert.equal(again.id, asked.id, 'a run is not queued twice');
    const summary = await engine.ended(asked);
    assert.deepEqual(
      [summary.run, summary.steps, summary.evaluatorCalls + (summary.reusedEvaluations ?? 0), statuses(engine)],
      [run, 40, 40 * 16, ['done']],
    );
    assert.ok(
      engine.runs.every((progress) => progress.run === run || (progress.run === null && progress.stage === 'load')),
    );
    assert.deepEqual(await engine.resume(run), summary);
    assert.match(engine.log(), new RegExp(`Run ${run} is finished; there is nothing to resume\\.`));
  });

  it('replays with progress, k of n', async (t) => {
    const engine = await startEngine(t, copyOf(t, done));
    const replays: ReplayProgress[] = [];
    engine.connection.onNotification(ReplayProgressNotification, (progress) => {
      replays.push(progress);
    });
    const message = firstMessage(engine);
    const bucket = await engine.connection.sendRequest(REQUESTS.replay, {
      message,
      alternatives: 3,
      replays: 2,
      text: '2+1',
    });
    assert.deepEqual(
      bucket.alternatives.map(({ original, finish, returns }) => [original, finish === 'typed', returns.length]),
      [
        [true, false, 2],
        [false, false, 2],
        [false, false, 2],
        [false, false, 2],
        [false, true, 2],
      ],
    );
    assert.ok(replays.every((one) => one.message === message && one.total === 4));
    assert.deepEqual([...new Set(replays.map((one) => one.done))], [0, 1, 2, 3, 4]);
    // The answer adds to the last progress what re-execution showed.
    assert.ok(bucket.alternatives.every(({ verified }) => verified === true));
    const unverified = {
      ...bucket,
      alternatives: bucket.alternatives.map((alternative) => ({
        ...alternative,
        verified: null,
        verification: {
          state: 'unverified',
          label: 'not verified yet',
          detail: 'not re-executed yet (2 of 2 replays)',
        },
      })),
    };
    assert.deepEqual(replays.at(-1)?.bucket, unverified);
    assert.deepEqual(
      withStore(engine.folder, (store) => store.bucketView(bucket.id)),
      bucket,
    );
  });

  it('keeps what a cancelled replay has sampled', async (t) => {
    const engine = await startEngine(t, copyOf(t, done));
    const message = firstMessage(engine);
    const source = new CancellationTokenSource();
    const replay = engine.connection.sendRequest(
      REQUESTS.replay,
      { message, alternatives: 64, replays: 64, text: null },
      source.token,
    );
    const cancelled = assert.rejects(replay, isCancelled);
    engine.connection.onNotification(ReplayProgressNotification, ({ bucket }) => {
      if (bucket.alternatives.length > 2) {
        source.cancel();
      }
    });
    await cancelled;
    const [, bucket] = withStore(engine.folder, (store) => store.bucketsFor(message));
    assert.ok(bucket !== undefined && bucket.alternatives.length > 2);
    assert.ok(bucket.alternatives.flatMap(({ returns }) => returns).length < 65 * 64);
    assert.equal(
      (await engine.connection.sendRequest(REQUESTS.replay, { message, alternatives: 1, replays: 1, text: null }))
        .alternatives.length,
      2,
    );
  });

  it('gives each error its kind', async (t) => {
    const engine = await startEngine(t, copyOf(t, done));
    const { connection, folder } = engine;
    const start = (config: string, ...overrides: string[]): Promise<RunSummary> =>
      engine.run({ config: join(folder, config), overrides });
    await assert.rejects(start('none.c3.yaml'), failedWith('input', /Cannot read .*none\.c3\.yaml/));
    await assert.rejects(start('tiny.c3.yaml', 'stepz=1'), failedWith('input', /did you mean steps\?/));
    await assert.rejects(
      start('tiny.c3.yaml', 'model=nowhere'),
      failedWith('input', /--override model: There is no such folder: .*nowhere\.$/),
    );
    await assert.rejects(
      connection.sendRequest(REQUESTS.taxonomy, taxonomyOf('none')),
      failedWith('input', /There is no run none/, 'notFound'),
    );
    const replay = (message: number, text: string | null = null, alternatives = 1): Promise<unknown> =>
      connection.sendRequest(REQUESTS.replay, { message, alternatives, replays: 1, text });
    await assert.rejects(replay(9999), failedWith('input', /There is no message 9999/, 'notFound'));
    await assert.rejects(replay(firstMessage(engine), null, 0), failedWith('input', /Nothing to replay/));
    await assert.rejects(
      replay(firstMessage(engine), '12 '.repeat(300)),
      failedWith(
        'input',
        /The text has \d+ tokens and its context \d+, together more than the model's 256 positions; shorten it/,
      ),
    );
    const counts = withStore(folder, (store) => store.counts());
    assert.deepEqual([counts.runs, counts.buckets], [1, 12], 'nothing was stored');
    // A model folder that could not be read is looked at again.
    await makeTeam(join(folder, 'nowhere'), { steps: 0 });
    assert.equal((await start('tiny.c3.yaml', 'model=nowhere', 'steps=0')).steps, 0);
  });

  it('examines the machine', async (t) => {
    const engine = await startEngine(t, copyOf(t, done));
    const { providers, versions, store } = await engine.connection.sendRequest(REQUESTS.doctor);
    assert.match(providers.find(({ name }) => name === 'cpu')?.selfTest ?? '', /^passed/);
    assert.equal(versions['node'], process.versions.node);
    assert.deepEqual([store.path, store.state.startsWith('healthy: 1 runs')], [engine.store, true]);
  });

  it('ends a run as cancelled when it is asked to shut down', async (t) => {
    const engine = await startEngine(t, copyOf(t, workspace));
    await endless(engine);
    await engine.heard(training);
    assert.equal(await shutDown(engine, () => engine.exit), 0, engine.log());
    assert.deepEqual(statuses(engine), ['cancelled']);
    assert.ok(!existsSync(`${engine.store}.lock`) && !existsSync(`${engine.store}.queue.json`));
  });
});

/** Ends an engine and does something after it. */
async function shutDown<Result>({ exit, connection }: EngineProcess, then: () => Promise<Result>): Promise<Result> {
  // The end of the process is an answer, too.
  await Promise.race([connection.sendRequest(ShutdownRequest), exit]);
  await exit;
  return then();
}
