/** What holds for each model when layers are computed again, or the output projection in runs of targets. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { withAdapter } from '../../../../src/runtime/model/lora.ts';
import { consecutiveViews, parameterFeeds, viewFeeds } from '../../../../src/runtime/model/model.ts';
import {
  FINAL_NORM,
  headName,
  trainedSpecs,
  type AdapterSettings,
  type TransformerConfig,
} from '../../../../src/runtime/model/transformer.ts';
import { floatData, Session, type Outputs } from '../../../../src/runtime/session/session.ts';
import type { TrainingContext } from '../../../../src/runtime/train/graph/pack.ts';
import {
  accumulatedName,
  buildGradientGraph,
  gradientName,
  type TrainingGraphOptions,
} from '../../../../src/runtime/train/graph/trainingGraph.ts';
import { contextsFor, feedsOf } from '../../../unit/runtime/losses.ts';
import { QWEN2, QWEN3, testParameters, TINY } from '../../../unit/runtime/models.ts';
import { item, present, testStream } from '../../../unit/runtime/nd.ts';

/** A vocabulary so large that products over it are added up in several slices. */
export const WIDE: TransformerConfig = { ...TINY, vocabularySize: 1500, hiddenSize: 24 };
type Configs = Readonly<Record<string, TransformerConfig>>;
export const CONFIGS: Configs = { TINY, QWEN2, QWEN3, WIDE };
const ADAPTER: AdapterSettings = {
  rank: 3,
  alpha: 6,
  targetModules: ['q_proj', 'v_proj', 'o_proj', 'up_proj', 'down_proj'],
};

/** One micro-batch as the trainer runs it: all of ONNX Runtime's optimisations. */
async function outputsOf(
  config: TransformerConfig,
  flat: Float32Array,
  contexts: readonly TrainingContext[],
  options: TrainingGraphOptions,
  threads = 1,
): Promise<Outputs> {
  const views = consecutiveViews(trainedSpecs(config));
  const size = views.reduce((total, { length }) => total + length, 0);
  const stream = testStream('adapter');
  const factors =
    config.adapter === undefined
      ? {}
      : viewFeeds(
          views,
          Float32Array.from({ length: size }, (_, index) => 0.2 * stream.normal(index)),
        );
  const session = await Session.create(buildGradientGraph(config, options), { threads });
  const outputs = await session.run({
    ...parameterFeeds(config, flat),
    ...factors,
    ...viewFeeds(views, new Float32Array(size), accumulatedName),
    ...feedsOf(options.loss, config, contexts),
  });
  await session.release();
  return outputs;
}

const numbers = (outputs: Outputs): Record<string, Float32Array> =>
  Object.fromEntries(Object.keys(outputs).map((name) => [name, floatData(outputs, name)]));

/** Layers computed again give the bits that kept ones give, for each of some models. */
export function layersComputedAgain(configs: Configs): void {
  for (const [name, config] of Object.entries(configs)) {
    for (const kind of ['ppo', 'supervised'] as const) {
      it(`${name}, ${kind}: every output has the same bits, with one thread and with two`, async () => {
        const flat = testParameters(config);
        const contexts = contextsFor(config, flat);
        for (const threads of [1, 2]) {
          const kept = numbers(await outputsOf(config, flat, contexts, { loss: kind }, threads));
          assert.ok(Object.values(kept).some((values) => values.some((value) => value !== 0)));
          assert.deepEqual(
            numbers(await outputsOf(config, flat, contexts, { loss: kind, recompute: true }, threads)),
            kept,
          );
        }
      });
    }

    it(`${name}: an adapter's gradients too`, async () => {
      const flat = testParameters(config);
      const contexts = contextsFor(config, flat);
      const kept = numbers(await outputsOf(withAdapter(config, ADAPTER), flat, contexts, { loss: 'ppo' }));
      assert.deepEqual(
        numbers(
          await outputsOf(withAdapter(config, ADAPTER), flat, contexts, { loss: 'ppo', recompute: true, chunks: 3 }),
        ),
        kept,
      );
    });
  }
}

/** The output projection in runs of targets changes no number, for each of some models. */
export function projectionInRuns(configs: Configs): void {
  for (const [name, config] of Object.entries(configs)) {
    it(`${name}: what is reported has the same bits, gradients differ by rounding only`, async () => {
      const flat = testParameters(config);
      const contexts = contextsFor(config, flat);
      const whole = numbers(await outputsOf(config, flat, contexts, { loss: 'ppo' }));
      // Sums over targets have another order; sums over an odd vocabulary depend on the rows beside them.
      const exact = (output: string): boolean =>
        !output.startsWith('gradient.') ||
        (config === WIDE && ![headName(config), FINAL_NORM].map(gradientName).includes(output));
      for (const chunks of [3, 8]) {
        for (const recompute of [false, true]) {
          const parts = numbers(await outputsOf(config, flat, contexts, { loss: 'ppo', chunks, recompute }));
          assert.deepEqual(Object.keys(parts), Object.keys(whole));
          for (const [output, values] of Object.entries(parts)) {
            const expected = present(whole[output]);
            if (exact(output)) {
              assert.deepEqual(values, expected, output);
            }
            const largest = Math.max(...expected.map(Math.abs));
            values.forEach((value, index) =>
              assert.ok(Math.abs(value - item(expected, index)) <= 2e-6 * largest, `${output}[${index}]`),
            );
          }
        }
      }
    });
  }
}
