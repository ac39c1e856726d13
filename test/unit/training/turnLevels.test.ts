/** What the reward ladder says of each turn of a step: its words read back, means over joint actions, a whole run. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Evaluator } from '../../../src/evaluate/evaluator.ts';
import { climb, laddersIn, ladderWords } from '../../../src/evaluate/ladder.ts';
import { parseProtocol } from '../../../src/team/parseProtocol.ts';
import type { Protocol } from '../../../src/team/protocol.ts';
import { turnLevels } from '../../../src/training/measure/turnLevels.ts';
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
  `ladder: 1 of 4 (structure ${String(structure)}, syntax 0.5, tests ${String(passed)}/4, cooperation ${String(cooperation)})`;
/** A path of messages: each follows the one before. */
const path = (...decisions: number[]): { decision: number; parent: number | null; position: number }[] =>
  decisions.map((decision, position) => ({ decision, parent: decisions[position - 1] ?? null, position }));

describe('the words of ladders', () => {
  it('are read back as shares of the points of each level', () => {
    const found = climb(
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
    const [shares, ...more] = laddersIn(ladderWords(found, 3));
    assert.deepEqual(more, []);
    // Structure 1 of 1, syntax 0.5 of 0.5, tests 2 of 3, cooperation 0.5 of 1.5: 2 2/3 of 4 points.
    assert.deepEqual(shares, { total: (2 + 2 / 3) / 4, structure: 1, syntax: 1, tests: 2 / 3, cooperation: 1 / 3 });
  });

  it('are in their order among other rules, and nowhere else', () => {
    assert.deepEqual(
      laddersIn(`${words(0.4, 1)}, no-tests, ${words(1, 3)}`).map(({ structure, tests }) => [structure, tests]),
      [
        [0.4, 0.25],
        [1, 0.75],
      ],
    );
    assert.deepEqual(laddersIn('passed, hash-line: equal numbers, ladder: none'), []);
  });
});

describe('levels by turn', () => {
  it('are means over joint actions: one that several episodes continue counts once', () => {
    // Two joint actions in turn 1 (ends 2 and 6); the first is continued twice (ends 4 and 5), the other stopped.
    const messages = [
      ...path(1, 2, 3, 4),
      { decision: 10, parent: 2, position: 2 },
      { decision: 5, parent: 10, position: 3 },
      ...path(7, 6),
    ];
    const levels = turnLevels(
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
      turn2Total: (4 + 1.1) / 2 / 4,
      turn2Structure: 0.8,
      turn2Syntax: 1,
      turn2Tests: 0.5,
      turn2Cooperation: 0.5,
    });
  });

  it('leave out episodes with a turn that has no score, and later turns than the fourth', () => {
    const five = path(1, 2, 3, 4, 5, 6, 7, 8, 9, 10);
    const all = Array.from({ length: 5 }, () => words(1, 4)).join(', ');
    const keys = Object.keys(turnLevels([{ leaf: 10, rule: all }], five, team(5)));
    assert.deepEqual([keys.length, keys.filter((key) => key.startsWith('turn5'))], [20, []]);
    assert.deepEqual(turnLevels([{ leaf: 4, rule: `${words(1, 4)}, no-tests` }], five, team(2)), {});
  });
});

describe('a run that the ladder scores', () => {
  let bundle: Awaited<ReturnType<typeof teamFolder>>;
  before(async () => {
    bundle = await teamFolder();
  });
  after(() => {
    bundle.remove();
  });
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
        [`turn${String(turn)}Total`, 0.625],
        [`turn${String(turn)}Structure`, 1],
        [`turn${String(turn)}Syntax`, 1],
        [`turn${String(turn)}Tests`, 1],
        [`turn${String(turn)}Cooperation`, 0],
      ]),
    );
    const graded: Evaluator = { name: 'other', evaluate: () => Promise.resolve({ score: 0.5, rule: words(1, 4) }) };
    await world.start({ ...options, id: 'run-2', evaluator: graded });
    const [other] = world.store.steps('run-2', 0, 1);
    assert.equal(other?.metrics?.turn1Total, undefined);
    assert.ok(other?.metrics);
  });
});
