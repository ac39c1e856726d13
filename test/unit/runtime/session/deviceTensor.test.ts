import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { Graph } from '../../../../src/runtime/graph/graph.ts';
import { DeviceWeights } from '../../../../src/runtime/model/deviceWeights.ts';
import { DeviceMemory } from '../../../../src/runtime/session/deviceMemory.ts';
import { DeviceTensor, disposeAll, countDeviceTensors } from '../../../../src/runtime/session/deviceTensor.ts';
import { floatData, floatTensor, int32Tensor, Session } from '../../../../src/runtime/session/session.ts';
import { DEVICE, testParameters, TINY } from '../models.ts';
import { present } from '../nd.ts';

afterEach(() => assert.deepEqual(countDeviceTensors(), { tensors: 0, bytes: 0 }));

const doubling = (): Graph => {
  const g = new Graph('doubling');
  const x = g.floatInput('x', ['n']);
  g.output('kept', g.apply({ op: 'Add', inputs: [x, x], dtype: 'float32', shape: ['n'] }));
  g.output('read', g.apply({ op: 'Neg', inputs: [x], dtype: 'float32', shape: ['n'] }));
  return g;
};

describe('DeviceTensor', () => {
  it('is counted with its bytes until it is disposed of, once', () => {
    const [a, b] = [
      new DeviceTensor(floatTensor(new Float32Array(6), [2, 3])),
      new DeviceTensor(int32Tensor(new Int32Array(5), [5])),
    ];
    assert.deepEqual(countDeviceTensors(), { tensors: 2, bytes: 44 });
    a.dispose();
    a.dispose();
    assert.deepEqual(countDeviceTensors(), { tensors: 1, bytes: 20 });
    assert.throws(() => a.tensor, /disposed/);
    disposeAll([a, b]);
  });
});

describe('a session that keeps outputs', () => {
  it('gives the kept ones apart, and they feed a graph', async () => {
    const session = await Session.create(doubling(), DEVICE, ['kept']);
    const first = await session.runKeeping({ x: floatTensor(Float32Array.of(1, 2), [2]) });
    assert.deepEqual([Object.keys(first.outputs), Object.keys(first.kept)], [['read'], ['kept']]);
    const second = await session.runKeeping({ x: present(first.kept['kept']) });
    assert.deepEqual([...floatData(second.outputs, 'read')], [-2, -4]);
    await assert.rejects(session.run({ x: floatTensor(Float32Array.of(1), [1]) }), /runKeeping/);
    await assert.rejects(session.release(), /while 2 tensors/);
    disposeAll([first, second].flatMap(({ kept }) => Object.values(kept)));
    await session.release();
  });
});

describe('device memory on the CPU', () => {
  it('brings tensors there and back', async () => {
    const memory = new DeviceMemory(DEVICE);
    const held = await memory.upload({
      a: floatTensor(Float32Array.of(1, 2), [2]),
      b: int32Tensor(Int32Array.of(3), [1]),
    });
    assert.equal(countDeviceTensors().tensors, 2);
    const read = await memory.download(held);
    assert.deepEqual([...floatData(read, 'a'), ...(present(read['b']).data as Int32Array)], [1, 2, 3]);
    disposeAll(Object.values(held));
    await memory.release();
  });

  it('keeps the three sets of parameters that were used last', async () => {
    const weights = new DeviceWeights(TINY, DEVICE);
    const sets = ['a', 'b', 'c', 'd'].map((name) => testParameters(TINY, name));
    const [a, b, c, d] = [present(sets[0]), present(sets[1]), present(sets[2]), present(sets[3])];
    const first = await weights.of(a);
    const each = countDeviceTensors().tensors;
    const second = await weights.of(b);
    await weights.of(c);
    assert.equal(await weights.of(a), first);
    await weights.of(d);
    assert.equal(countDeviceTensors().tensors, 3 * each);
    assert.equal(await weights.of(a), first);
    assert.notEqual(await weights.of(b), second);
    await weights.release();
  });
});
