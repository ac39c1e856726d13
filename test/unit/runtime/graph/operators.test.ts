import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { gradients } from '../../../../src/runtime/graph/autodiff.ts';
import { Graph, type FloatType, type Value } from '../../../../src/runtime/graph/graph.ts';
import {
  abs,
  add,
  cast,
  clip,
  equal,
  exp,
  lessOrEqual,
  logicalAnd,
  minimum,
  mul,
} from '../../../../src/runtime/graph/ops/elementwise.ts';
import { gatherRows, zerosLike } from '../../../../src/runtime/graph/ops/gather.ts';
import { matmul } from '../../../../src/runtime/graph/ops/linear.ts';
import { maxAll, mean, sumAll } from '../../../../src/runtime/graph/ops/reduce.ts';
import { concat, reshape, slice } from '../../../../src/runtime/graph/ops/shape.ts';
import { DECODER_CASES, ROTATION } from '../decoderOperators.ts';
import { at, item, make, noise, present, Runner, total, type Nd } from '../nd.ts';
import { CASES, type OperatorCase } from '../operators.ts';

const close = (actual: Nd, expected: Nd, tolerance: number, what: string): void => {
  assert.deepEqual(actual.shape, expected.shape, what);
  for (const [index, value] of expected.data.entries()) {
    const got = item(actual.data, index);
    assert.ok(Math.abs(got - value) <= tolerance, `${what}[${index}]: ${got} is not ${value}`);
  }
};

const named = (inputs: readonly Nd[]): Record<string, Nd> =>
  Object.fromEntries(inputs.map((array, index) => [`x${index}`, array]));

/** The operator, a weighted sum of its output as loss, and the loss's gradients. */
async function compiled({ inputs, shapes, build }: OperatorCase, float: FloatType = 'float64'): Promise<Runner> {
  const g = new Graph('operator', float);
  const values = inputs.map((array, index) => g.floatInput(`x${index}`, shapes?.[index] ?? array.shape));
  const y = build(g, ...values);
  const loss = sumAll(g, mul(g, y, g.floatInput('w', y.shape)));
  g.output('y', y);
  g.output('loss', loss);
  gradients(g, loss, values).forEach((value, index) => g.output(`d${index}`, value));
  return Runner.create(g);
}

// cast goes through float32, where a central difference in float64 has nothing to measure.
const withoutDifferences = new Set(['cast through float32']);

describe('operators', () => {
  for (const one of [...CASES, ...DECODER_CASES]) {
    it(one.name, async () => {
      const expected = one.forward(...one.inputs);
      const w = noise(`${one.name} cotangent`, expected.shape);
      const runner = await compiled(one);
      const outputs = await runner.run({ ...named(one.inputs), w });
      close(present(outputs['y']), expected, 1e-12, 'y');
      const closed = one.backward(w, ...one.inputs);
      for (const [index, input] of one.inputs.entries()) {
        const gradient = present(outputs[`d${index}`]);
        close(gradient, present(closed[index]), 1e-8, `d${index}`);
        if (withoutDifferences.has(one.name)) {
          continue;
        }
        for (const element of input.data.keys()) {
          const lossAt = async (step: number): Promise<number> => {
            const moved = { shape: input.shape, data: input.data.with(element, item(input.data, element) + step) };
            return item(present((await runner.run({ ...named(one.inputs.with(index, moved)), w }))['loss']).data, 0);
          };
          const difference = ((await lossAt(1e-5)) - (await lossAt(-1e-5))) / 2e-5;
          assert.ok(
            Math.abs(difference - item(gradient.data, element)) < 1e-7,
            `d${index}[${element}]: ${item(gradient.data, element)} is not ${difference}`,
          );
        }
      }
      await runner.release();
    });
  }
});

describe('operators of their own in float32', () => {
  it('rotate, and its gradient turns back', async () => {
    const [x] = ROTATION.inputs;
    const w = noise('float32 rotation cotangent', [2, 3, 8]);
    const runner = await compiled(ROTATION, 'float32');
    const outputs = await runner.run({ x0: present(x), w });
    close(present(outputs['y']), ROTATION.forward(present(x)), 1e-6, 'y');
    close(present(outputs['d0']), present(ROTATION.backward(w, present(x))[0]), 1e-6, 'd0');
    // Turned and turned back: the gradient of the rotated values themselves.
    const back = present((await runner.run({ x0: present(x), w: present(outputs['y']) }))['d0']);
    close(back, present(x), 1e-6, 'back');
    await runner.release();
  });

  it('a table too large for a product gets its gradient by a scatter, repeated rows in order', async () => {
    const rows = 1025;
    const indices = [1024, 3, 1024, 0, 1024];
    const table = noise('large table', [rows, 2]);
    const w = noise('large table cotangent', [5, 2]);
    const g = new Graph('large', 'float32');
    const values = g.floatInput('table', [rows, 2]);
    const [gradient] = gradients(
      g,
      sumAll(g, mul(g, gatherRows(g, values, g.int32s(indices)), g.floatInput('w', [5, 2]))),
      [values],
    );
    g.output('d', present(gradient));
    const runner = await Runner.create(g);
    const { d } = await runner.run({ table, w });
    await runner.release();
    const added = (row: number, column: number): number =>
      indices.reduce(
        (sum, one, index) => (one === row ? Math.fround(sum + Math.fround(at(w, index, column))) : sum),
        0,
      );
    assert.deepEqual(present(d), make([rows, 2], added));
  });
});

/** Evaluates one float64 expression without inputs. */
async function evaluate(build: (g: Graph) => Value): Promise<Nd> {
  const g = new Graph('expression', 'float64');
  g.output('y', build(g));
  const runner = await Runner.create(g);
  const outputs = await runner.run({});
  await runner.release();
  return present(outputs['y']);
}

describe('operators without a derivative', () => {
  it('compare and combine', async () => {
    const compare = (build: (g: Graph, a: Value, b: Value) => Value): Promise<Nd> =>
      evaluate((g) => cast(g, build(g, g.floats([1, 2, 3], [3]), g.floats([2, 2, 2], [3])), 'float64'));
    assert.deepEqual([...(await compare(lessOrEqual)).data], [1, 1, 0]);
    assert.deepEqual([...(await compare(equal)).data], [0, 1, 0]);
    assert.deepEqual(
      [...(await compare((g, a, b) => logicalAnd(g, lessOrEqual(g, a, b), lessOrEqual(g, b, a)))).data],
      [0, 1, 0],
    );
  });

  it('abs, maxAll and zerosLike', async () => {
    assert.deepEqual([...(await evaluate((g) => abs(g, g.floats([-1.5, 0, 2], [3])))).data], [1.5, 0, 2]);
    assert.deepEqual(
      await evaluate((g) => maxAll(g, g.floats([-3, -1, -2, -7], [2, 2]))),
      make([], () => -1),
    );
    assert.deepEqual(
      await evaluate((g) => zerosLike(g, g.floats([1, 2], [2, 1]))),
      make([2, 1], () => 0),
    );
  });
});

/** The gradient of a loss with respect to one input x. */
async function gradientOf(build: (g: Graph, x: Value) => Value, x: Nd): Promise<number[]> {
  const g = new Graph('gradient', 'float64');
  const input = g.floatInput('x', x.shape);
  const [gradient] = gradients(g, build(g, input), [input]);
  g.output('d', present(gradient));
  const runner = await Runner.create(g);
  const outputs = await runner.run({ x });
  await runner.release();
  return [...present(outputs['d']).data];
}

describe('gradients', () => {
  it('adds up the paths to one value', async () => {
    // d/dx sum(x x + 3 exp x) = 2 x + 3 exp x.
    const x = noise('paths', [4]);
    const gradient = await gradientOf(
      (g, value) => sumAll(g, add(g, mul(g, value, value), mul(g, g.scalar(3), exp(g, value)))),
      x,
    );
    gradient.forEach((got, index) =>
      assert.ok(Math.abs(got - (2 * item(x.data, index) + 3 * Math.exp(item(x.data, index)))) < 1e-12),
    );
  });

  it('sends a tie of minimum to its first argument and passes at the bounds of clip', async () => {
    const ones = make([3], () => 1);
    assert.deepEqual(await gradientOf((g, x) => sumAll(g, minimum(g, x, g.floats([1, 2, 0], [3]))), ones), [1, 1, 0]);
    assert.deepEqual(await gradientOf((g, x) => sumAll(g, minimum(g, g.floats([1, 2, 0], [3]), x)), ones), [0, 1, 0]);
    assert.deepEqual(await gradientOf((g, x) => sumAll(g, clip(g, x, 1, 2)), ones), [1, 1, 1]);
    assert.deepEqual(await gradientOf((g, x) => sumAll(g, clip(g, x, 0, 1)), ones), [1, 1, 1]);
    assert.equal(total(await gradientOf((g, x) => sumAll(g, clip(g, x, 1.1, 2)), ones)), 0);
  });

  it('refuses what it cannot differentiate', () => {
    const g = new Graph('refused', 'float64');
    const [x, unused] = [g.floatInput('x', [2]), g.floatInput('unused', [2])];
    assert.throws(() => gradients(g, sumAll(g, abs(g, x)), [x]), /No derivative is known for the node that makes Abs_/);
    assert.throws(() => gradients(g, sumAll(g, x), [unused]), /does not depend on unused/);
  });
});

describe('Graph', () => {
  it('refuses impossible shapes and repeated names', () => {
    const g = new Graph('shapes');
    const [a, b] = [g.floatInput('a', [2, 3]), g.floatInput('b', ['rows', 'time'])];
    assert.throws(() => g.floatInput('a', [1]), /already has a value named a/);
    assert.throws(() => g.floats([1, 2, 3], [2]), /3 elements does not fill the shape \[2\]/);
    assert.throws(() => add(g, a, g.floats([1, 2], [2])), /do not broadcast/);
    assert.throws(() => add(g, b, a), /do not broadcast/);
    assert.throws(() => matmul(g, a, a), /matmul of \[2, 3\] and \[2, 3\]/);
    assert.throws(() => reshape(g, b, ['x', 'y']), /more than one length open/);
    assert.throws(() => slice(g, b, 1, 0, 1), /known length/);
    assert.throws(() => mean(g, b, 1), /known length/);
    assert.throws(() => concat(g, [], 0), /concat of nothing/);
  });

  it('shares equal constants and keeps different ones apart', () => {
    const g = new Graph('constants');
    assert.equal(g.scalar(1).name, g.scalar(1).name);
    assert.notEqual(g.scalar(1).name, g.floats([1], [1]).name);
    assert.notEqual(g.ints([0]).name, g.floats([0, 0], [2]).name);
  });
});
