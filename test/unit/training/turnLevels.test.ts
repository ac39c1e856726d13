/** What the reward ladder says of each turn of a step: its words read back, means over joint actions, a whole run. */

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Evaluator } from '../../../src/evaluate/evaluator.ts';
import { scoreLadder, parseLadders, formatLadder } from '../../../src/evaluate/ladder.ts';
import type { EpisodeRule, MessagePlace } from '../../../src/store/types.ts';
import { parseProtocol } from '../../../src/team/parseProtocol.ts';
import type { Protocol } from '../../../src/team/protocol.ts';
import { measureTurnLevels } from '../../../src/training/measure/turnLevels.ts';
import { teamFolder, tinyWorld } from './tinyRun.ts';

const team = (turns: number, scored: readonly string[] = ['main']): Protocol =>
  parseProtocol(
    JSON.stringify({
      name: 'two',
      roles: ['aux', 'main'].map((role) => ({ role, prompt: `Be ${role}.` })),
      scored,
      rounds: { turns },
    }),
    'two.json',
  );
/** Words of a ladder whose last level is that of a helper which is called and used. */
const words = (structure: number, passed: number, cooperation = 0): string =>
  `ladder: 1 of 4 (structure ${structure}, syntax 0.5, tests ${passed}/4, cooperation ${cooperation})`;
/** A path of messages: each follows the one before. */
const path = (...messages: number[]): MessagePlace[] =>
  messages.map((message, position) => ({ message, problem: 7, parent: messages[position - 1] ?? null, position }));

describe('the words of ladders', () => {
  it('are read back as shares of the points of each level', () => {
    const found = scoreLadder(
      {
        entryPoint: 'f',
        helper: { source: 'def aux(n):\n    return n', returns: true },
        main: { source: 'def f(n):\n    s = aux(n)\n    return s', returns: true },
        syntax: null,
        usage: { called: true, used: true, wrapper: true },
        tests: [0, 1, 2].map((index) => ({ source: '', passed: index > 0, detail: '' })),
        testCount: 3,
      },
      'checked',
    );
    const [shares, ...more] = parseLadders(formatLadder(found, 3));
    assert.deepEqual(more, []);
    // Structure 1 of 1, syntax 0.5 of 0.5, tests 2 of 3, cooperation 0.5 of 1.5: 2 2/3 of 4 points.
    assert.deepEqual(shares, { total: (2 + 2 / 3) / 4, structure: 1, syntax: 1, tests: 2 / 3, cooperation: 1 / 3 });
  });

  it('are in their order among other rules, and nowhere else', () => {
    assert.deepEqual(
      parseLadders(`${words(0.4, 1)}, no-tests, ${words(1, 3)}`).map(({ structure, tests }) => [structure, tests]),
      [
        [0.4, 0.25],
        [1, 0.75],
      ],
    );
    assert.deepEqual(parseLadders('passed, hash-line: equal numbers, ladder: none'), []);
  });
});

describe('levels by turn', () => {
  it('are means over joint actions: one that several episodes continue counts once', () => {
    // Two joint actions in turn 1 (ends 2 and 6); the first is continued twice (ends 4 and 5), the other stopped.
    const messages = [
      ...path(1, 2, 3, 4),
      { message: 10, problem: 7, parent: 2, position: 2 },
      { message: 5, problem: 7, parent: 10, position: 3 },
      ...path(7, 6),
    ];
    const levels = measureTurnLevels(
      [
        { leaf: 4, rule: `${words(1, 2)}, ${words(1, 4, 1.5)}` },
        { leaf: 5, rule: `${words(1, 2)}, ${words(0.6, 0)}` },
        { leaf: 6, rule: words(0.6, 0) },
      ],
      messages,
      team(2),
    );
    assert.deepEqual(levels, {
      turn1Total: (2 + 1.1) / 2 / 4,
      turn1Structure: 0.8,
      turn1Syntax: 1,
      turn1Tests: 0.25,
      turn1Cooperation: 0,
      turn1PassAt1: 0,
      turn1PassAt2: 0,
      turn2Total: (4 + 1.1) / 2 / 4,
      turn2Structure: 0.8,
      turn2Syntax: 1,
      turn2Tests: 0.5,
      turn2Cooperation: 0.5,
      // Both of one node, of which one passes: 1 - C(1, 1) / C(2, 1), and 1 - C(1, 2) / C(2, 2).
      turn2PassAt1: 0.5,
      turn2PassAt2: 1,
    });
  });

  it('tell by pass@k whether one of k joint actions of a node passes all tests', () => {
    const of = (problem: number, first: number, passed: readonly number[]): [EpisodeRule[], MessagePlace[]] => [
      passed.map((tests, index) => ({ leaf: first + index, rule: words(1, tests) })),
      passed.flatMap((_, index) => [
        { message: first + 100 + index, problem, parent: null, position: 0 },
        { message: first + index, problem, parent: first + 100 + index, position: 1 },
      ]),
    ];
    // Of one problem 1 of 4 passes, of another 3 of 5; whoever passes 3 of its 4 tests does not.
    const [one, two] = [of(1, 10, [4, 3, 0, 0]), of(2, 20, [4, 4, 4, 0, 3])];
    const levels = measureTurnLevels([...one[0], ...two[0]], [...one[1], ...two[1]], team(1));
    const pass = (k: 1 | 2 | 3 | 4 | 5 | 6): number | undefined => levels[`turn1PassAt${k}`];
    const close = (value: number | undefined, expected: number): void =>
      assert.ok(Math.abs((value ?? NaN) - expected) < 1e-12, `${String(value)}, not ${expected}`);
    close(pass(1), (1 / 4 + 3 / 5) / 2);
    // 1 - C(3, 2) / C(4, 2) and 1 - C(2, 2) / C(5, 2).
    close(pass(2), (1 - 3 / 6 + (1 - 1 / 10)) / 2);
    close(pass(3), (1 - 1 / 4 + 1) / 2);
    close(pass(4), 1);
    // The first problem has no five.
    close(pass(5), 1);
    assert.equal(pass(6), undefined);
  });

  it('take the nodes of a later turn apart, and those of two problems in the first', () => {
    // Both first turns are followed by two joint actions: of one node both pass, of the other none.
    const node = (first: number): MessagePlace[] => [
      ...path(first, first + 1, first + 2, first + 3),
      { message: first + 4, problem: 7, parent: first + 1, position: 2 },
      { message: first + 5, problem: 7, parent: first + 4, position: 3 },
    ];
    const rule = (tests: number): string => `${words(1, 0)}, ${words(1, tests)}`;
    const { turn1PassAt2, turn2PassAt1, turn2PassAt2, turn2PassAt3 } = measureTurnLevels(
      [13, 15, 23, 25].map((leaf) => ({ leaf, rule: rule(leaf < 20 ? 4 : 0) })),
      [...node(10), ...node(20)],
      team(2),
    );
    // All four together would give 5 / 6.
    assert.deepEqual([turn1PassAt2, turn2PassAt1, turn2PassAt2, turn2PassAt3], [0, 0.5, 0.5, undefined]);
  });

  it('leave out episodes with a turn that has no score, and later turns than the fourth', () => {
    const five = path(1, 2, 3, 4, 5, 6, 7, 8, 9, 10);
    const all = Array.from({ length: 5 }, () => words(1, 4)).join(', ');
    const keys = Object.keys(measureTurnLevels([{ leaf: 10, rule: all }], five, team(5)));
    // Five levels and pass@1 of each.
    assert.deepEqual([keys.length, keys.filter((key) => key.startsWith('turn5'))], [4 * 6, []]);
    assert.deepEqual(measureTurnLevels([{ leaf: 4, rule: `${words(1, 4)}, no-tests` }], five, team(2)), {});
  });
});

describe('a run that the ladder scores', () => {
  let bundle: Awaited<ReturnType<typeof teamFolder>>;
  before(async () => {
    bundle = await teamFolder();
  });
  after(() => bundle.remove());
  const evaluator: Evaluator = {
    name: 'ladder',
    ofTurn: (_, messages) => messages.at(-1)?.text ?? '',
    evaluate: () => Promise.resolve({ score: 0.625, rule: words(1, 4) }),
  };

  it('stores the levels of both turns with its step; other runs have none', async (t) => {
    const world = await tinyWorld(t, bundle.folder);
    const options = {
      protocol: team(2),
      overrides: ['method=magrpo', 'steps=1', 'evaluator_budget=100', 'evaluation.instances=0', 'instances_per_step=1'],
      evaluation: [],
    };
    options.overrides.push(
      'magrpo={num_agents: 2, num_turns: 2, num_generations: 2, termination_threshold: null, reward_shift: null}',
    );
    await world.start({ ...options, evaluator });
    const [step] = world.store.steps('run-1', 0, 1);
    assert.ok(step?.metrics);
    assert.deepEqual(
      Object.entries(step.metrics).filter(([key]) => key.startsWith('turn')),
      [1, 2].flatMap((turn) => [
        [`turn${turn}Total`, 0.625],
        [`turn${turn}Structure`, 1],
        [`turn${turn}Syntax`, 1],
        [`turn${turn}Tests`, 1],
        [`turn${turn}Cooperation`, 0],
        [`turn${turn}PassAt1`, 1],
        [`turn${turn}PassAt2`, 1],
      ]),
    );
    const graded: Evaluator = { name: 'other', evaluate: () => Promise.resolve({ score: 0.5, rule: words(1, 4) }) };
    await world.start({ ...options, id: 'run-2', evaluator: graded });
    const [other] = world.store.steps('run-2', 0, 1);
    assert.equal(other?.metrics?.turn1Total, undefined);
    assert.ok(other?.metrics);
  });
});
