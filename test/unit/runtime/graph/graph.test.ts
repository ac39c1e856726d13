import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Graph } from '../../../../src/runtime/graph/graph.ts';
import { exp, neg } from '../../../../src/runtime/graph/ops/elementwise.ts';

describe('a serialised graph', () => {
  it('leaves out what no output needs, and nothing else', () => {
    const built = (surplus: boolean): Uint8Array => {
      const g = new Graph('example');
      const x = g.floatInput('x', [2]);
      const y = exp(g, neg(g, x));
      g.output('y', y);
      if (surplus) {
        neg(g, exp(g, y));
      }
      return g.toModel();
    };
    assert.deepEqual(built(true), built(false));
    const text = Buffer.from(built(false)).toString('latin1');
    assert.ok(text.includes('Exp_1') && text.includes('Neg_0'));
  });
});
