/**
 * The operators that a decoder layer is made of, as `operators.ts` has the general ones: value and vector-Jacobian
 * product from the definition.
 */

import type { Value } from '../../../src/runtime/graph/graph.ts';
import { attention, HIDDEN } from '../../../src/runtime/graph/ops/attention.ts';
import { swiglu } from '../../../src/runtime/graph/ops/elementwise.ts';
import { linear } from '../../../src/runtime/graph/ops/linear.ts';
import { targetLogSoftmax } from '../../../src/runtime/graph/ops/normalise.ts';
import { rotaryTables, rotate } from '../../../src/runtime/model/decoder.ts';
import { at, item, make, noise, range, total, type Nd } from './nd.ts';
import { S23, sigma, softmaxOf, sumOver, where, type OperatorCase } from './operators.ts';

const TARGETS = [2, 0];

/**
 * Attention's sizes: rows, heads, queries, slots, width. Of 4 the root is exact: the runtime would join the scale to
 * the product as a float32.
 */
const [ROWS, HEADS, QUERIES, SLOTS, WIDTH] = [2, 2, 3, 4, 4];
/** Each query of each row sees a slot more than the one before; the second row never sees its first slot. */
const sees = (row: number, query: number, slot: number): boolean => slot <= query + 1 && !(row === 1 && slot === 0);
const seen = (row: number, query: number): number[] => range(SLOTS).filter((slot) => sees(row, query, slot));

/** softmax(Q K^T / sqrt(width)) over the slots that are seen. */
function attentionShares(queries: Nd, keys: Nd): Nd {
  const weight = (b: number, h: number, q: number, s: number): number =>
    Math.exp(sumOver(WIDTH, (k) => at(queries, b, h, q, k) * at(keys, b, h, s, k)) / Math.sqrt(WIDTH));
  return make([ROWS, HEADS, QUERIES, SLOTS], (b, h, q, s) =>
    where(sees(b, q, s), weight(b, h, q, s) / total(seen(b, q).map((one) => weight(b, h, q, one)))),
  );
}

/** Positions of the tokens of a rotated [2, 3, heads * width]. */
const POSITIONS = [0, 4, 1, 3, 3, 2];
const THETA = 10;
/** The angle of a pair, and its turned first and second part (`direction` -1 turns back). */
const turned = (x: Nd, direction: number): Nd =>
  make([2, 3, 8], (row, time, column) => {
    const [head, pair, second] = [Math.floor(column / 4), column % 2, column % 4 > 1];
    const angle = direction * item(POSITIONS, 3 * row + time) * THETA ** (-pair / 2);
    const [first, other] = [at(x, row, time, 4 * head + pair), at(x, row, time, 4 * head + pair + 2)];
    return second
      ? other * Math.cos(angle) + first * Math.sin(angle)
      : first * Math.cos(angle) - other * Math.sin(angle);
  });

/** Rotary positions of two heads of width 4: the case, its inputs and outputs for every element type. */
export const ROTATION: OperatorCase = {
  name: 'rotate',
  inputs: [noise('rotated', [2, 3, 8])],
  shapes: [['rows', 'time', 8]],
  build: (g, x) =>
    rotate(g, x, { ...g.ints(POSITIONS, [6, 1]), shape: ['positions', 1] }, rotaryTables(g, 5, 4, THETA)),
  forward: (x) => turned(x, 1),
  backward: (w) => [turned(w, -1)],
};

export const DECODER_CASES: readonly OperatorCase[] = [
  {
    name: 'linear',
    inputs: [noise('linear rows', [2, 3, 4]), noise('linear weight', [2, 4])],
    shapes: [
      ['rows', 'time', 4],
      [2, 4],
    ],
    build: linear,
    forward: (x, weight) => make([2, 3, 2], (i, j, l) => sumOver(4, (k) => at(x, i, j, k) * at(weight, l, k))),
    backward: (w, x, weight) => [
      make([2, 3, 4], (i, j, k) => sumOver(2, (l) => at(w, i, j, l) * at(weight, l, k))),
      make([2, 4], (l, k) => sumOver(2, (i) => sumOver(3, (j) => at(x, i, j, k) * at(w, i, j, l)))),
    ],
  },
  {
    name: 'targetLogSoftmax',
    inputs: [noise('targetLogSoftmax', S23, -3, 3)],
    build: (g, x) => targetLogSoftmax(g, x, g.int32s(TARGETS, [2, 1])),
    forward: (x) => make([2, 1], (i) => Math.log(at(softmaxOf(x), i, item(TARGETS, i)))),
    backward: (w, x) => [make(S23, (i, j) => at(w, i, 0) * (where(j === TARGETS[i], 1) - at(softmaxOf(x), i, j)))],
  },
  {
    name: 'swiglu',
    inputs: [noise('gate', S23, -3, 3), noise('up', S23)],
    shapes: [
      ['rows', 3],
      ['rows', 3],
    ],
    build: swiglu,
    forward: (gate, up) => make(S23, (i, j) => at(gate, i, j) * sigma(at(gate, i, j)) * at(up, i, j)),
    backward: (w, gate, up) => [
      make(
        S23,
        (i, j) =>
          at(w, i, j) * at(up, i, j) * sigma(at(gate, i, j)) * (1 + at(gate, i, j) * (1 - sigma(at(gate, i, j)))),
      ),
      make(S23, (i, j) => at(w, i, j) * at(gate, i, j) * sigma(at(gate, i, j))),
    ],
  },
  ROTATION,
  {
    name: 'attention',
    inputs: [
      noise('queries', [ROWS, HEADS, QUERIES, WIDTH], -2, 2),
      noise('keys', [ROWS, HEADS, SLOTS, WIDTH], -2, 2),
      noise('values', [ROWS, HEADS, SLOTS, WIDTH]),
    ],
    shapes: [
      ['rows', HEADS, 'time', WIDTH],
      ['rows', HEADS, 'slots', WIDTH],
      ['rows', HEADS, 'slots', WIDTH],
    ],
    build: (g, queries, keys, values) => {
      const masked = (visible: number, hidden: number): Value => ({
        ...g.floats(
          range(ROWS * QUERIES * SLOTS).map((flat) =>
            sees(Math.floor(flat / (QUERIES * SLOTS)), Math.floor(flat / SLOTS) % QUERIES, flat % SLOTS)
              ? visible
              : hidden,
          ),
          [ROWS, 1, QUERIES, SLOTS],
        ),
        shape: ['rows', 1, 'time', 'slots'],
      });
      const ones = {
        ...g.floats(
          range(2 * SLOTS).map(() => 1),
          [SLOTS, 2],
        ),
        shape: ['slots', 2],
      };
      return attention(g, { queries, keys, values, mask: { bias: masked(0, HIDDEN), visible: masked(1, 0) }, ones });
    },
    forward: (queries, keys, values) => {
      const shares = attentionShares(queries, keys);
      return make([ROWS, HEADS, QUERIES, WIDTH], (b, h, q, k) =>
        sumOver(SLOTS, (s) => at(shares, b, h, q, s) * at(values, b, h, s, k)),
      );
    },
    backward: (w, queries, keys, values) => {
      const shares = attentionShares(queries, keys);
      const towards = (b: number, h: number, q: number, s: number): number =>
        sumOver(WIDTH, (k) => at(w, b, h, q, k) * at(values, b, h, s, k));
      // Of the scores: P (dP - sum(P dP)), over sqrt(width).
      const scores = make([ROWS, HEADS, QUERIES, SLOTS], (b, h, q, s) => {
        const mean = sumOver(SLOTS, (one) => at(shares, b, h, q, one) * towards(b, h, q, one));
        return (at(shares, b, h, q, s) * (towards(b, h, q, s) - mean)) / Math.sqrt(WIDTH);
      });
      return [
        make(queries.shape, (b, h, q, k) => sumOver(SLOTS, (s) => at(scores, b, h, q, s) * at(keys, b, h, s, k))),
        make(keys.shape, (b, h, s, k) => sumOver(QUERIES, (q) => at(scores, b, h, q, s) * at(queries, b, h, q, k))),
        make(values.shape, (b, h, s, k) => sumOver(QUERIES, (q) => at(shares, b, h, q, s) * at(w, b, h, q, k))),
      ];
    },
  },
];
