/**
 * How teams in a table learn from whole episodes, nested trees and spines at equal evaluator calls: the share of the
 * possible gain after 25 steps, with 95 % intervals over seeds.
 * Usage: node test/team/shapes.ts [seeds] [rate] [problems of a step]
 */

import { openStream, uniform } from '../../src/credit/counter.ts';
import { studentInterval } from '../../src/credit/interval.ts';
import { readConfig } from '../../src/training/config/readConfig.ts';
import { getMethod } from '../../src/training/methods/methods.ts';
import { makeChainProtocol, expectedReturn, learned, outcomes, type TabularTeam } from '../support/tabularTeam.ts';

const ACTIONS = 4;
const STEPS = 25;

/** Every role's action adds what a random table says of it after the action before it; scores are scaled to [0, 1]. */
function teamOf(roles: number, seed: number, parts: readonly number[]): TabularTeam {
  const numbers = openStream(seed, roles);
  let place = 0;
  const table = Array.from({ length: roles }, (_, role) =>
    Array.from({ length: role === 0 ? 1 : ACTIONS }, () =>
      Array.from({ length: ACTIONS }, () => (parts[role] ?? 1) * (uniform(numbers, place++) - 0.5)),
    ),
  );
  const logits = table.map((states) =>
    states.map((actions) => actions.map(() => 0.5 * (uniform(numbers, place++) - 0.5))),
  );
  const raw = (actions: readonly number[]): number =>
    actions.reduce(
      (sum, action, role) => sum + (table[role]?.[role === 0 ? 0 : (actions[role - 1] ?? 0)]?.[action] ?? 0),
      0,
    );
  const all = outcomes({ logits }).map(({ actions }) => raw(actions));
  const [low, high] = [Math.min(...all), Math.max(...all)];
  return { protocol: makeChainProtocol(roles), logits, score: (actions) => (raw(actions) - low) / (high - low) };
}

const METHODS: readonly (readonly [string, readonly string[]])[] = [
  ['MAGRPO', ['method=magrpo']],
  ['C3, nested', []],
  ['C3, nested, merged off', ['credit.merge_contexts=false']],
  ['C3, spine', ['shape=spine']],
  ['C3, spine_rho', ['shape=spine_rho']],
  ['C3, auto', ['shape=auto']],
];

const TEAMS: readonly {
  readonly name: string;
  readonly parts: readonly number[];
  readonly fanout: string;
  readonly frozen?: readonly number[];
}[] = [
  { name: '2 roles', parts: [1, 1], fanout: '[2,4]' },
  { name: '3 roles', parts: [1, 1, 1], fanout: '[2,2,2]' },
  { name: '4 roles', parts: [1, 1, 1, 1], fanout: '[2,2,2,1]' },
  { name: '2 roles, the first decides most', parts: [3, 1], fanout: '[2,4]' },
  { name: '3 roles, the first decides most', parts: [3, 1, 1], fanout: '[2,2,2]' },
  { name: '4 roles, the first decides most', parts: [3, 1, 1, 1], fanout: '[2,2,2,1]' },
  { name: '2 roles, the first decides most and does not learn', parts: [3, 1], fanout: '[2,4]', frozen: [0] },
  { name: '3 roles, the first decides most and does not learn', parts: [3, 1, 1], fanout: '[2,2,2]', frozen: [0] },
  { name: '4 roles, the first decides most and does not learn', parts: [3, 1, 1, 1], fanout: '[2,2,2,1]', frozen: [0] },
];

function shown(values: readonly number[]): string {
  const { value, low, high } = studentInterval(values) ?? { value: NaN, low: null, high: null };
  return `${value.toFixed(3)} [${(low ?? NaN).toFixed(3)}, ${(high ?? NaN).toFixed(3)}]`;
}

const [seeds = 30, rate = 0.1, count = 1] = process.argv.slice(2).map(Number);
for (const { name, parts, fanout, frozen = [] } of TEAMS) {
  const baseline: number[] = [];
  for (const [label, overrides] of METHODS) {
    const frozenRoles = frozen.map((role) => `r${role}: {snapshot: base}`).join(', ');
    const policies = frozen.length === 0 ? [] : [`policies={${frozenRoles}}`];
    const config = readConfig('', 'shapes', [`fanout=${fanout}`, ...overrides, ...policies]);
    if (getMethod(config.method).fault(config, makeChainProtocol(parts.length)) !== null) {
      continue;
    }
    const shares: number[] = [];
    for (let seed = 0; seed < seeds; seed++) {
      const team = teamOf(parts.length, seed, parts);
      const start = expectedReturn(team);
      const end = await learned(team, config, { seed, steps: STEPS, count, rate, frozen });
      shares.push((end - start) / (1 - start));
    }
    baseline.push(...(baseline.length === 0 ? shares : []));
    const paired = shares.map((share, seed) => share - (baseline[seed] ?? 0));
    console.log(`| ${name} | ${label} | ${shown(shares)} | ${label === 'MAGRPO' ? '' : shown(paired)} |`);
  }
}
