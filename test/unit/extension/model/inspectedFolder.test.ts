import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CancellationToken } from 'vscode-jsonrpc/node';
import { InspectedFolder, type ModelEngine } from '../../../../src/extension/model/inspectedFolder.ts';
import { C3Error, CancelledError } from '../../../../src/shared/errors.ts';
import type { ModelFacts, RunPlan, SelfTestStep } from '../../../../src/shared/models.ts';
import { modelFacts, runPlan } from './modelFixture.ts';

const FOLDER = '/models/qwen';
const step = (name: string, passed = true): SelfTestStep => ({ name, passed, seconds: 1, detail: '' });

interface Question<T> {
  readonly asked: string;
  readonly answer: (value: T) => void;
  readonly refuse: (error: Error) => void;
}

/** An engine whose answers the test gives, in any order. */
class SlowEngine implements ModelEngine {
  readonly inspections: Question<ModelFacts>[] = [];
  readonly plans: Question<RunPlan>[] = [];
  readonly tests: (Question<readonly SelfTestStep[]> & { readonly token: CancellationToken })[] = [];

  inspectModel({ folder }: { readonly folder: string }): Promise<ModelFacts> {
    return new Promise((answer, refuse) => this.inspections.push({ asked: folder, answer, refuse }));
  }

  plan({ overrides }: { readonly overrides: readonly string[] }): Promise<RunPlan> {
    return new Promise((answer, refuse) => this.plans.push({ asked: overrides.join(' '), answer, refuse }));
  }

  testModel(
    { folder, provider }: { readonly folder: string; readonly provider?: string },
    token: CancellationToken,
  ): Promise<readonly SelfTestStep[]> {
    return new Promise((answer, refuse) =>
      this.tests.push({ asked: `${folder} on ${provider ?? 'nothing'}`, answer, refuse, token }),
    );
  }
}

function session(engine: () => ModelEngine): {
  readonly session: InspectedFolder;
  readonly found: string[];
  readonly failed: string[];
  readonly changes: () => number;
} {
  const [found, failed]: [string[], string[]] = [[], []];
  let changes = 0;
  const made = new InspectedFolder(FOLDER, { adapterRank: 16, device: 'cpu' }, engine, {
    changed: () => {
      changes++;
    },
    found: (folder) => found.push(folder),
    failed: (message) => failed.push(message),
  });
  return { session: made, found, failed, changes: () => changes };
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('a folder is read, then planned for with the settings, and only then remembered', async () => {
  const engine = new SlowEngine();
  const { session: model, found } = session(() => engine);
  const read = model.read();
  assert.deepEqual(
    [model.snapshot.facts, model.snapshot.plan].map(({ working }) => working),
    [true, false],
  );
  assert.deepEqual(found, []);
  engine.inspections[0]?.answer(modelFacts(FOLDER));
  await settled();
  assert.deepEqual(found, [FOLDER]);
  assert.equal(engine.plans[0]?.asked, `model="${FOLDER}" adapter={rank: 16, alpha: 32} device=cpu`);
  engine.plans[0].answer(runPlan(['a']));
  await read;
  assert.equal(model.snapshot.plan.value?.memory.items.length, 1);
  assert.equal(model.snapshot.plan.working, false);
});

test('a folder that cannot be loaded shows its sentence, is not remembered, and can be read again', async () => {
  const engine = new SlowEngine();
  const { session: model, found, failed } = session(() => engine);
  const read = model.read();
  engine.inspections[0]?.refuse(new C3Error('model', 'model.safetensors is cut short.'));
  await read;
  assert.deepEqual(model.snapshot.facts, { working: false, value: null, error: 'model.safetensors is cut short.' });
  assert.deepEqual([found, failed, engine.plans.length], [[], ['model.safetensors is cut short.'], 0]);
  void model.read();
  assert.equal(model.snapshot.facts.error, null);
  engine.inspections[1]?.answer(modelFacts(FOLDER));
  await settled();
  assert.deepEqual(found, [FOLDER]);
});

test('where there is no engine, its reason is what is shown', async () => {
  const { session: model } = session(() => {
    throw new C3Error('input', 'Runs and replays require a trusted workspace.');
  });
  await model.read();
  assert.equal(model.snapshot.facts.error, 'Runs and replays require a trusted workspace.');
});

test('of plans that overlap the one asked for last is shown, whatever order they come in; the old one stays meanwhile', async () => {
  const engine = new SlowEngine();
  const { session: model } = session(() => engine);
  void model.read();
  engine.inspections[0]?.answer(modelFacts(FOLDER));
  await settled();
  engine.plans[0]?.answer(runPlan(['first']));
  await settled();
  void model.change({ adapterRank: null, device: 'cpu' });
  void model.change({ adapterRank: 64, device: 'webgpu' });
  assert.equal(model.snapshot.plan.value?.memory.items[0]?.name, 'first');
  assert.deepEqual(
    engine.plans.slice(1).map(({ asked }) => asked.split(' ').slice(1).join(' ')),
    ['adapter=null device=cpu', 'adapter={rank: 64, alpha: 128} device=webgpu'],
  );
  engine.plans[2]?.answer(runPlan(['third']));
  await settled();
  engine.plans[1]?.answer(runPlan(['second']));
  await settled();
  assert.equal(model.snapshot.plan.value.memory.items[0].name, 'third');
  void model.change({ adapterRank: 8, device: 'cpu' });
  engine.plans[3]?.refuse(new C3Error('input', 'no plan'));
  await settled();
  assert.deepEqual(model.snapshot.plan, { working: false, value: null, error: 'no plan' });
});

test("a self-test shows loading and each step, then the engine's own list; a second click while it runs starts none", async () => {
  const engine = new SlowEngine();
  const { session: model } = session(() => engine);
  const test = model.runTest();
  void model.runTest();
  assert.deepEqual(
    engine.tests.map(({ asked }) => asked),
    [`${FOLDER} on cpu`],
  );
  model.progress('/models/other', { kind: 'step', step: step('foreign') });
  model.progress(FOLDER, { kind: 'step', step: step('Files') });
  model.progress(FOLDER, { kind: 'load', done: 1, total: 4 });
  assert.deepEqual(model.snapshot.test, {
    status: 'running',
    steps: [step('Files')],
    current: 'Loading the model',
    share: 0.25,
    error: null,
  });
  model.progress(FOLDER, { kind: 'load', done: 0, total: 0 });
  assert.equal(model.snapshot.test.share, null);
  engine.tests[0]?.answer([step('Files'), step('Loading', false)]);
  await test;
  assert.deepEqual(
    [model.snapshot.test.status, model.snapshot.test.steps.map(({ passed }) => passed)],
    ['done', [true, false]],
  );
  model.progress(FOLDER, { kind: 'step', step: step('late') });
  assert.equal(model.snapshot.test.steps.length, 2);
});

test('a cancelled self-test keeps its steps and is no failure; one that fails as a whole says why', async () => {
  const engine = new SlowEngine();
  const { session: model, failed } = session(() => engine);
  const first = model.runTest();
  model.progress(FOLDER, { kind: 'step', step: step('Files') });
  model.cancelTest();
  assert.equal(engine.tests[0]?.token.isCancellationRequested, true);
  model.progress(FOLDER, { kind: 'load', done: 1, total: 4 });
  assert.equal(model.snapshot.test?.current, 'Cancelling');
  engine.tests[0].refuse(new CancelledError());
  await first;
  assert.deepEqual([model.snapshot.test.status, model.snapshot.test.steps.length, failed], ['cancelled', 1, []]);
  const second = model.runTest();
  engine.tests[1]?.refuse(new C3Error('engine', 'The engine ended.'));
  await second;
  assert.deepEqual(
    [model.snapshot.test.status, model.snapshot.test.error, failed],
    ['failed', 'The engine ended.', ['The engine ended.']],
  );
});

test('a session that is left cancels its test and says nothing any more', async () => {
  const engine = new SlowEngine();
  const { session: model, found, failed, changes } = session(() => engine);
  void model.read();
  void model.runTest();
  const before = changes();
  model.dispose();
  assert.equal(engine.tests[0]?.token.isCancellationRequested, true);
  engine.inspections[0]?.answer(modelFacts(FOLDER));
  engine.tests[0].refuse(new C3Error('engine', 'late'));
  await settled();
  assert.deepEqual([changes(), found, failed, engine.plans.length], [before, [], [], 0]);
});
