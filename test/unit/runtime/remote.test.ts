import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import { ModelHost } from '../../../src/runtime/host.ts';
import { saveModel, snapshotId } from '../../../src/runtime/model/model.ts';
import type { TransformerConfig } from '../../../src/runtime/model/transformer.ts';
import type { ModelRuntime } from '../../../src/runtime/modelRuntime.ts';
import { startRuntime } from '../../../src/runtime/remote.ts';
import { runtimeVersion } from '../../../src/runtime/session/session.ts';
import type { StepSettings } from '../../../src/runtime/train/trainingState.ts';
import { C3Error, CancelledError, type ErrorKind } from '../../../src/shared/errors.ts';
import { context, DEVICE, request, RUNNING, testParameters, TINY } from './models.ts';
import { present, range } from './nd.ts';

const ENTRY = new URL('../../../src/engine/worker.ts', import.meta.url);
/** An entry that says it is ready and then does something at the first call. */
const readyThen = (action: string): string =>
  `import { parentPort } from 'node:worker_threads'; parentPort.on('message', () => { ${action} }); parentPort.postMessage({ kind: 'ready', environment: {} });`;
const entry = (source: string): URL => new URL(`data:text/javascript,${encodeURIComponent(source)}`);
const CONFIG: TransformerConfig = { ...TINY, maxPositions: 2048 };
const STEP: StepSettings = { loss: 'supervised', learningRate: 0.01, temperature: 1, klCoefficient: 0 };
const REQUESTS = range(6).map((index) => request(`remote ${index}`, 3 + index, 8));
const CONTEXTS = [context('a', 4, 3, 2), context('b', 6, 5)];
const NEVER = new AbortController().signal;

let folder: string;
let other: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'c3-remote-'));
  other = join(folder, 'other');
  await saveModel(folder, { config: CONFIG, parameters: testParameters(CONFIG) }, 'F32');
  await saveModel(
    other,
    { config: { ...CONFIG, layers: 1 }, parameters: testParameters({ ...CONFIG, layers: 1 }) },
    'F32',
  );
});
after(() => rm(folder, { recursive: true, force: true }));

/** Runtimes are closed whether their test passes or not: a worker that is left over would keep the process. */
async function serving(t: TestContext, entry = ENTRY): Promise<ModelRuntime> {
  const runtime = await startRuntime(entry, DEVICE);
  t.after(() => runtime.close());
  return runtime;
}

const fails = (work: Promise<unknown>, kind: ErrorKind, pattern: RegExp): Promise<void> =>
  assert.rejects(work, (error) => error instanceof C3Error && error.kind === kind && pattern.test(error.message));

/** Everything that a runtime can do, in one record of results. */
async function everything(runtime: ModelRuntime): Promise<unknown> {
  const info = await runtime.load(folder);
  const told: number[] = [];
  const completions = await runtime.generate(info.snapshot, REQUESTS, {
    ...RUNNING,
    onCompletion: (index, { tokens }) => (told[index] = tokens.length),
  });
  const scores = await runtime.score(info.snapshot, CONTEXTS, 0.75, NEVER);
  await runtime.beginTraining(info.snapshot);
  const reports = [await runtime.step(CONTEXTS, STEP, NEVER), await runtime.step(CONTEXTS, STEP, NEVER)];
  const states = CONTEXTS.map(({ prompt }) => ({ tokens: prompt }));
  const judged = [
    await runtime.learnValues(
      states,
      [{ state: 0, advantage: 1 }],
      { learningRate: 0.01, epochs: 2, clip: 0.5 },
      NEVER,
    ),
    await runtime.values(states, NEVER),
  ];
  const trained = await runtime.freeze();
  const path = join(folder, 'trained.safetensors');
  await runtime.saveSnapshot(trained, path);
  await runtime.releaseSnapshot(trained);
  const left = await runtime.snapshots();
  const again = await runtime.loadSnapshot(path);
  return {
    info,
    told,
    completions,
    scores,
    reports,
    judged,
    trained,
    left,
    again,
    environment: runtime.environment,
    bytes: (await readFile(path)).toString('base64'),
  };
}

describe('a runtime in a worker thread', () => {
  it('gives what the host in this thread gives', async (t) => {
    const [remote, host] = [await serving(t), new ModelHost(DEVICE)];
    const [far, near] = [await everything(remote), await everything(host)];
    assert.deepEqual(far, near);
    await host.close();
  });

  it('decodes as many messages together as the bound of the cache allows, and samples the same', async (t) => {
    const runtime = await serving(t);
    const { snapshot } = await runtime.load(folder);
    const orders: number[][] = [];
    const sample = async (): Promise<readonly Int32Array[]> => {
      const order: number[] = [];
      orders.push(order);
      const requests = range(6).map((index) => request(`bounded ${index}`, 5, 8, { endToken: -1 }));
      const control = { ...RUNNING, onCompletion: (index: number) => order.push(index) };
      return (await runtime.generate(snapshot, requests, control)).map(({ tokens }) => tokens);
    };
    const together = await sample();
    await runtime.boundCache(1);
    const bounded = await sample();
    await runtime.load(other);
    await runtime.load(folder);
    assert.deepEqual([bounded, await sample()], [together, together]);
    // Those that end together are told last to first: all six, and then two by two, also after another model.
    const pairs = [1, 0, 3, 2, 5, 4];
    assert.deepEqual(orders, [[5, 4, 3, 2, 1, 0], pairs, pairs]);
  });

  it('keeps the kind and the words of an error, and continues', async (t) => {
    const runtime = await serving(t);
    await fails(runtime.generate('abcdef', REQUESTS, RUNNING), 'model', /No model is loaded/);
    await fails(runtime.load(join(folder, 'nowhere')), 'model', /nowhere/);
    const { snapshot } = await runtime.load(folder);
    await fails(runtime.generate('abcdef', REQUESTS, RUNNING), 'model', /Snapshot abcdef is not loaded/);
    await fails(runtime.generate(snapshot, [request('empty', 0, 5)], RUNNING), 'input', /empty prompt/);
    await fails(runtime.step(CONTEXTS, STEP, NEVER), 'model', /No training was begun/);
    await fails(runtime.saveSnapshot(snapshot, join(folder, 'no such folder', 'x')), 'store', /Cannot write/);
    assert.equal((await runtime.generate(snapshot, REQUESTS, RUNNING)).length, REQUESTS.length);
  });

  it('leaves no listener on the signal of a job after many calls, also of some that failed', async (t) => {
    const runtime = await serving(t);
    const { signal } = new AbortController();
    const { snapshot } = await runtime.load(folder, undefined, signal);
    for (let call = 0; call < 20; call++) {
      await runtime.generate(snapshot, REQUESTS, { signal });
      await assert.rejects(runtime.generate('abcdef', REQUESTS, { signal }));
      await runtime.score(snapshot, CONTEXTS, 0.75, signal);
    }
    assert.equal(getEventListeners(signal, 'abort').length, 0);
  });

  it('stops a long generation when it is cancelled, and continues with the next call', async (t) => {
    const runtime = await serving(t);
    const { snapshot } = await runtime.load(folder);
    let told = 0;
    const controller = new AbortController();
    const long = [
      request('first', 4, 1),
      ...range(64).map((index) => request(`long ${index}`, 4, 1900, { endToken: -1 })),
    ];
    await assert.rejects(
      runtime.generate(snapshot, long, {
        signal: controller.signal,
        onCompletion: () => {
          told++;
          controller.abort();
        },
      }),
      CancelledError,
    );
    assert.equal(told, 1);
    assert.equal((await runtime.generate(snapshot, REQUESTS, RUNNING)).length, REQUESTS.length);
  });

  it('drops a cancelled step whole: training continues from where it was', async (t) => {
    const many = range(2000).map((index) => context(`many ${index}`, 10, 6));
    const [runtime, host] = [await serving(t), new ModelHost(DEVICE)];
    for (const one of [runtime, host]) {
      await one.beginTraining((await one.load(folder)).snapshot);
    }
    await assert.rejects(runtime.step(many, STEP, AbortSignal.abort()), CancelledError);
    assert.equal(await runtime.freeze(), snapshotId(CONFIG, testParameters(CONFIG)));
    for (const one of [runtime, host]) {
      await one.step(CONTEXTS, STEP, NEVER);
    }
    assert.equal(await runtime.freeze(), await host.freeze());
    await host.close();
  });

  it('answers calls in the order in which they were made, but generates a turn later', async (t) => {
    const runtime = await serving(t);
    const loaded = runtime.load(folder);
    const order: string[] = [];
    const snapshot = snapshotId(CONFIG, testParameters(CONFIG));
    await Promise.all([
      loaded.then(() => order.push('load')),
      runtime.generate(snapshot, REQUESTS, RUNNING).then(() => order.push('generate')),
      runtime.snapshots().then((names) => order.push(names.join())),
    ]);
    // Others that are to generate may come in the same turn, and share the batch.
    assert.deepEqual(order, ['load', snapshot, 'generate']);
    await runtime.close();
    await fails(runtime.snapshots(), 'engine', /has ended/);
    await runtime.close();
  });
});

describe('a worker thread that fails', () => {
  for (const [source, pattern] of [
    ["throw new Error('no runtime here')", /did not start: no runtime here/],
    ['process.exit(0)', /ended before it served/],
  ] as const) {
    it(`at the start: ${source}`, () => fails(startRuntime(entry(source), DEVICE), 'engine', pattern));
  }

  for (const [action, pattern] of [
    ["throw new Error('out of memory')", /failed: out of memory; start again/],
    ['process.exit(0)', /has ended; start again/],
  ] as const) {
    it(`later refuses pending and later calls: ${action}`, async (t) => {
      const runtime = await serving(t, entry(readyThen(action)));
      const calls = [runtime.load(folder), runtime.snapshots(), runtime.generate('x', REQUESTS, RUNNING)];
      await Promise.all(calls.map((call) => fails(call, 'engine', pattern)));
      await fails(runtime.freeze(), 'engine', pattern);
    });
  }
});

describe('ModelHost', () => {
  it('names weights alike wherever they come from, and another architecture replaces everything', async () => {
    const host = new ModelHost(DEVICE);
    const first = await host.load(folder);
    assert.deepEqual(
      [first.snapshot, first.parameters],
      [snapshotId(CONFIG, testParameters(CONFIG)), testParameters(CONFIG).length],
    );
    assert.equal((await host.load(folder)).snapshot, first.snapshot);
    const second = await host.load(other);
    assert.deepEqual(await host.snapshots(), [second.snapshot]);
    await fails(host.generate(first.snapshot, REQUESTS, RUNNING), 'model', /is not loaded/);
    assert.equal((await host.generate(second.snapshot, REQUESTS, RUNNING)).length, REQUESTS.length);
    await host.close();
    assert.deepEqual(await host.snapshots(), []);
  });

  it('a failed load keeps what was there', async () => {
    const host = new ModelHost(DEVICE);
    const { snapshot } = await host.load(folder);
    await fails(host.load(join(folder, 'nowhere')), 'model', /nowhere/);
    assert.deepEqual(await host.snapshots(), [snapshot]);
    await host.close();
  });

  it('training leaves the snapshot that it began from as it was', async () => {
    const host = new ModelHost(DEVICE);
    const { snapshot } = await host.load(folder);
    const before = await host.generate(snapshot, REQUESTS, RUNNING);
    await host.beginTraining(snapshot);
    await host.step(CONTEXTS, STEP, NEVER);
    const trained = await host.freeze();
    assert.notEqual(trained, snapshot);
    assert.deepEqual(await host.generate(snapshot, REQUESTS, RUNNING), before);
    assert.notDeepEqual(
      (await host.generate(trained, REQUESTS, RUNNING)).map(({ logprobs }) => logprobs),
      before.map(({ logprobs }) => logprobs),
    );
    await host.close();
  });

  it('says what results may depend on', () => {
    const { environment } = new ModelHost({ threads: 3 });
    assert.deepEqual(
      [environment.runtime, environment.provider, environment.threads],
      [`onnxruntime-node ${runtimeVersion()}`, 'cpu', 3],
    );
    assert.equal(environment.platform, `${process.platform}-${process.arch}`);
    assert.ok(present(environment.device).length > 0);
  });
});
