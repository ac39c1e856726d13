/** The weight products of a step without the rest: the lower limit of a step's time. */

import type { Tensor } from 'onnxruntime-node';
import { Graph, type Value } from '../graph/graph.ts';
import { linear, matmul, swapLast } from '../graph/ops/linear.ts';
import type { DeviceWeights } from '../model/deviceWeights.ts';
import { parameterFeeds } from '../model/model.ts';
import { EMBEDDING, graphParameterSpecs, headName, type TransformerConfig } from '../model/transformer.ts';
import { floatTensor, Session, type DeviceSettings, type Feeds } from '../session/session.ts';

/** Y = X W^T, dX = dY W or dW = dY^T X. */
export type ProductKind = 'output' | 'inputGradient' | 'weightGradient';
/** The products of a pass: forward only, or also the gradients of inputs and weights. */
export type Pass = 'forward' | 'training';

export interface WeightProduct {
  readonly kind: ProductKind;
  /** Name of the weight in graphs. Its shape is [outputs, inputs]. */
  readonly weight: string;
  readonly outputs: number;
  readonly inputs: number;
  /** The positions that it multiplies: all, or only the predicted ones (in the output projection). */
  readonly rows: 'rows' | 'predicted';
}

const KINDS: Readonly<Record<Pass, readonly ProductKind[]>> = {
  forward: ['output'],
  training: ['output', 'inputGradient', 'weightGradient'],
};

/** Lists every product of an architecture with a weight. The look-up of an embedding is not a product. */
export function listWeightProducts(config: TransformerConfig, pass: Pass): WeightProduct[] {
  return graphParameterSpecs(config).flatMap(({ name, shape: [outputs, inputs] }) => {
    if (outputs === undefined || inputs === undefined || (name === EMBEDDING && name !== headName(config))) {
      return [];
    }
    return KINDS[pass].map((kind) => ({
      kind,
      weight: name,
      outputs,
      inputs,
      rows: name === headName(config) ? ('predicted' as const) : ('rows' as const),
    }));
  });
}

/** Counts floating-point operations: two for every row and element of a weight. */
export function countOperations(products: readonly WeightProduct[], rows: number, predicted: number): number {
  return products.reduce(
    (total, product) => total + 2 * product.outputs * product.inputs * (product.rows === 'rows' ? rows : predicted),
    0,
  );
}

/** The inputs of the graph besides the weights: X [rows, inputs] and dY [rows, outputs] of a weight. */
export const inputName = (weight: string): string => `input.${weight}`;
export const cotangentName = (weight: string): string => `cotangent.${weight}`;
/** The output of the graph: only the first row of a product, so that nothing large is copied. */
export const productName = ({ kind, weight }: WeightProduct): string => `${kind}.${weight}`;

/** Builds all products in one graph, as in the graphs of the model, with weights as inputs. */
export function buildProductsGraph(config: TransformerConfig, pass: Pass): Graph {
  const g = new Graph('products');
  for (const [weight, products] of Map.groupBy(listWeightProducts(config, pass), (product) => product.weight)) {
    const [{ outputs, inputs, rows } = { outputs: 0, inputs: 0, rows: 'rows' }] = products;
    const w = g.floatInput(weight, [outputs, inputs]);
    const x = g.floatInput(inputName(weight), [rows, inputs]);
    const dy = pass === 'training' ? g.floatInput(cotangentName(weight), [rows, outputs]) : undefined;
    for (const product of products) {
      g.output(productName(product), firstRow(g, multiply(g, product.kind, w, x, dy)));
    }
  }
  return g;
}

function multiply(g: Graph, kind: ProductKind, w: Value, x: Value, dy: Value | undefined): Value {
  if (kind === 'output' || dy === undefined) {
    return linear(g, x, w);
  }
  return kind === 'inputGradient' ? matmul(g, dy, w) : matmul(g, swapLast(g, dy), x);
}

/** Returns the first row, [1, columns] of [rows, columns]. */
function firstRow(g: Graph, x: Value): Value {
  const inputs = [x, g.ints([0]), g.ints([1]), g.ints([0])];
  return g.apply({ op: 'Slice', inputs, dtype: x.dtype, shape: [1, x.shape[1] ?? 1] });
}

/** The compiled products of one architecture, for any number of rows. */
export class BareProducts {
  private readonly session: Session;
  private readonly products: readonly WeightProduct[];
  private readonly weights: Feeds;
  private readonly feeds = new Map<string, Feeds>();

  private constructor(session: Session, products: readonly WeightProduct[], weights: Feeds) {
    this.session = session;
    this.products = products;
    this.weights = weights;
  }

  /**
   * @param held keeps the parameters on the device, if there is one; release it after the products
   * @throws C3Error('model') if the device refuses the graph
   */
  static async create(
    config: TransformerConfig,
    parameters: Float32Array,
    device: DeviceSettings,
    pass: Pass,
    held?: DeviceWeights,
  ): Promise<BareProducts> {
    const products = listWeightProducts(config, pass);
    const names = new Set(products.map(({ weight }) => weight));
    const weights = Object.fromEntries(
      Object.entries<Feeds[string]>(
        held === undefined ? parameterFeeds(config, parameters) : await held.of(parameters),
      ).filter(([name]) => names.has(name)),
    );
    return new BareProducts(await Session.create(buildProductsGraph(config, pass), device), products, weights);
  }

  /**
   * Multiplies once: `rows` positions, of which `predicted` go through the output projection. With one
   * row, reading the weights is the limit.
   */
  async run(rows: number, predicted: number): Promise<void> {
    const key = `${rows}:${predicted}`;
    const feeds = this.feeds.get(key) ?? this.operands(rows, predicted);
    this.feeds.set(key, feeds);
    await this.session.run(feeds);
  }

  async release(): Promise<void> {
    await this.session.release();
  }

  private operands(rows: number, predicted: number): Feeds {
    const made = new Map<string, Tensor>();
    const operand = (side: string, count: number, width: number): Tensor => {
      const key = `${side}:${count}:${width}`;
      const known =
        made.get(key) ??
        floatTensor(
          Float32Array.from({ length: count * width }, (_, index) => Math.sin(index + side.length)),
          [count, width],
        );
      made.set(key, known);
      return known;
    };
    const feeds: Record<string, Feeds[string]> = { ...this.weights };
    for (const { kind, weight, outputs, inputs, rows: which } of this.products) {
      const count = which === 'rows' ? rows : predicted;
      feeds[inputName(weight)] = operand('input', count, inputs);
      if (kind !== 'output') {
        feeds[cotangentName(weight)] = operand('cotangent', count, outputs);
      }
    }
    return feeds;
  }
}
