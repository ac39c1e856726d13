/**
 * Moves named tensors between ordinary memory and the device, many in one call. On the CPU both are
 * the same memory and nothing is copied.
 */

import type { Tensor } from 'onnxruntime-node';
import { Graph, type DType } from '../graph/graph.ts';
import { DeviceTensor } from './deviceTensor.ts';
import { keepsOutputs, Session, type DeviceSettings, type Outputs } from './session.ts';

/** Device tensors by name. The owner of the record disposes of them. */
export type DeviceTensors = Readonly<Record<string, DeviceTensor>>;

const copyName = (name: string): string => `copy.${name}`;

export class DeviceMemory {
  private readonly device: DeviceSettings;
  /** Identity graphs by direction, names, element types and shapes, compiled on first use. */
  private readonly movers = new Map<string, Promise<Session>>();

  constructor(device: DeviceSettings) {
    this.device = device;
  }

  /** Copies tensors to the device. On the CPU it returns them, and they must not change any more. */
  async upload(tensors: Outputs): Promise<DeviceTensors> {
    if (!keepsOutputs(this.device)) {
      return Object.fromEntries(Object.entries(tensors).map(([name, tensor]) => [name, new DeviceTensor(tensor)]));
    }
    const { kept } = await (await this.mover('up', tensors)).runKeeping(tensors);
    return Object.fromEntries(Object.keys(tensors).map((name) => [name, requireTensor(kept, copyName(name))]));
  }

  /** Copies tensors to ordinary memory. On the CPU it returns the tensors themselves. */
  async download(held: DeviceTensors): Promise<Outputs> {
    const tensors = Object.fromEntries(Object.entries(held).map(([name, { tensor }]) => [name, tensor]));
    if (!keepsOutputs(this.device)) {
      return tensors;
    }
    // getData() of a device tensor ends the process, so an Identity graph copies it.
    const copies = await (await this.mover('down', tensors)).run(tensors);
    return Object.fromEntries(Object.keys(held).map((name) => [name, requireTensor(copies, copyName(name))]));
  }

  async release(): Promise<void> {
    for (const session of this.movers.values()) {
      await (await session).release();
    }
    this.movers.clear();
  }

  private mover(direction: 'up' | 'down', tensors: Outputs): Promise<Session> {
    const entries = Object.entries(tensors);
    const key = JSON.stringify([direction, entries.map(([name, { type, dims }]) => [name, type, dims])]);
    const known = this.movers.get(key);
    if (known !== undefined) {
      return known;
    }
    const g = new Graph(direction);
    for (const [name, { type, dims }] of entries) {
      g.output(copyName(name), g.input(name, elementType(type), dims));
    }
    const created = Session.create(g, this.device, direction === 'up' ? Object.keys(tensors).map(copyName) : []);
    this.movers.set(key, created);
    return created;
  }
}

function elementType(type: Tensor.Type): DType {
  if (type === 'float32' || type === 'float16' || type === 'int32') {
    return type;
  }
  throw new Error(`Tensors of ${type} are not kept on a device.`);
}

/**
 * Returns an entry of a record.
 * @throws Error if it is missing
 */
export function requireTensor<Value>(record: Readonly<Record<string, Value>>, name: string): Value {
  const value = record[name];
  if (value === undefined) {
    throw new Error(`There is no tensor ${name}.`);
  }
  return value;
}
