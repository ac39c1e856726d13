import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { CancellationTokenSource } from 'vscode-jsonrpc/node';
import { EngineClient, type EngineEvents } from '../../../src/extension/engineClient.ts';
import { C3Error, CancelledError } from '../../../src/shared/errors.ts';
import type { ReplayProgress, RunProgress, TestModelProgress, VerifyProgress } from '../../../src/shared/engineProtocol.ts';
import { NO_FILTER, TAXONOMY_THRESHOLDS } from '../../../src/shared/taxonomy.ts';

const SCRIPT = join(import.meta.dirname, 'fakeEngine.ts');

interface Seen {
  readonly log: string[];
  readonly runs: RunProgress[];
  readonly replays: ReplayProgress[];
  readonly verifications: VerifyProgress[];
  readonly modelTests: TestModelProgress[];
  readonly versions: string[];
  ended: number;
  onRun: () => void;
}

function client(script = SCRIPT): { readonly client: EngineClient; readonly seen: Seen } {
  const seen: Seen = { log: [], runs: [], replays: [], verifications: [], modelTests: [], versions: [], ended: 0, onRun: () => undefined };
  const events: EngineEvents = {
    log: (line) => { seen.log.push(line); },
    runProgress: (progress) => { seen.runs.push(progress); seen.onRun(); },
    replayProgress: (progress) => { seen.replays.push(progress); },
    verifyProgress: (progress) => { seen.verifications.push(progress); },
    testModelProgress: (progress) => { seen.modelTests.push(progress); },
    ready: ({ version }) => { seen.versions.push(version); },
    ended: () => { seen.ended++; },
  };
  return { client: new EngineClient(script, '/somewhere/c3.sqlite', events), seen };
}

const none = new CancellationTokenSource().token;

test('a run reports its progress before its answer, and one engine serves several requests', async () => {
  const { client: engine, seen } = client();
  const summary = await engine.startRun({ config: null, overrides: [] }, none);
  assert.equal(summary.evaluatorCalls, 8);
  assert.equal(summary.store, '/somewhere/c3.sqlite');
  assert.deepEqual(seen.runs.map((progress) => progress.done), [0, 1, 2]);
  const bucket = await engine.replay({ message: 12, alternatives: 2, replays: 1, text: null }, none);
  assert.equal(bucket.message, 12);
  assert.deepEqual(seen.replays.map(({ message, done, total }) => [message, done, total]), [[12, 1, 2], [12, 2, 2]]);
  assert.equal((await engine.verify({ message: 12 }, none)).identical, 2);
  assert.deepEqual(seen.verifications, [{ message: 12, done: 1, total: 2 }, { message: 12, done: 2, total: 2 }]);
  assert.deepEqual((await engine.doctor()).providers.map((provider) => provider.name), ['cpu']);
  const view = await engine.taxonomy({ run: 'r', thresholds: TAXONOMY_THRESHOLDS, filter: NO_FILTER, limit: 5, fresh: true });
  assert.deepEqual([view.run, view.counts.length], ['r', 5]);
  assert.equal((await engine.label({ bucket: 3, name: 'odd', note: '' })).name, 'odd');
  assert.deepEqual(seen.versions, ['1.2.3']);
  assert.deepEqual(seen.log, ['engine log for /somewhere/c3.sqlite']);
  await engine.dispose();
  assert.equal(seen.ended, 1);
});

test('a model folder is inspected, planned for and tested, its steps arriving before the answer', async () => {
  const { client: engine, seen } = client();
  assert.equal((await engine.inspectModel({ folder: '/models/qwen' })).folder, '/models/qwen');
  const { memory } = await engine.plan({ config: null, overrides: ['model="/models/qwen"', 'device=cpu'] });
  assert.deepEqual(memory.items.map(({ name }) => name), ['model="/models/qwen"', 'device=cpu'], 'the overrides reach the engine as they are');
  const steps = await engine.testModel({ folder: '/models/qwen', provider: 'cpu' }, none);
  assert.deepEqual(steps.map(({ name }) => name), ['Files', 'Loading']);
  assert.deepEqual(seen.modelTests.map(({ folder, progress }) => [folder, progress.kind === 'step' ? progress.step.name : progress.done]), [['/models/qwen', 'Files'], ['/models/qwen', 5], ['/models/qwen', 'Loading']]);
  await assert.rejects(engine.inspectModel({ folder: 'broken' }), (error: unknown) => error instanceof C3Error && error.kind === 'model' && error.message === 'broken/config.json: is no JSON.');
  const cancellation = new CancellationTokenSource();
  const test = engine.testModel({ folder: 'endless' }, cancellation.token);
  cancellation.cancel();
  await assert.rejects(test, CancelledError);
  await engine.dispose();
});

test('a cancelled run ends as cancelled, not as failed', async () => {
  const { client: engine, seen } = client();
  const cancellation = new CancellationTokenSource();
  const running = new Promise<void>((resolve) => { seen.onRun = resolve; });
  const run = engine.startRun({ config: 'endless', overrides: [] }, cancellation.token);
  await running;
  cancellation.cancel();
  await assert.rejects(run, CancelledError);
  await engine.dispose();
});

test('a resumed run reports from where it stood, can be cancelled, and its refusal keeps its sentence', async () => {
  const { client: engine, seen } = client();
  assert.equal((await engine.resumeRun({ run: 'r-7' }, none)).run, 'r-7');
  assert.deepEqual(seen.runs.map(({ run, done, total }) => [run, done, total]), [['r-7', 2, 3]]);
  const cancellation = new CancellationTokenSource();
  seen.onRun = () => { cancellation.cancel(); };
  await assert.rejects(engine.resumeRun({ run: 'endless' }, cancellation.token), CancelledError);
  await assert.rejects(engine.resumeRun({ run: 'changed' }, none), (error: unknown) => error instanceof C3Error && error.kind === 'input' && error.message.startsWith('Run changed cannot be resumed'));
  await engine.dispose();
});

test("an engine's refusal keeps its kind and its one-line message", async () => {
  const { client: engine } = client();
  await assert.rejects(engine.startRun({ config: 'wrong', overrides: [] }, none), (error: unknown) => {
    assert.ok(error instanceof C3Error);
    assert.equal(error.kind, 'input');
    assert.match(error.message, /^wrong\.c3\.yaml: line 2/);
    return true;
  });
  await engine.dispose();
});

test('an engine that dies fails what was under way and is forked anew for the next request', async () => {
  const { client: engine, seen } = client();
  await assert.rejects(engine.startRun({ config: 'crash', overrides: [] }, none), (error: unknown) => error instanceof C3Error && error.kind === 'engine' && error.message.includes('exit code 3'));
  assert.equal(seen.ended, 1);
  assert.equal((await engine.startRun({ config: null, overrides: [] }, none)).run, 'r');
  assert.equal(seen.versions.length, 2);
  await engine.dispose();
  await assert.rejects(engine.doctor(), /closed with its window/);
});

test('an engine that cannot be started says so', async () => {
  const { client: engine } = client(join(import.meta.dirname, 'absent.ts'));
  await assert.rejects(engine.doctor(), (error: unknown) => error instanceof C3Error && error.message.includes('exit code 1'));
});
