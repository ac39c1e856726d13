import assert from 'node:assert/strict';
import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { after, before, describe, it, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { CancellationTokenSource, createMessageConnection, ResponseError, StreamMessageReader, StreamMessageWriter, type MessageConnection } from 'vscode-jsonrpc/node';
import {
  CANCELLED_CODE, DoctorRequest, FAILED_CODE, InitializeRequest, ReplayProgressNotification, ReplayRequest, ResumeRunRequest, RunProgressNotification, ShutdownRequest, StartRunRequest,
  LabelRequest, TaxonomyRequest, type ReplayProgress, type RunProgress,
} from '../../../src/shared/engineProtocol.ts';
import type { RunSummary } from '../../../src/shared/records.ts';
import { NO_FILTER, TAXONOMY_THRESHOLDS, VERDICTS, type TaxonomyParams } from '../../../src/shared/taxonomy.ts';
import { makeTeam } from '../training/tinyTeam.ts';
import { c3, CONFIG, copyOf, makeWorkspace, parseLine, withStore } from './workspace.ts';

const MAIN = fileURLToPath(new URL('../../../src/engine/main.ts', import.meta.url));

let workspace = '';
/** A workspace whose store holds one finished run. */
let done = '';
let oldRun = '';
before(async () => {
  workspace = await makeWorkspace();
  done = await makeWorkspace();
  oldRun = String(parseLine((await c3(done, ['run', 'tiny.c3.yaml', '--json'])).stdout)['run']);
});
after(() => {
  for (const folder of [workspace, done]) rmSync(folder, { recursive: true, force: true });
});

interface Engine {
  readonly folder: string;
  readonly store: string;
  readonly child: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly connection: MessageConnection;
  readonly runs: RunProgress[];
  readonly replays: ReplayProgress[];
  /** Waits for run progress of which something holds. */
  readonly heard: (what: (progress: RunProgress) => boolean) => Promise<RunProgress>;
  readonly log: () => string;
}

function startEngine(t: TestContext, folder: string): Engine {
  const child = spawn(process.execPath, [MAIN], { stdio: ['pipe', 'pipe', 'pipe'] });
  const connection = createMessageConnection(new StreamMessageReader(child.stdout), new StreamMessageWriter(child.stdin));
  let log = '';
  child.stderr.on('data', (chunk: Buffer) => (log += chunk.toString()));
  child.stdin.on('error', () => undefined);
  const runs: RunProgress[] = [];
  const replays: ReplayProgress[] = [];
  const waiting = new Set<(progress: RunProgress) => void>();
  connection.onNotification(RunProgressNotification, (progress) => {
    runs.push(progress);
    for (const tell of waiting) tell(progress);
  });
  connection.onNotification(ReplayProgressNotification, (progress) => {
    replays.push(progress);
  });
  connection.listen();
  t.after(() => {
    connection.dispose();
    child.kill('SIGKILL');
  });
  const heard: Engine['heard'] = (what) =>
    new Promise((resolve) => {
      waiting.add((progress) => {
        if (what(progress)) resolve(progress);
      });
    });
  return { folder, store: join(folder, '.c3', 'c3.sqlite'), child, connection, runs, replays, heard, log: () => log };
}

/** An engine that was told its store. */
async function ready(t: TestContext, folder: string): Promise<Engine> {
  const engine = startEngine(t, folder);
  await engine.connection.sendRequest(InitializeRequest, { store: engine.store });
  return engine;
}

const failedWith = (kind: string, message: RegExp) => (error: unknown): boolean => {
  assert.ok(error instanceof ResponseError, String(error));
  assert.deepEqual([error.code, error.data], [FAILED_CODE, { kind }]);
  assert.match(error.message, message);
  return true;
};
const isCancelled = (error: unknown): boolean => error instanceof ResponseError && error.code === CANCELLED_CODE;
const tiny = ({ folder }: Engine): string => join(folder, 'tiny.c3.yaml');
const training = ({ stage, done: steps }: RunProgress): boolean => stage === 'train' && steps >= 1;
const statuses = ({ folder }: Engine): string[] => withStore(folder, (store) => store.runs(0, 10).map(({ status }) => status));
const firstMessage = ({ folder }: Engine, offset = 0): number => withStore(folder, (store) => store.bucketsOfRun({ run: oldRun, offset, limit: 1 })[0]?.alternatives[0]?.decision ?? 0);
const endless = (engine: Engine, source: CancellationTokenSource): Promise<RunSummary> =>
  engine.connection.sendRequest(StartRunRequest, { config: tiny(engine), overrides: ['steps=5000', 'evaluation.instances=0'] }, source.token);

/** What a panel that was just opened asks. */
function taxonomyOf(run: string): TaxonomyParams {
  return { run, thresholds: TAXONOMY_THRESHOLDS, filter: NO_FILTER, limit: 50, fresh: false };
}

describe('the engine process', () => {
  it('says who it is, makes no store before the first run, and ends when told', async (t) => {
    const engine = startEngine(t, copyOf(t, workspace));
    const early = engine.connection.sendRequest(TaxonomyRequest, taxonomyOf('r'));
    await assert.rejects(early, failedWith('engine', /asked before it was initialized/));
    const { version } = await engine.connection.sendRequest(InitializeRequest, { store: engine.store });
    assert.match(version, /^\d+\.\d+\.\d+$/);
    await assert.rejects(engine.connection.sendRequest(TaxonomyRequest, taxonomyOf('r')), failedWith('store', /There is no store at/));
    assert.ok(!existsSync(join(engine.folder, '.c3')));
    const ended = once(engine.child, 'exit');
    assert.equal(await engine.connection.sendRequest(ShutdownRequest), null);
    assert.equal((await ended)[0], 0);
    assert.match(engine.log(), /^c3 engine \d+\.\d+\.\d+, process \d+\n/);
  });

  it('runs, and tells each stage and step', async (t) => {
    const engine = await ready(t, copyOf(t, workspace));
    const summary = await engine.connection.sendRequest(StartRunRequest, { config: tiny(engine), overrides: ['seed=4'] });
    assert.deepEqual([summary.seed, summary.steps, summary.evaluatorCalls, summary.store], [4, 2, 48, engine.store]);
    assert.deepEqual([...new Set(engine.runs.map(({ stage }) => stage))], ['load', 'evaluate-before', 'train', 'evaluate-after']);
    const steps = withStore(engine.folder, (store) => store.steps(summary.run, 0, 10));
    assert.deepEqual(engine.runs.filter(({ stage }) => stage === 'train').map(({ metrics }) => metrics), [null, ...steps.map(({ metrics }) => metrics)]);
    // A run has no number until its model is loaded.
    const loading = engine.runs.filter(({ run }) => run === null);
    assert.ok(loading.length > 0 && loading.every(({ stage, done: read, total }) => stage === 'load' && read <= total) && loading.at(-1)?.done === loading.at(-1)?.total);
    assert.ok(engine.runs.every(({ run }, index) => run === (index < loading.length ? null : summary.run)));
    assert.deepEqual(withStore(engine.folder, (store) => store.run(summary.run).summary), summary);
  });

  it('answers others while it trains, refuses a second run, and stops when cancelled', async (t) => {
    const engine = await ready(t, copyOf(t, done));
    const source = new CancellationTokenSource();
    const run = endless(engine, source);
    run.catch(() => undefined);
    await engine.heard(training);
    const view = await engine.connection.sendRequest(TaxonomyRequest, taxonomyOf(oldRun));
    assert.deepEqual(view.counts.map(({ name }) => name), [...VERDICTS]);
    const [{ bucket } = { bucket: 0 }] = view.rows;
    assert.equal((await engine.connection.sendRequest(LabelRequest, { bucket, name: 'said while it trains', note: '' })).author, 'you');
    assert.equal((await engine.connection.sendRequest(TaxonomyRequest, taxonomyOf(oldRun))).rows[0]?.label?.name, 'said while it trains');
    await assert.rejects(engine.connection.sendRequest(StartRunRequest, { config: tiny(engine), overrides: [] }), failedWith('engine', /A run is going on already/));
    assert.deepEqual(statuses(engine), ['running', 'done']);
    source.cancel();
    await assert.rejects(run, isCancelled);
    assert.deepEqual(statuses(engine), ['cancelled', 'done']);
    assert.ok(withStore(engine.folder, (store) => store.runs(0, 1)[0]?.steps ?? 0) < 5000);
    // It is free for the next one.
    assert.equal((await engine.connection.sendRequest(StartRunRequest, { config: tiny(engine), overrides: ['steps=1'] })).steps, 1);
  });

  it('takes a run that was cancelled to its end, with progress and a cancel of its own', async (t) => {
    const engine = await ready(t, copyOf(t, workspace));
    const cancelAfter = async (steps: number, start: (token: CancellationTokenSource) => Promise<RunSummary>): Promise<void> => {
      const source = new CancellationTokenSource();
      const cancelled = assert.rejects(start(source), isCancelled);
      await engine.heard(({ stage, done: finished }) => stage === 'train' && finished >= steps);
      source.cancel();
      await cancelled;
    };
    await cancelAfter(1, (source) => engine.connection.sendRequest(StartRunRequest, { config: tiny(engine), overrides: ['steps=40', 'evaluation.instances=0'] }, source.token));
    const run = engine.runs.at(-1)?.run ?? '';
    const resume = (source?: CancellationTokenSource): Promise<RunSummary> => engine.connection.sendRequest(ResumeRunRequest, { run }, ...(source === undefined ? [] : [source.token]));
    await cancelAfter(6, resume);
    const before = withStore(engine.folder, (store) => store.run(run).steps);
    assert.ok(before >= 6 && before < 40, String(before));
    const refused = assert.rejects(engine.connection.sendRequest(ResumeRunRequest, { run: 'none' }), failedWith('input', /There is no run none/));
    const summary = await resume();
    await refused;
    assert.deepEqual([summary.run, summary.steps, summary.evaluatorCalls, statuses(engine)], [run, 40, 40 * 16, ['done']]);
    assert.ok(engine.runs.every((progress) => progress.run === run || (progress.run === null && progress.stage === 'load')));
    assert.deepEqual(await resume(), summary);
    assert.match(engine.log(), new RegExp(`Run ${run} is finished; there is nothing to resume\\.`));
  });

  it('replays with progress, k of n', async (t) => {
    const engine = await ready(t, copyOf(t, done));
    const message = firstMessage(engine);
    const bucket = await engine.connection.sendRequest(ReplayRequest, { message, alternatives: 3, replays: 2, text: '2+1' });
    assert.deepEqual(bucket.alternatives.map(({ original, finish, returns }) => [original, finish === 'typed', returns.length]), [[true, false, 2], [false, false, 2], [false, false, 2], [false, false, 2], [false, true, 2]]);
    assert.ok(engine.replays.every((one) => one.message === message && one.total === 4));
    assert.deepEqual([...new Set(engine.replays.map((one) => one.done))], [0, 1, 2, 3, 4]);
    // The answer adds to the last progress what re-execution showed.
    assert.ok(bucket.alternatives.every(({ verified }) => verified === true));
    const unverified = { ...bucket, alternatives: bucket.alternatives.map((alternative) => ({ ...alternative, verified: null, verification: { state: 'unverified', label: 'not verified yet', detail: 'not re-executed yet (2 of 2 replays)' } })) };
    assert.deepEqual(engine.replays.at(-1)?.bucket, unverified);
    assert.deepEqual(withStore(engine.folder, (store) => store.bucketView(bucket.id)), bucket);
  });

  it('keeps what a cancelled replay has sampled', async (t) => {
    const engine = await ready(t, copyOf(t, done));
    const message = firstMessage(engine);
    const source = new CancellationTokenSource();
    const replay = engine.connection.sendRequest(ReplayRequest, { message, alternatives: 64, replays: 64, text: null }, source.token);
    const cancelled = assert.rejects(replay, isCancelled);
    engine.connection.onNotification(ReplayProgressNotification, ({ bucket }) => {
      if (bucket.alternatives.length > 2) source.cancel();
    });
    await cancelled;
    const [, bucket] = withStore(engine.folder, (store) => store.bucketsFor(message));
    assert.ok(bucket !== undefined && bucket.alternatives.length > 2);
    assert.ok(bucket.alternatives.flatMap(({ returns }) => returns).length < 65 * 64);
    assert.equal((await engine.connection.sendRequest(ReplayRequest, { message, alternatives: 1, replays: 1, text: null })).alternatives.length, 2);
  });

  it('replays messages of other models and thread counts beside a run, and neither disturbs the other', async (t) => {
    const folder = copyOf(t, done);
    await makeTeam(join(folder, 'wider'), { hiddenSize: 48, steps: 10 });
    writeFileSync(join(folder, 'wider.c3.yaml'), CONFIG.replace('model: team', 'model: wider').replace('threads: 1', 'threads: 2'));
    const wider = await c3(folder, ['run', 'wider.c3.yaml', '--json', '--override', 'steps=1']);
    const widerRun = String(parseLine(wider.stdout)['run']);
    const alone = await c3(copyOf(t, workspace), ['run', 'tiny.c3.yaml', '--json', '--override', 'steps=6']);
    const engine = await ready(t, folder);
    const run = engine.connection.sendRequest(StartRunRequest, { config: tiny(engine), overrides: ['steps=6'] });
    await engine.heard(training);
    const other = withStore(folder, (store) => store.bucketsOfRun({ run: widerRun, offset: 0, limit: 1 })[0]?.alternatives[0]?.decision ?? 0);
    const replays = [firstMessage(engine), firstMessage(engine, 9), other].map((message) => engine.connection.sendRequest(ReplayRequest, { message, alternatives: 2, replays: 2, text: null }));
    for (const bucket of await Promise.all(replays)) assert.equal(bucket.alternatives.length, 3);
    const { steps, tokens, evaluatorCalls, accuracy, decisions } = await run;
    const expected = parseLine(alone.stdout);
    assert.deepEqual([steps, tokens, evaluatorCalls, accuracy, decisions], ['steps', 'tokens', 'evaluatorCalls', 'accuracy', 'decisions'].map((name) => expected[name]));
    const { code, stdout } = await shutDown(engine, () => c3(folder, ['verify', '--run', oldRun, '--json']));
    assert.equal(code, 0);
    assert.deepEqual(parseLine(stdout)['identical'], parseLine(stdout)['checked']);
  });

  it('gives each error its kind', async (t) => {
    const engine = await ready(t, copyOf(t, done));
    const { connection, folder } = engine;
    const start = (config: string, ...overrides: string[]): Promise<RunSummary> => connection.sendRequest(StartRunRequest, { config: join(folder, config), overrides });
    await assert.rejects(start('none.c3.yaml'), failedWith('input', /Cannot read .*none\.c3\.yaml/));
    await assert.rejects(start('tiny.c3.yaml', 'stepz=1'), failedWith('input', /did you mean steps\?/));
    await assert.rejects(start('tiny.c3.yaml', 'model=nowhere'), failedWith('input', /--override model: There is no such folder: .*nowhere\.$/));
    await assert.rejects(connection.sendRequest(TaxonomyRequest, taxonomyOf('none')), failedWith('input', /There is no run none/));
    const replay = (message: number, text: string | null = null, alternatives = 1): Promise<unknown> => connection.sendRequest(ReplayRequest, { message, alternatives, replays: 1, text });
    await assert.rejects(replay(9999), failedWith('input', /There is no message 9999/));
    await assert.rejects(replay(firstMessage(engine), null, 0), failedWith('input', /Nothing to replay/));
    await assert.rejects(replay(firstMessage(engine), '12 '.repeat(300)), failedWith('input', /The text has \d+ tokens and its context \d+, together more than the model's 256 positions; shorten it/));
    const counts = withStore(folder, (store) => store.counts());
    assert.deepEqual([counts.runs, counts.buckets], [1, 12], 'nothing was stored');
    // A model folder that could not be read is looked at again.
    await makeTeam(join(folder, 'nowhere'), { steps: 0 });
    assert.equal((await start('tiny.c3.yaml', 'model=nowhere', 'steps=0')).steps, 0);
  });

  it('examines the machine', async (t) => {
    const engine = await ready(t, copyOf(t, done));
    const { providers, versions, store } = await engine.connection.sendRequest(DoctorRequest);
    assert.match(providers.find(({ name }) => name === 'cpu')?.selfTest ?? '', /^passed/);
    assert.equal(versions['node'], process.versions.node);
    assert.deepEqual([store.path, store.state.startsWith('healthy: 1 runs')], [engine.store, true]);
  });

  it('waits for another engine that trains, says for whom, and is not in its way when idle', async (t) => {
    const first = await ready(t, copyOf(t, done));
    const second = await ready(t, first.folder);
    const source = new CancellationTokenSource();
    const run = endless(first, source);
    run.catch(() => undefined);
    await first.heard(training);
    const [row] = (await second.connection.sendRequest(TaxonomyRequest, taxonomyOf(oldRun))).rows;
    assert.ok(row, 'reading needs no turn');
    const label = second.connection.sendRequest(LabelRequest, { bucket: row.bucket, name: 'x', note: '' });
    const words = new RegExp(`Waiting for run c3-\\S+ \\(process ${String(first.child.pid)}\\), which writes the store`, 'u');
    while (!words.test(second.log())) await once(second.child.stderr, 'data');
    assert.deepEqual(statuses(first), ['running', 'done']);
    source.cancel();
    await assert.rejects(run, isCancelled);
    assert.equal((await label).name, 'x');
    // Both live and neither holds anything.
    assert.ok(!existsSync(`${first.store}.lock`));
    assert.equal((await second.connection.sendRequest(StartRunRequest, { config: tiny(second), overrides: ['steps=0'] })).steps, 0);
    assert.equal((await first.connection.sendRequest(StartRunRequest, { config: tiny(first), overrides: ['steps=0'] })).steps, 0);
  });

  it('ends a run as cancelled when it is told to shut down, or when the editor is gone', async (t) => {
    for (const end of ['shutdown', 'gone'] as const) {
      const engine = await ready(t, copyOf(t, workspace));
      const run = endless(engine, new CancellationTokenSource());
      run.catch(() => undefined);
      await engine.heard(training);
      const ended = once(engine.child, 'exit');
      if (end === 'shutdown') await engine.connection.sendRequest(ShutdownRequest);
      else engine.child.stdin.end();
      assert.equal((await ended)[0], 0, engine.log());
      assert.deepEqual(statuses(engine), ['cancelled'], end);
      assert.ok(!existsSync(`${engine.store}.lock`));
    }
  });
});

/** Ends an engine and does something after it. */
async function shutDown<Result>({ child, connection }: Engine, then: () => Promise<Result>): Promise<Result> {
  const ended = once(child, 'exit');
  await connection.sendRequest(ShutdownRequest);
  await ended;
  return then();
}
