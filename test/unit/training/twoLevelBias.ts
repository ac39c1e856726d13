/** The expected gradient with two-level leave-one-out, added up over every outcome of a tree. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { MethodState } from '../../../src/domain/step.ts';
import type { TreeMessage } from '../../../src/replay/tree.ts';
import { readConfig } from '../../../src/training/config/readConfig.ts';
import { c3 } from '../../../src/training/methods/c3.ts';
import { toTwoLevelState } from '../../../src/training/methods/twoLevel.ts';
import { problems, SAMPLING } from '../replay/helpers.ts';

const [PROBLEM = assert.fail()] = problems(1);
const ACTIONS = 'abc';
/** A fixed number in [0, 1) for every text. */
const numberOf = (text: string): number =>
  Array.from(text).reduce((sum, letter) => (sum * 31.7 + letter.charCodeAt(0) * 0.618) % 1, 0.37);
/** The policy after some actions: no action is rare. */
function chancesAfter(before: string, actions: number): number[] {
  const raw = Array.from({ length: actions }, (_, action) => 0.2 + numberOf(`p${before}${ACTIONS.charAt(action)}`));
  const total = raw.reduce((sum, one) => sum + one, 0);
  return raw.map((one) => one / total);
}
const returnOf = (said: string): number => numberOf(`r${said}`);

export interface BiasCase {
  readonly fanout: readonly number[];
  /** By default 2. */
  readonly actions?: number;
  /** Leaves without a score, by their numbers. */
  readonly masked?: readonly number[];
  /** By level; by default known at all levels. */
  readonly variances?: readonly number[];
  readonly merged?: boolean;
  /** Roles without a credit; by default none. */
  readonly without?: readonly number[];
}

/** The gradient of the expected return by the logits of every context: pi(a) (Q(a) - V), weighted by its chance. */
export function exactGradient(levels: number, actions: number): Map<string, number> {
  const gradient = new Map<string, number>();
  const visit = (before: string, likely: number): number => {
    if (before.length === levels) {
      return returnOf(before);
    }
    const chances = chancesAfter(before, actions);
    const values = chances.map((chance, a) => visit(before + ACTIONS.charAt(a), likely * chance));
    const value = values.reduce((sum, one, a) => sum + one * (chances[a] ?? NaN), 0);
    for (const [a, one] of values.entries()) {
      gradient.set(before + ACTIONS.charAt(a), likely * (chances[a] ?? NaN) * (one - value));
    }
    return value;
  };
  visit('', 1);
  return gradient;
}

/** A tree whose messages say, in depth-first order, what is given. Its chance is that of the policy. */
export function treeOf({ fanout, actions = 2, masked = [] }: BiasCase, said: (message: number) => number) {
  const messages: { readonly message: TreeMessage; readonly path: string }[] = [];
  let [likely, leaves] = [1, 0];
  const grow = (parent: TreeMessage | null, before: string, level: number): TreeMessage[] =>
    Array.from({ length: fanout[level] ?? 0 }, (_, sibling) => {
      const action = said(messages.length);
      const text = ACTIONS.charAt(action);
      likely *= chancesAfter(before, actions)[action] ?? NaN;
      const children: TreeMessage[] = [];
      const message: TreeMessage = {
        problem: PROBLEM,
        position: level,
        parent,
        sibling,
        alternative: sibling,
        replay: null,
        context: before,
        contextKey: before,
        streamKey: '',
        sampling: SAMPLING,
        answer: {
          text,
          prompt: new Int32Array(),
          tokens: new Int32Array(),
          logprobs: new Float32Array(),
          finish: 'end',
          reusedTokens: 0,
        },
        score: undefined,
        children,
        stored: undefined,
      };
      messages.push({ message, path: before + text });
      if (level === fanout.length - 1) {
        message.score = { score: masked.includes(leaves++) ? null : returnOf(before + text), rule: 'table' };
      } else {
        children.push(...grow(message, before + text, level + 1));
      }
      return message;
    });
  return { roots: grow(null, '', 0), messages, likely };
}

/** A state with known variances. */
export const stateOf = (variances: readonly number[]): MethodState =>
  toTwoLevelState({
    squares: variances,
    expected: variances.map((_, row) => variances.map((_one, column) => (row === column ? 1 : 0))),
  });

type Credit = (of: BiasCase, roots: readonly TreeMessage[]) => ReadonlyMap<TreeMessage, { readonly value: number }>;

const byMethod: Credit = ({ fanout, variances = fanout.map((_, level) => 1 + level / 2), merged = false }, roots) =>
  c3.credit({
    settings: readSettings(fanout, merged),
    stage: 0,
    problems: [roots],
    measured: [],
    values: new Map(),
    state: stateOf(variances),
  }).credits;

const configs = new Map<string, ReturnType<typeof readConfig>>();
export function readSettings(
  fanout: readonly number[],
  merged: boolean,
  estimator = 'loo_two_level',
): ReturnType<typeof readConfig> {
  const overrides = [
    `fanout=[${fanout.join()}]`,
    `credit.estimator=${estimator}`,
    `credit.merge_contexts=${String(merged)}`,
  ];
  const known = configs.get(overrides.join()) ?? readConfig('', 'test', [...overrides, 'evaluator_budget=18']);
  configs.set(overrides.join(), known);
  return known;
}

/** The largest difference between the expected and the exact gradient, for each role that has a credit. */
export function findBias(of: BiasCase, credit: Credit = byMethod): (number | null)[] {
  const { fanout, actions = 2 } = of;
  const exact = exactGradient(fanout.length, actions);
  const expected = new Map<string, number>();
  const credited = new Set<string>();
  const sizes = fanout.map((_, level) => fanout.slice(0, level + 1).reduce((product, one) => product * one, 1));
  const count = sizes.reduce((sum, one) => sum + one, 0);
  let total = 0;
  for (let outcome = 0; outcome < actions ** count; outcome++) {
    const { roots, messages, likely } = treeOf(of, (index) => Math.floor(outcome / actions ** index) % actions);
    const credits = credit(of, roots);
    total += likely;
    const learned = fanout.map(
      (_, level) => messages.filter(({ message }) => message.position === level && credits.has(message)).length,
    );
    credited.add(learned.join());
    for (const { message, path } of messages) {
      const before = path.slice(0, -1);
      const { value } = credits.get(message) ?? { value: 0 };
      for (const [action, chance] of chancesAfter(before, actions).entries()) {
        const letter = ACTIONS.charAt(action);
        const slope = (path.endsWith(letter) ? 1 : 0) - chance;
        const own = (likely * value * slope) / Math.max(1, learned[message.position] ?? NaN);
        expected.set(before + letter, (expected.get(before + letter) ?? 0) + own);
      }
    }
  }
  assert.ok(Math.abs(total - 1) < 1e-12, 'every outcome is there');
  assert.equal(credited.size, 1, 'the number of credited messages does not depend on what they say');
  const [learned = ''] = credited;
  return learned.split(',').map((number, level) => {
    const own = [...exact].filter(([path]) => path.length === level + 1);
    assert.ok(own.some(([, value]) => Math.abs(value) > 1e-3));
    return number === '0' ? null : Math.max(...own.map(([path, value]) => Math.abs((expected.get(path) ?? 0) - value)));
  });
}

/** Requires that the expected gradient of every role is that of the expected return. */
export function requireNoBias(cases: readonly BiasCase[]): void {
  for (const of of cases) {
    it(`is exact: ${JSON.stringify(of)}`, () => {
      for (const [level, bias] of findBias(of).entries()) {
        const isCredited = of.without?.includes(level) !== true;
        assert.ok(isCredited ? bias !== null && bias < 1e-12 : bias === null, `role ${level}: ${String(bias)}`);
      }
    });
  }
}
