/**
 * The part of the ONNX protobuf wire format that these graphs need (onnx.proto3, IR version 10).
 * Field numbers are those of onnx/onnx.proto.
 */

import { PbfWriter } from 'pbf';

export type DType = 'float32' | 'float64' | 'float16' | 'int64' | 'int32' | 'bool';
/** A length, or the name of a length that is known only at run time. */
export type Dim = number | string;

export type Attribute =
  | number
  | string
  | readonly number[]
  | { readonly float: number }
  | { readonly tensor: OnnxTensor };

export interface OnnxTensor {
  readonly name: string;
  readonly dtype: DType;
  readonly dims: readonly number[];
  /** Little-endian bytes of the elements in row-major order. */
  readonly bytes: Uint8Array;
}

export interface OnnxNode {
  readonly op: string;
  readonly domain: string;
  readonly name: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly attributes: Readonly<Record<string, Attribute>>;
}

export interface OnnxValueInfo {
  readonly name: string;
  readonly dtype: DType;
  readonly shape: readonly Dim[];
}

export interface OnnxGraph {
  readonly name: string;
  readonly nodes: readonly OnnxNode[];
  readonly initializers: readonly OnnxTensor[];
  readonly inputs: readonly OnnxValueInfo[];
  readonly outputs: readonly OnnxValueInfo[];
}

const DATA_TYPE: Readonly<Record<DType, number>> = {
  float32: 1,
  float64: 11,
  int32: 6,
  int64: 7,
  bool: 9,
  float16: 10,
};
const IR_VERSION = 10;
const OPSET = 21;
const ATTRIBUTE_FLOAT = 1;
const ATTRIBUTE_INT = 2;
const ATTRIBUTE_STRING = 3;
const ATTRIBUTE_TENSOR = 4;
const ATTRIBUTE_INTS = 7;

export function encodeModel(graph: OnnxGraph): Uint8Array {
  const writer = new PbfWriter();
  writer.writeVarintField(1, IR_VERSION);
  writer.writeStringField(2, 'c3-replay');
  writer.writeMessage(7, writeGraph, graph);
  writer.writeMessage(8, writeOpset, { domain: '', version: OPSET });
  writer.writeMessage(8, writeOpset, { domain: 'com.microsoft', version: 1 });
  return writer.finish();
}

function writeOpset(opset: { domain: string; version: number }, writer: PbfWriter): void {
  if (opset.domain !== '') {
    writer.writeStringField(1, opset.domain);
  }
  writer.writeVarintField(2, opset.version);
}

function writeGraph(graph: OnnxGraph, writer: PbfWriter): void {
  for (const node of graph.nodes) {
    writer.writeMessage(1, writeNode, node);
  }
  writer.writeStringField(2, graph.name);
  for (const tensor of graph.initializers) {
    writer.writeMessage(5, writeTensor, tensor);
  }
  for (const value of graph.inputs) {
    writer.writeMessage(11, writeValueInfo, value);
  }
  for (const value of graph.outputs) {
    writer.writeMessage(12, writeValueInfo, value);
  }
}

function writeNode(node: OnnxNode, writer: PbfWriter): void {
  for (const input of node.inputs) {
    writer.writeStringField(1, input);
  }
  for (const output of node.outputs) {
    writer.writeStringField(2, output);
  }
  writer.writeStringField(3, node.name);
  writer.writeStringField(4, node.op);
  for (const [name, value] of Object.entries(node.attributes)) {
    writer.writeMessage(5, writeAttribute, { name, value });
  }
  if (node.domain !== '') {
    writer.writeStringField(7, node.domain);
  }
}

function writeAttribute({ name, value }: { name: string; value: Attribute }, writer: PbfWriter): void {
  writer.writeStringField(1, name);
  if (typeof value === 'number') {
    writer.writeVarintField(3, value);
    writer.writeVarintField(20, ATTRIBUTE_INT);
  } else if (typeof value === 'string') {
    writer.writeStringField(4, value);
    writer.writeVarintField(20, ATTRIBUTE_STRING);
  } else if ('float' in value) {
    writer.writeFloatField(2, value.float);
    writer.writeVarintField(20, ATTRIBUTE_FLOAT);
  } else if ('tensor' in value) {
    writer.writeMessage(5, writeTensor, value.tensor);
    writer.writeVarintField(20, ATTRIBUTE_TENSOR);
  } else {
    for (const item of value) {
      writer.writeVarintField(8, item);
    }
    writer.writeVarintField(20, ATTRIBUTE_INTS);
  }
}

function writeTensor(tensor: OnnxTensor, writer: PbfWriter): void {
  for (const dim of tensor.dims) {
    writer.writeVarintField(1, dim);
  }
  writer.writeVarintField(2, DATA_TYPE[tensor.dtype]);
  writer.writeStringField(8, tensor.name);
  writer.writeBytesField(9, tensor.bytes);
}

function writeValueInfo(value: OnnxValueInfo, writer: PbfWriter): void {
  writer.writeStringField(1, value.name);
  writer.writeMessage(2, writeType, value);
}

function writeType(value: OnnxValueInfo, writer: PbfWriter): void {
  writer.writeMessage(1, writeTensorType, value);
}

function writeTensorType(value: OnnxValueInfo, writer: PbfWriter): void {
  writer.writeVarintField(1, DATA_TYPE[value.dtype]);
  writer.writeMessage(2, writeShape, value.shape);
}

function writeShape(shape: readonly Dim[], writer: PbfWriter): void {
  for (const dim of shape) {
    writer.writeMessage(1, writeDim, dim);
  }
}

function writeDim(dim: Dim, writer: PbfWriter): void {
  if (typeof dim === 'number') {
    writer.writeVarintField(1, dim);
  } else {
    writer.writeStringField(2, dim);
  }
}
