import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { CancellationTokenSource } from 'vscode-jsonrpc/node';
import { createEngineClient, type EngineClient } from '../../../src/client/engineClient.ts';
import type { EngineEvents } from '../../../src/client/engineConnection.ts';
import { NO_FILTER, TAXONOMY_THRESHOLDS, VERDICTS } from '../../../src/domain/taxonomy.ts';
import { C3Error, CancelledError } from '../../../src/shared/errors.ts';
import type {
  ReplayProgress,
  TestModelProgress,
  VerifyProgress,
} from '../../../src/shared/protocols/engineProtocol.ts';
import type { JobList, RunProgress } from '../../../src/shared/protocols/jobs.ts';
import { useOwnRuntimeFolder } from '../../support/engines.ts';

const SCRIPT = join(import.meta.dirname, 'fakeEngine.ts');
const runtime = useOwnRuntimeFolder();
let stores = 0;

interface Seen {
  readonly log: string[];
  readonly runs: RunProgress[];
  readonly replays: ReplayProgress[];
  readonly verifications: VerifyProgress[];
  readonly modelTests: TestModelProgress[];
  readonly versions: string[];
  readonly lists: JobList[];
  ended: number;
}

interface Options {
  readonly script?: string;
  readonly store?: string;
  readonly version?: string;
}

/** A client; the fake engine that it starts keeps no lock, so its process ends with the client. */
function client(
  t: TestContext,
  { script = SCRIPT, store = `/somewhere/c3-${++stores}.sqlite`, version = '1.2.3' }: Options = {},
): { readonly client: EngineClient; readonly seen: Seen; readonly store: string } {
  const seen: Seen = {
    log: [],
    runs: [],
    replays: [],
    verifications: [],
    modelTests: [],
    versions: [],
    lists: [],
    ended: 0,
  };
  const pids: number[] = [];
  const events: EngineEvents = {
    log: (line) => seen.log.push(line),
    jobs: (list) => seen.lists.push(list),
    runProgress: (progress) => seen.runs.push(progress),
    replayProgress: (progress) => seen.replays.push(progress),
    verifyProgress: (progress) => seen.verifications.push(progress),
    testModelProgress: (progress) => seen.modelTests.push(progress),
    waiting: () => undefined,
    ready: (hello) => {
      seen.versions.push(hello.version);
      pids.push(hello.pid);
    },
    ended: () => {
      seen.ended++;
    },
  };
  t.after(() => {
    for (const pid of pids) {
      spawnSync('kill', ['-9', String(pid)], { stdio: 'ignore' });
    }
  });
  return { client: createEngineClient({ script, store, kind: 'window', version }, events), seen, store };
}

const none = new CancellationTokenSource().token;

test('a run answers with its job, and one engine serves several requests', async (t) => {
  const { client: engine, seen, store } = client(t);
  assert.equal(await engine.attach(), false, 'looking starts none');
  const job = await engine.startRun({ config: null, overrides: [] });
  assert.deepEqual([job.id, job.state], ['job-1', 'queued']);
  assert.deepEqual(
    seen.runs.map((progress) => progress.done),
    [0, 1, 2],
  );
  assert.deepEqual(await engine.cancelRun({ job: 'r' }), { cancelled: 'running' });
  const bucket = await engine.replay({ message: 12, alternatives: 2, replays: 1, text: null }, none);
  assert.equal(bucket.message, 12);
  assert.deepEqual(
    seen.replays.map(({ message, done, total }) => [message, done, total]),
    [
      [12, 1, 2],
      [12, 2, 2],
    ],
  );
  assert.equal((await engine.verify({ message: 12 }, none)).identical, 2);
  assert.deepEqual(seen.verifications, [
    { message: 12, done: 1, total: 2 },
    { message: 12, done: 2, total: 2 },
  ]);
  assert.deepEqual(
    (await engine.doctor()).providers.map((provider) => provider.name),
    ['cpu'],
  );
  const view = await engine.taxonomy({
    run: 'r',
    thresholds: TAXONOMY_THRESHOLDS,
    filter: NO_FILTER,
    limit: 5,
    fresh: true,
  });
  assert.deepEqual([view.run, view.counts.length], ['r', VERDICTS.length]);
  assert.equal((await engine.label({ bucket: 3, name: 'odd', note: '' })).name, 'odd');
  assert.deepEqual(seen.versions, ['1.2.3']);
  assert.deepEqual(seen.log, [`engine log for ${store}`]);
  await engine.dispose();
  assert.equal(seen.ended, 1);
});

test('a model folder is inspected, planned for and tested, its steps arriving before the answer', async (t) => {
  const { client: engine, seen } = client(t);
  assert.equal((await engine.inspectModel({ folder: '/models/qwen' })).folder, '/models/qwen');
  const { memory } = await engine.plan({ config: null, overrides: ['model="/models/qwen"', 'device=cpu'] });
  assert.deepEqual(
    memory.items.map(({ name }) => name),
    ['model="/models/qwen"', 'device=cpu'],
    'the overrides reach the engine as they are',
  );
  const steps = await engine.testModel({ folder: '/models/qwen', provider: 'cpu' }, none);
  assert.deepEqual(
    steps.map(({ name }) => name),
    ['Files', 'Loading'],
  );
  assert.deepEqual(
    seen.modelTests.map(({ folder, progress }) => [
      folder,
      progress.kind === 'step' ? progress.step.name : progress.done,
    ]),
    [
      ['/models/qwen', 'Files'],
      ['/models/qwen', 5],
      ['/models/qwen', 'Loading'],
    ],
  );
  await assert.rejects(
    engine.inspectModel({ folder: 'broken' }),
    (error: unknown) =>
      error instanceof C3Error && error.kind === 'model' && error.message === 'broken/config.json: is no JSON.',
  );
  const cancellation = new CancellationTokenSource();
  const test = engine.testModel({ folder: 'endless' }, cancellation.token);
  cancellation.cancel();
  await assert.rejects(test, CancelledError);
  await engine.dispose();
});

test("an engine's refusal keeps its kind and its one-line message", async (t) => {
  const { client: engine } = client(t);
  await assert.rejects(engine.startRun({ config: 'wrong', overrides: [] }), (error: unknown) => {
    assert.ok(error instanceof C3Error);
    assert.equal(error.kind, 'input');
    assert.match(error.message, /^wrong\.c3\.yaml: line 2/);
    return true;
  });
  await assert.rejects(
    engine.resumeRun({ run: 'changed' }),
    (error: unknown) =>
      error instanceof C3Error && error.kind === 'input' && error.message.startsWith('Run changed cannot be resumed'),
  );
  await engine.dispose();
});

test('an engine that dies fails what was under way, and another one is started for the next request', async (t) => {
  const { client: engine, seen } = client(t);
  await assert.rejects(
    engine.startRun({ config: 'crash', overrides: [] }),
    (error: unknown) =>
      error instanceof C3Error && error.kind === 'engine' && error.message.includes('ended before it answered'),
  );
  assert.equal(seen.ended, 1);
  assert.equal((await engine.startRun({ config: null, overrides: [] })).run, 'r');
  assert.equal(seen.versions.length, 2);
  await engine.dispose();
  await assert.rejects(engine.doctor(), /closed with its window/);
});

test('an engine outlives the client that started it, and the next one finds it', async (t) => {
  const first = client(t);
  await first.client.doctor();
  await first.client.dispose();
  const second = client(t, { store: first.store, script: '/nowhere.ts' });
  assert.equal(await second.client.attach(), true);
  assert.equal((await second.client.resumeRun({ run: 'r-7' })).run, 'r-7');
  await second.client.dispose();
});

test('an idle engine of another version gives way; a busy one that speaks the same is used, one that does not is left alone and named', async (t) => {
  const start = async (fake: string): Promise<string> => {
    process.env['C3_FAKE_ENGINE'] = fake;
    const { client: engine, store } = client(t, { version: fake.split(' ')[1] ?? '' });
    if (fake.startsWith('1 ')) {
      await assert.rejects(engine.doctor());
    } else {
      await engine.doctor();
    }
    await engine.dispose();
    delete process.env['C3_FAKE_ENGINE'];
    return store;
  };
  const idle = client(t, { store: await start('2 0.9.0') });
  await idle.client.doctor();
  assert.deepEqual(idle.seen.versions, ['1.2.3'], 'its own');
  await idle.client.dispose();
  const busy = client(t, { store: await start('2 0.9.0 busy') });
  await busy.client.doctor();
  assert.deepEqual(busy.seen.versions, ['0.9.0']);
  await busy.client.dispose();
  const strange = client(t, { store: await start('1 0.8.0 busy') });
  await assert.rejects(strange.client.doctor(), /is C3 0\.8\.0 and this is 1\.2\.3; it runs "Going on"/);
  await strange.client.dispose();
});

test('why an engine refuses a client is said, and not that it ended', async (t) => {
  process.env['C3_FAKE_ENGINE'] = '2 1.2.3 refuses';
  t.after(() => {
    delete process.env['C3_FAKE_ENGINE'];
  });
  const { client: engine } = client(t);
  await assert.rejects(
    engine.doctor(),
    (error: unknown) =>
      error instanceof C3Error && error.message === 'This engine serves the store /another, not yours.',
  );
  await engine.dispose();
});

test('an engine that cannot be started says so, with the end of its log', async (t) => {
  const { client: engine } = client(t, { script: join(import.meta.dirname, 'absent.ts') });
  await assert.rejects(
    engine.doctor(),
    (error: unknown) =>
      error instanceof C3Error && error.message.includes('exit code 1') && error.message.includes('Its log ends:'),
  );
  assert.ok(runtime.length > 0);
});
