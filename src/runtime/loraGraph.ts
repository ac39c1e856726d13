/** An adapter in graphs: the weights that it makes, and the gradients of its two factors. */
import { gradients } from './autodiff.ts';
import { Graph, type Value } from './graph.ts';
import { adaptedMatrices, adapterScale, adapterViews, type AdapterSettings } from './lora.ts';
import { parameterViews, type ParameterView } from './model.ts';
import { add, mul } from './ops/elementwise.ts';
import { matmul, swapLast } from './ops/linear.ts';
import { slice } from './ops/shape.ts';
import { floatData, floats, Session, type DeviceSettings } from './session.ts';
import { needed, type Parameters, type TransformerConfig } from './transformer.ts';

/** A gradient with the name and shape of what it belongs to. */
export interface NamedGradient {
  readonly name: string;
  readonly shape: readonly number[];
  readonly gradient: Value;
}

/**
 * Gradients of A and B, which become inputs of the graph, where the graph takes the weights that they make: with W' = W + s B A and G = dLoss/dW',
 * dLoss/dA = s B^T G and dLoss/dB = s G A^T.
 * @param parameters the weights as the adapter makes them
 */
export function adapterGradients(g: Graph, config: TransformerConfig, settings: AdapterSettings, parameters: Parameters, loss: Value): NamedGradient[] {
  const matrices = adaptedMatrices(config, settings);
  const names = [...new Set(matrices.map(({ graphWeight }) => graphWeight))];
  const own = new Map(gradients(g, loss, names.map((name) => needed(parameters, name))).map((gradient, index) => [names[index] ?? '', gradient]));
  const scale = g.scalar(adapterScale(settings));
  return matrices.flatMap(({ graphWeight, firstRow, outputs, inputs, a, b }) => {
    const whole = needed(own, graphWeight);
    const gradient = whole.shape[0] === outputs ? whole : slice(g, whole, 0, firstRow, firstRow + outputs);
    const [aShape, bShape] = [[settings.rank, inputs], [outputs, settings.rank]];
    const [aValue, bValue] = [g.floatInput(a, aShape), g.floatInput(b, bShape)];
    return [
      { name: a, shape: aShape, gradient: mul(g, matmul(g, swapLast(g, bValue), gradient), scale) },
      { name: b, shape: bShape, gradient: mul(g, matmul(g, gradient, swapLast(g, aValue)), scale) },
    ];
  });
}

/** W + s B A of one matrix of any size. Inputs weight [out, in], a [rank, in], b [out, rank]; output merged. */
export function buildMergeGraph(settings: AdapterSettings): Graph {
  const g = new Graph('merge');
  const product = matmul(g, g.floatInput('b', ['out', settings.rank]), g.floatInput('a', [settings.rank, 'in']));
  g.output('merged', add(g, g.floatInput('weight', ['out', 'in']), mul(g, product, g.scalar(adapterScale(settings)))));
  return g;
}

/** Makes whole weights out of a base and an adapter: what generates, scores and trains then is an ordinary model. */
export class AdapterMerge {
  private readonly config: TransformerConfig;
  private readonly settings: AdapterSettings;
  private readonly session: Session;

  private constructor(config: TransformerConfig, settings: AdapterSettings, session: Session) {
    this.config = config;
    this.settings = settings;
    this.session = session;
  }

  /** Always computed on the CPU, where the vectors are. */
  static async create(config: TransformerConfig, settings: AdapterSettings, { threads }: DeviceSettings): Promise<AdapterMerge> {
    return new AdapterMerge(config, settings, await Session.create(buildMergeGraph(settings), { threads }));
  }

  /** A fresh vector of the model's parameters. Both arguments stay as they are. */
  async weights(base: Float32Array, adapter: Float32Array): Promise<Float32Array> {
    const result = base.slice();
    const ownViews = new Map(parameterViews(this.config).map((view) => [view.name, view]));
    const adapterViewsByName = new Map(adapterViews(this.config, this.settings).map((view) => [view.name, view]));
    for (const { weight, a, b } of adaptedMatrices(this.config, this.settings)) {
      const view = viewOf(ownViews, weight);
      const outputs = await this.session.run({ weight: part(base, view), a: part(adapter, viewOf(adapterViewsByName, a)), b: part(adapter, viewOf(adapterViewsByName, b)) });
      result.set(floatData(outputs, 'merged'), view.offset);
    }
    return result;
  }

  async release(): Promise<void> {
    await this.session.release();
  }
}

const part = (flat: Float32Array, { shape, offset, length }: ParameterView): ReturnType<typeof floats> => floats(flat.subarray(offset, offset + length), shape);

function viewOf(views: ReadonlyMap<string, ParameterView>, name: string): ParameterView {
  const view = views.get(name);
  if (view === undefined) throw new Error(`There is no parameter ${name}.`);
  return view;
}
