/**
 * The processor time of a choice by `shape: auto`, and of the state after a step, in milliseconds, for some team sizes
 * and budgets with 32 problems a step. Usage: node test/team/choiceCost.ts
 */

import { readConfig } from '../../src/training/config/readConfig.ts';
import { addAutoStep, planAutoTree } from '../../src/training/methods/autoTree.ts';
import { measureSums } from '../../src/training/methods/twoLevel.ts';
import { makeChainProtocol } from '../support/tabularTeam.ts';
import { treeOf } from '../unit/training/twoLevelBias.ts';

const PROBLEMS = 32;
const TIMES = 50;

/** Processor time of one call, in milliseconds. */
function timeOf(work: () => void): number {
  work();
  const before = process.cpuUsage();
  for (let time = 0; time < TIMES; time++) {
    work();
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000 / TIMES;
}

for (const [roles, budget] of [
  [2, 8],
  [2, 64],
  [3, 16],
  [4, 64],
] as const) {
  const settings = readConfig('', 'cost', ['shape=auto', `evaluator_budget=${budget}`]);
  const protocol = makeChainProtocol(roles);
  const fanout = Array.from({ length: roles }, (_, level) => (level === 0 ? budget : 1));
  const problems = Array.from({ length: PROBLEMS }, (_, problem) => [
    ...treeOf({ fanout }, (index) => (index * 7 + problem) % 2).roots,
  ]);
  const json = {
    squares: fanout.map(() => 1),
    expected: fanout.map((_, row) => fanout.map((_one, column) => (row === column ? 1 : 0))),
    scores: fanout.map(() => [1, 1]),
    age: 1,
    choice: null,
  };
  const state = { json, tensors: {} };
  const choose = timeOf(() => planAutoTree(settings, protocol, state));
  const add = timeOf(() => addAutoStep({ problems, state }, measureSums({ problems, settings, state })));
  console.log(`${roles} roles, ${budget} calls: choice ${choose.toFixed(2)} ms, state ${add.toFixed(2)} ms`);
}
