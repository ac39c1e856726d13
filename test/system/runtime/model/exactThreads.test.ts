import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Generator } from '../../../../src/runtime/generate/generate.ts';
import { Graph } from '../../../../src/runtime/graph/graph.ts';
import { matmul, swapLast } from '../../../../src/runtime/graph/ops/linear.ts';
import { exactThreads } from '../../../../src/runtime/model/exactThreads.ts';
import { withAdapter } from '../../../../src/runtime/model/lora.ts';
import { ADAPTER_MODULES, adapterSpecs, type TransformerConfig } from '../../../../src/runtime/model/transformer.ts';
import { floatData, floatTensor, Session } from '../../../../src/runtime/session/session.ts';
import { Trainer } from '../../../../src/runtime/train/trainer.ts';
import { message, request, RUNNING, testParameters } from '../../../unit/runtime/models.ts';
import { noise, present, range, testStream } from '../../../unit/runtime/nd.ts';

/** Widths at which ONNX Runtime's products depend on the batch with three threads and more. */
const WIDE: TransformerConfig = {
  vocabularySize: 208,
  hiddenSize: 192,
  intermediateSize: 256,
  layers: 1,
  heads: 6,
  keyValueHeads: 3,
  headDim: 32,
  rmsEpsilon: 1e-6,
  ropeTheta: 10000,
  maxPositions: 128,
  tieEmbeddings: true,
};

describe('exactThreads', () => {
  it('keeps the shares of the columns above 64 where the inner axis is longer than 128', () => {
    // 192 columns in twelve blocks of 16: halves of 96, thirds of 64.
    assert.deepEqual(
      [1, 2, 3, 64].map((threads) => exactThreads(WIDE, threads)),
      [1, 2, 2, 2],
    );
    // 1024 columns: twelve threads leave 80, thirteen 64.
    const large = {
      ...WIDE,
      vocabularySize: 32000,
      hiddenSize: 1024,
      intermediateSize: 2816,
      heads: 16,
      keyValueHeads: 8,
      headDim: 64,
    };
    assert.deepEqual(
      [8, 12, 13, 64].map((threads) => exactThreads(large, threads)),
      [8, 12, 12, 12],
    );
    // A vocabulary of 144 halves into 80 and 64.
    assert.equal(exactThreads({ ...WIDE, vocabularySize: 144 }, 2), 1);
  });

  it('leaves as many as attention has products where every inner axis is at most 128', () => {
    // Two rows with three key-value heads each.
    assert.equal(exactThreads({ ...WIDE, hiddenSize: 96, intermediateSize: 128, heads: 4 }, 64), 6);
  });

  it('a row of every product of such a model is the same in any batch', async () => {
    const threads = exactThreads(WIDE, 8);
    const products = [
      [192, 384],
      [192, 192],
      [192, 256],
      [256, 192],
      [192, 208],
    ] as const;
    for (const [inner, columns] of products) {
      const g = new Graph('product');
      g.output('y', matmul(g, g.floatInput('x', ['rows', inner]), swapLast(g, g.floatInput('w', [columns, inner]))));
      const session = await Session.create(g, { threads });
      const x = Float32Array.from(noise('rows', [400, inner]).data);
      const w = floatTensor(Float32Array.from(noise('weight', [columns, inner]).data), [columns, inner]);
      const firstRows = async (rows: number): Promise<Float32Array> =>
        floatData(await session.run({ x: floatTensor(x.subarray(0, rows * inner), [rows, inner]), w }), 'y').slice(
          0,
          2 * columns,
        );
      const expected = await firstRows(400);
      for (const rows of [2, 3, 4, 8, 24, 64, 96, 200]) {
        assert.deepEqual(await firstRows(rows), expected, `${inner} x ${columns}, ${rows} rows`);
      }
      await session.release();
    }
  });
});

describe('with several threads', () => {
  const adapted = (rank: number): TransformerConfig =>
    withAdapter(WIDE, { rank, alpha: rank, targetModules: ADAPTER_MODULES });
  for (const [name, config] of [
    ['alone', WIDE],
    ...[1, 3, 16, 40].map((rank) => [`with factors of rank ${rank}`, adapted(rank)] as const),
  ] as const) {
    it(`an answer and its score have the same bits in any batch: the model ${name}`, async () => {
      const device = { threads: 8 };
      const model = testParameters(WIDE).map((value) => value / 4);
      const numbers = adapterSpecs(config).reduce(
        (count, { shape: [rows = 0, columns = 0] }) => count + rows * columns,
        0,
      );
      const flat =
        config.adapter === undefined
          ? model
          : {
              model,
              adapter: Float32Array.from({ length: numbers }, (_, index) => testStream('factors').normal(index) / 20),
            };
      const [generator, trainer] = [await Generator.create(config, device), new Trainer(config, device)];
      const requests = range(24).map((index) => request(`wide ${index}`, 3 + 2 * index, 6, { endToken: -1 }));
      const together = await generator.generate(flat, requests, RUNNING);
      for (const size of [1, 2, 4]) {
        for (const start of range(8 / size).map((index) => index * size)) {
          assert.deepEqual(
            await generator.generate(flat, requests.slice(start, start + size), RUNNING),
            together.slice(start, start + size),
          );
        }
      }
      const contexts = requests.map(({ prompt }, index) => ({
        prompt,
        messages: [message(present(together[index]).tokens)],
      }));
      const scored = await trainer.score(flat, contexts, 1, RUNNING.signal);
      assert.deepEqual(
        scored.map(([logprobs]) => logprobs),
        together.map(({ logprobs }) => logprobs),
      );
      assert.deepEqual(await trainer.score(flat, contexts.slice(3, 4), 1, RUNNING.signal), scored.slice(3, 4));
      await generator.release();
      await trainer.release();
    });
  }

  it('nor does attention over more slots than it adds up in one go depend on the batch', async () => {
    // One key-value head: two rows are two products, which eight threads would divide among them by columns.
    const config = {
      ...WIDE,
      vocabularySize: 64,
      hiddenSize: 64,
      intermediateSize: 128,
      heads: 2,
      keyValueHeads: 1,
      headDim: 64,
      maxPositions: 800,
    };
    assert.equal(exactThreads(config, 8), 2);
    const flat = testParameters(config).map((value) => value / 2);
    const generator = await Generator.create(config, { threads: 8 });
    const requests = [...range(3), 700, 700, 701].map((length, index) =>
      request(`slots ${index}`, length + 1, 4, { endToken: -1 }),
    );
    const together = await generator.generate(flat, requests, RUNNING);
    for (const [index, one] of requests.entries()) {
      assert.deepEqual(await generator.generate(flat, [one], RUNNING), [together[index]]);
    }
    await generator.release();
  });
});
