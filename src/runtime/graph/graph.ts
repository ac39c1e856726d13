import { createHash } from 'node:crypto';
import {
  encodeModel,
  type Attribute,
  type Dim,
  type DType,
  type OnnxNode,
  type OnnxTensor,
  type OnnxValueInfo,
} from './onnx.ts';

export type { Attribute, Dim, DType } from './onnx.ts';

/** A typed edge of a graph. Named dimensions are known at run time; equal names are equal lengths. */
export interface Value {
  readonly name: string;
  readonly dtype: DType;
  readonly shape: readonly Dim[];
}

/** The float type of a graph's computation; float64 serves gradient checks. */
export type FloatType = 'float32' | 'float64';

/**
 * The vector-Jacobian product of one node: from the cotangents of its outputs (undefined if nothing
 * flows back) to those of its inputs (undefined if the input is not differentiable).
 * @param wanted for each input, true if its cotangent is needed; the others may be left out
 */
export type Vjp = (
  cotangents: readonly (Value | undefined)[],
  wanted: readonly boolean[],
) => readonly (Value | undefined)[];

/** A node and its derivative. */
export interface GraphNode {
  readonly inputs: readonly Value[];
  readonly outputs: readonly Value[];
  readonly vjp: Vjp | undefined;
}

export interface NodeSpec {
  readonly op: string;
  readonly domain?: string;
  readonly inputs: readonly Value[];
  readonly outputs: readonly { readonly dtype: DType; readonly shape: readonly Dim[] }[];
  readonly attributes?: Readonly<Record<string, Attribute>>;
  readonly vjp?: Vjp;
}

const ELEMENT_BYTES: Readonly<Record<DType, number>> = {
  float32: 4,
  float64: 8,
  float16: 2,
  int32: 4,
  int64: 8,
  bool: 1,
};

/** Constants of more bytes than this are compared by their hash. */
const LONG_CONSTANT = 256;

/** Builds one ONNX graph node by node, in topological order. */
export class Graph {
  readonly float: FloatType;
  readonly nodes: GraphNode[] = [];
  private readonly name: string;
  private readonly onnxNodes: OnnxNode[] = [];
  private readonly initializers = new Map<string, OnnxTensor>();
  private readonly constants = new Map<string, Value>();
  private readonly graphInputs: OnnxValueInfo[] = [];
  private readonly graphOutputs: OnnxValueInfo[] = [];
  private readonly names = new Set<string>();
  private counter = 0;

  constructor(name: string, float: FloatType = 'float32') {
    this.name = name;
    this.float = float;
  }

  input(name: string, dtype: DType, shape: readonly Dim[]): Value {
    this.claim(name);
    const value = { name, dtype, shape };
    this.graphInputs.push(value);
    return value;
  }

  /** Declares an input of this graph's float type. */
  floatInput(name: string, shape: readonly Dim[]): Value {
    return this.input(name, this.float, shape);
  }

  /** Publishes a value as an output of the graph under the given name. */
  output(name: string, value: Value): void {
    this.claim(name);
    this.onnxNodes.push({
      op: 'Identity',
      domain: '',
      name: `output_${name}`,
      inputs: [value.name],
      outputs: [name],
      attributes: {},
    });
    this.graphOutputs.push({ name, dtype: value.dtype, shape: value.shape });
  }

  /** Returns a constant tensor of this graph's float type. Equal constants are shared. */
  floats(data: ArrayLike<number>, shape: readonly number[]): Value {
    const array = this.float === 'float32' ? Float32Array.from(data) : Float64Array.from(data);
    return this.constant(this.float, array, shape);
  }

  scalar(value: number): Value {
    return this.floats([value], []);
  }

  /** Returns an int64 constant, of rank 1 if no shape is given. */
  ints(data: readonly number[], shape: readonly number[] = [data.length]): Value {
    return this.constant(
      'int64',
      BigInt64Array.from(data, (item) => BigInt(item)),
      shape,
    );
  }

  /** Returns an int32 constant, of rank 1 if no shape is given. */
  int32s(data: readonly number[], shape: readonly number[] = [data.length]): Value {
    return this.constant('int32', Int32Array.from(data), shape);
  }

  /** Appends a node and returns its outputs. */
  node(spec: NodeSpec): readonly Value[] {
    const id = this.counter++;
    const outputs = spec.outputs.map((type, index) => ({
      name: `${spec.op}_${id}_${index}`,
      dtype: type.dtype,
      shape: type.shape,
    }));
    this.onnxNodes.push({
      op: spec.op,
      domain: spec.domain ?? '',
      name: `${spec.op}_${id}`,
      inputs: spec.inputs.map((value) => value.name),
      outputs: outputs.map((value) => value.name),
      attributes: spec.attributes ?? {},
    });
    this.nodes.push({ inputs: spec.inputs, outputs, vjp: spec.vjp });
    return outputs;
  }

  apply(spec: Omit<NodeSpec, 'outputs'> & { readonly dtype: DType; readonly shape: readonly Dim[] }): Value {
    const { dtype, shape, ...rest } = spec;
    const [output] = this.node({ ...rest, outputs: [{ dtype, shape }] });
    if (output === undefined) {
      throw new Error('A node without outputs.');
    }
    return output;
  }

  /**
   * Appends several nodes that are differentiated as one: the given derivative replaces those of
   * the nodes that `build` appends.
   * @param vjp as for a node, over `inputs` and the values that `build` returns
   */
  composite(inputs: readonly Value[], build: () => readonly Value[], vjp: Vjp): readonly Value[] {
    const start = this.nodes.length;
    const outputs = build();
    this.nodes.length = start;
    this.nodes.push({ inputs, outputs, vjp });
    return outputs;
  }

  compositeOf(
    inputs: readonly Value[],
    build: () => Value,
    vjp: (cotangent: Value) => readonly (Value | undefined)[],
  ): Value {
    const [output] = this.composite(
      inputs,
      () => [build()],
      ([dy]) => (dy === undefined ? inputs.map(() => undefined) : vjp(dy)),
    );
    if (output === undefined) {
      throw new Error('A composite without outputs.');
    }
    return output;
  }

  /** Returns the serialized model without unneeded nodes, which ONNX Runtime would compute too. */
  toModel(): Uint8Array {
    return encodeModel({
      name: this.name,
      nodes: this.neededNodes(),
      initializers: [...this.initializers.values()],
      inputs: this.graphInputs,
      outputs: this.graphOutputs,
    });
  }

  /** The nodes that an output depends on, in order. */
  private neededNodes(): OnnxNode[] {
    const needed = new Set(this.graphOutputs.map(({ name }) => name));
    const isNeeded = (node: OnnxNode): boolean => {
      if (!node.outputs.some((name) => needed.has(name))) {
        return false;
      }
      for (const name of node.inputs) {
        needed.add(name);
      }
      return true;
    };
    return this.onnxNodes.toReversed().filter(isNeeded).reverse();
  }

  private constant(
    dtype: DType,
    data: Float32Array | Float64Array | BigInt64Array | Int32Array,
    shape: readonly number[],
  ): Value {
    const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    if (shape.reduce((product, dim) => product * dim, 1) * ELEMENT_BYTES[dtype] !== bytes.length) {
      throw new Error(`A constant of ${data.length} elements does not fill the shape [${shape.join(', ')}].`);
    }
    const key = `${dtype}[${shape.join(',')}]${bytes.length > LONG_CONSTANT ? createHash('sha256').update(bytes).digest('base64') : Buffer.from(bytes).toString('base64')}`;
    const known = this.constants.get(key);
    if (known !== undefined) {
      return known;
    }
    const name = `constant_${this.constants.size}`;
    this.claim(name);
    this.initializers.set(name, { name, dtype, dims: shape, bytes });
    const value = { name, dtype, shape };
    this.constants.set(key, value);
    return value;
  }

  private claim(name: string): void {
    if (this.names.has(name)) {
      throw new Error(`The graph already has a value named ${name}.`);
    }
    this.names.add(name);
  }
}
