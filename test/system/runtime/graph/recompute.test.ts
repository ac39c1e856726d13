/**
 * Training in less memory: layers computed again in the backward pass, the output projection in runs of targets.
 * Neither may change a number, and both must hold when ONNX Runtime has reordered the graph.
 */

import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { InferenceSession, type Tensor } from 'onnxruntime-node';
import { Graph, type FloatType } from '../../../../src/runtime/graph/graph.ts';
import { parameterFeeds } from '../../../../src/runtime/model/model.ts';
import { type TransformerConfig } from '../../../../src/runtime/model/transformer.ts';
import { floatData, Session } from '../../../../src/runtime/session/session.ts';
import { headChunks, largestTargetCount } from '../../../../src/runtime/train/graph/pack.ts';
import {
  accumulatedName,
  buildGradientGraph,
  buildScoreGraph,
  gradientName,
} from '../../../../src/runtime/train/graph/trainingGraph.ts';
import { Trainer } from '../../../../src/runtime/train/trainer.ts';
import { initialState } from '../../../../src/runtime/train/trainingState.ts';
import { along, contextsFor, feedsOf, slope } from '../../../unit/runtime/losses.ts';
import {
  context,
  DEVICE,
  flatOutput,
  QWEN3,
  runGraph,
  RUNNING,
  testParameters,
  TINY,
} from '../../../unit/runtime/models.ts';
import { item, present, range, testStream } from '../../../unit/runtime/nd.ts';
import { CONFIGS, layersComputedAgain, projectionInRuns, WIDE } from './recomputed.ts';

describe('layers that are computed again', () => layersComputedAgain({ QWEN3, WIDE }));

describe('the output projection in runs of targets', () => {
  projectionInRuns({ QWEN3, WIDE });

  for (const kind of ['ppo', 'supervised'] as const) {
    for (const [name, config] of Object.entries({ TINY, QWEN3 })) {
      it(`${name}, ${kind}: agrees with central differences in float64, layers computed again as well`, async () => {
        const flat = testParameters(config);
        const contexts = contextsFor(config, flat);
        const tokens = contexts.reduce(
          (total, { messages }) => total + messages.reduce((sum, message) => sum + message.tokens.length, 0),
          0,
        );
        const nothing = parameterFeeds(config, new Float32Array(flat.length), accumulatedName);
        const float: FloatType = 'float64';
        const outputs = await runGraph(
          buildGradientGraph(config, { loss: kind, float, recompute: true, chunks: 3 }),
          config,
          flat,
          { ...nothing, ...feedsOf(kind, config, contexts) },
        );
        const gradient = flatOutput(config, outputs, gradientName);
        for (const draw of range(2)) {
          const stream = testStream('direction of all', draw);
          const direction = Float64Array.from(flat, (_, index) => stream.normal(index));
          const expected = slope(kind, config, contexts, (distance) =>
            Float64Array.from(flat, (value, index) => value + distance * item(direction, index)),
          );
          // Each target counts 1/16 in the graph and 1/tokens in the reference.
          const got = (along(gradient, direction) * 16) / tokens;
          assert.ok(Math.abs(got - expected) <= 1e-6 * Math.abs(expected), `${got} is not ${expected}`);
        }
      });
    }
  }

  it('scores with the same bits, down to two targets a run', async () => {
    for (const config of Object.values(CONFIGS)) {
      const flat = testParameters(config);
      const { weights, ...feeds } = feedsOf('supervised', config, contextsFor(config, flat));
      assert.equal(present(weights).dims[0], 19);
      const scored = async (chunks: number): Promise<Float32Array> => {
        const session = await Session.create(buildScoreGraph(config, 'float32', { chunks }), DEVICE);
        const outputs = await session.run({ ...parameterFeeds(config, flat), ...feeds });
        await session.release();
        return floatData(outputs, 'logprobs');
      };
      const whole = await scored(1);
      for (const chunks of [2, 3, 8, 9]) {
        assert.deepEqual(await scored(chunks), whole, `${chunks} runs`);
      }
    }
  });

  it('leaves no array of all targets and the whole vocabulary in a graph', (t) => {
    const shapesOf = (build: () => Graph): string[] => built(t, build).map(({ shape }) => shape);
    const whole = `targets x ${WIDE.vocabularySize}`;
    assert.ok(shapesOf(() => buildGradientGraph(WIDE, { loss: 'ppo' })).includes(whole));
    const parts = shapesOf(() => buildGradientGraph(WIDE, { loss: 'ppo', chunks: 4 }));
    assert.ok(parts.includes(`chunk 3 x ${WIDE.vocabularySize}`) && !parts.includes(whole));
    assert.ok(!shapesOf(() => buildScoreGraph(WIDE, 'float32', { chunks: 4 })).includes(whole));
  });

  it('is chosen so that the logits of a run have at most 64 MiB, and no run one target', () => {
    assert.deepEqual(
      [1, 2, 110, 111, 220, 221, 440, 441, 1024, 2048].map((targets) => headChunks(targets, 151_936)),
      [1, 1, 1, 2, 2, 4, 4, 8, 16, 32],
    );
    assert.deepEqual(
      [2048, 100_000].map((targets) => headChunks(targets, 259)),
      [1, 2],
    );
    // All of a step go through the graph of the largest, but for those that are too small for it.
    const batches = [200, 800, 3].map((targets) => ({ targets }));
    assert.deepEqual(
      batches.map(({ targets }) => headChunks(targets, 151_936, largestTargetCount(batches))),
      [8, 8, 1],
    );
    for (const targets of [1, 2, 3, 7, 8, 100]) {
      assert.ok(Math.floor(targets / headChunks(targets, 1e9)) >= Math.min(2, targets));
    }
  });
});

interface Built {
  readonly op: string;
  /** Of its first output. */
  readonly shape: string;
  /** Everything that must be computed before. */
  readonly earlier: ReadonlySet<Built>;
}

/** Every node that is built, those inside of composites too. */
function built(t: TestContext, build: () => Graph): Built[] {
  const node = t.mock.method(Graph.prototype, 'node');
  build();
  const makers = new Map<string, Built>();
  const nodes = node.mock.calls.map(({ arguments: [{ op, inputs }], result }) => {
    const parents = inputs.flatMap(({ name }) => makers.get(name) ?? []);
    const one = {
      op,
      shape: present(result)[0]?.shape.join(' x ') ?? '',
      earlier: new Set(parents.flatMap((parent) => [parent, ...parent.earlier])),
    };
    for (const { name } of present(result)) {
      makers.set(name, one);
    }
    return one;
  });
  node.mock.restore();
  return nodes;
}

describe('whatever order a runtime may choose', () => {
  const config: TransformerConfig = { ...TINY, layers: 3, vocabularySize: 29, hiddenSize: 20, intermediateSize: 26 };
  const follows = (later: Built, earlier: Built): void =>
    assert.ok(later.earlier.has(earlier), `${later.op} ${later.shape} may come before ${earlier.op} ${earlier.shape}`);

  it('a layer is computed again after all gradients of the layer above', (t) => {
    const nodes = built(t, () => buildGradientGraph(config, { loss: 'ppo', recompute: true }));
    const units = nodes.filter(({ op }) => op === 'Sigmoid').slice(config.layers);
    assert.equal(units.length, config.layers);
    // Queries, keys and values, the way back, gate and up, down.
    for (const [shape, each] of [
      ['48 x 20', 1],
      ['20 x 24', 1],
      ['26 x 20', 2],
      ['20 x 26', 1],
    ] as const) {
      const own = nodes.filter((node) => node.op === 'MatMul' && node.shape === shape);
      assert.equal(own.length, each * config.layers, shape);
      own.forEach((gradient, index) => {
        const below = units[Math.floor(index / each) + 1];
        if (below !== undefined) {
          follows(below, gradient);
        }
      });
    }
  });

  it('a run through the output projection begins after all of the run before it, and the layers after all runs', (t) => {
    const nodes = built(t, () => buildGradientGraph(config, { loss: 'ppo', chunks: 3 }));
    const products = (shape: RegExp): Built[] => nodes.filter((node) => node.op === 'MatMul' && shape.test(node.shape));
    // The last of this shape is the gradient of the tokens that were read.
    const [logits, weights, states] = [
      products(/^chunk \d x 29$/),
      products(/^29 x 20$/).slice(0, -1),
      products(/^chunk \d x 20$/),
    ];
    assert.deepEqual([logits.length, weights.length, states.length], [6, 3, 3]);
    const ends = nodes.filter(({ op }) => op === 'ReduceLogSum');
    for (const index of range(2)) {
      follows(present(logits[index + 1]), present(ends[index]));
      for (const end of [weights, states]) {
        follows(present(logits[index + 4]), present(end[index]));
      }
    }
    const below = present(products(/^20 x 26$/)[0]);
    for (const end of [...weights, ...states]) {
      follows(below, end);
    }
  });
});

/** One letter for each array of a given shape that a run made, in the order in which it was made. */
async function order(
  t: TestContext,
  graph: Graph,
  config: TransformerConfig,
  flat: Float32Array,
  feeds: Readonly<Record<string, Tensor>>,
  letters: Readonly<Record<string, string>>,
): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'c3-profile-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const session = await InferenceSession.create(graph.toModel(), {
    graphOptimizationLevel: 'all',
    executionMode: 'sequential',
    intraOpNumThreads: 1,
    logSeverityLevel: 3,
    enableProfiling: true,
    profileFilePrefix: join(folder, 'run'),
  });
  await session.run({ ...parameterFeeds(config, flat), ...feeds });
  session.endProfiling();
  await session.release();
  const events = JSON.parse(await readFile(join(folder, present((await readdir(folder))[0])), 'utf8')) as readonly {
    readonly name: string;
    readonly args?: {
      readonly op_name?: string;
      readonly output_type_shape?: readonly Readonly<Record<string, readonly number[]>>[];
    };
  }[];
  return events
    .filter(({ name }) => name.endsWith('_kernel_time'))
    .map(
      ({ args }) => `${args?.op_name ?? ''} ${Object.values(args?.output_type_shape?.[0] ?? {})[0]?.join(' x ') ?? ''}`,
    )
    .map((made) => Object.entries(letters).find(([pattern]) => new RegExp(`^(${pattern})$`).test(made))?.[1] ?? '')
    .join('');
}

describe('the order in which ONNX Runtime computes', () => {
  // Every length differs from the others: 19 targets, 7 slots of ones, and the model's own.
  const config: TransformerConfig = { ...TINY, layers: 3, vocabularySize: 29, hiddenSize: 20, intermediateSize: 26 };
  const flat = testParameters(config);
  const contexts = contextsFor(config, flat);
  const feeds = {
    ...feedsOf('supervised', config, contexts),
    ...parameterFeeds(config, new Float32Array(flat.length), accumulatedName),
  };

  it('a layer is computed again when its gradients are due, and these before those of the layer below', async (t) => {
    const letters = { 'QuickGelu .*|Sigmoid .*': 'f', '(FusedMatMul|Gemm|MatMul) 20 x 26': 'g' };
    const [kept, again] = [
      await order(t, buildGradientGraph(config, { loss: 'supervised' }), config, flat, feeds, letters),
      await order(t, buildGradientGraph(config, { loss: 'supervised', recompute: true }), config, flat, feeds, letters),
    ];
    assert.equal(kept, 'fffggg');
    assert.equal(again, 'ffffgfgfg');
  });

  it('a run through the output projection is done before the next begins, forward and backward', async (t) => {
    const letters = {
      '(FusedMatMul|Gemm|MatMul) (6|7) x 29': 'l',
      '(FusedMatMul|Gemm|MatMul) 29 x 20': 'g',
      '(FusedMatMul|Gemm|MatMul) (6|7) x 20': 'x',
    };
    const made = await order(
      t,
      buildGradientGraph(config, { loss: 'supervised', chunks: 3 }),
      config,
      flat,
      feeds,
      letters,
    );
    // The last is the gradient of the tokens that were read.
    assert.match(made, /^lll(l(gx|xg)){3}g$/);
  });
});

describe('a step', () => {
  it('of micro-batches of fewer slots has the same gradient', async () => {
    const contexts = range(8).map((index) => context(`small ${index}`, 5, 6));
    const trainer = new Trainer(TINY, DEVICE);
    const norm = async (microBatchTokens: number): Promise<number> =>
      (
        await trainer.step(
          initialState(testParameters(TINY)),
          contexts,
          { loss: 'supervised', learningRate: 1e-3, temperature: 1, klCoefficient: 0, microBatchTokens },
          RUNNING.signal,
        )
      ).gradientNorm;
    const [few, many] = [await norm(32), await norm(2048)];
    assert.ok(Math.abs(few - many) < 1e-5 * many && few !== 0);
    await trainer.release();
  });
});
