/**
 * The rollout tree of MAGRPO against the vectors of its reference (section 14): nodes, decodings, rewards, scores and
 * updates, for both joint modes, and where a node ends.
 */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { EvaluatorBudget } from '../../../src/replay/budget.ts';
import { growJoint } from '../../../src/replay/growJoint.ts';
import { TERMINATION } from '../../../src/replay/jointTree.ts';
import { parseProtocol } from '../../../src/team/parseProtocol.ts';
import type { Protocol } from '../../../src/team/protocol.ts';
import { renderPlain } from '../../../src/team/render.ts';
import { messagesPerTurn } from '../../../src/team/rounds.ts';
import { readConfig } from '../../../src/training/config/readConfig.ts';
import { creditNode, countTree } from '../../../src/training/methods/joint.ts';
import { getMethod, listMethodRemarks } from '../../../src/training/methods/methods.ts';
import { NodesOfTurns } from '../../../src/training/stageMessages.ts';
import { problems, NEVER, SAMPLING, ScriptedPolicy } from '../replay/helpers.ts';
import {
  teamOf,
  type Vector,
  configOf,
  grown,
  rowsOf,
  near,
  updatesOf,
  rootCredits,
  centered,
  leftOut,
} from './jointTeam.ts';

/** Nodes, decodings of all roles, reward calls, transitions, optimizer steps. */
type Counts = readonly [number, number, number, number, number];

/** Section 14: counts, root scores per role, expected return of the first turn. */
const VECTORS: readonly (readonly [Vector, Counts, readonly number[], number])[] = [
  [{ n: 2, g: 4, t: 1, mode: 'align' }, [1, 2 * 4, 4, 0, 2], [0, 0.2, 0.4, 0.6], 0.3],
  [{ n: 2, g: 4, t: 2, mode: 'align' }, [5, 10 * 4, 20, 4, 10], [0.27, 0.47, 0.67, 0.87], 0.57],
  [{ n: 2, g: 4, t: 1, mode: 'cross' }, [1, 2 * 4, 16, 0, 2], [0.6, 1.0, 1.4, 1.8], 0.3],
  [{ n: 2, g: 2, t: 2, mode: 'cross' }, [5, 10 * 2, 20, 4, 10], [0.28, 0.48], 0.19],
  [{ n: 2, g: 3, t: 2, mode: 'align' }, [4, 8 * 3, 12, 3, 8], [0.18, 0.38, 0.58], 0.38],
  [{ n: 2, g: 3, t: 3, mode: 'align' }, [13, 26 * 3, 39, 12, 26], [0.342, 0.542, 0.742], 0.542],
  [{ n: 1, g: 4, t: 2, mode: 'align' }, [5, 5 * 4, 20, 4, 5], [0.135, 0.235, 0.335, 0.435], 0.285],
  [{ n: 2, g: 4, t: 2, mode: 'align', threshold: 0.2 }, [1, 2 * 4, 4, 0, 2], [0, 0.2, 0.4, 0.6], 0.3],
  [{ n: 2, g: 4, t: 2, mode: 'align', threshold: 0.31 }, [5, 10 * 4, 20, 4, 10], [0.27, 0.47, 0.67, 0.87], 0.57],
];

describe('the rollout tree has the counts and scores of its reference', () => {
  for (const [vector, [nodes, decodings, rewards, transitions, steps], scores, expected] of VECTORS) {
    it(JSON.stringify(vector), async () => {
      const made = await grown(vector);
      const perTurn = messagesPerTurn(made.protocol);
      const { rows, ids } = rowsOf(made.roots);
      const found = new NodesOfTurns(rows, perTurn);
      const actions = [...ids.keys()].filter(({ position }) => position % perTurn === perTurn - 1);
      const continued = actions.filter(({ children }) => children.length > 0);
      const updates = await updatesOf('magrpo', made, found.upward);
      assert.deepEqual(
        [found.upward.length, made.policy.requests.length, actions.length, continued.length, updates.length],
        [nodes, decodings, rewards, transitions, steps],
      );
      for (const credits of rootCredits(made)) {
        near(credits, centered(scores));
      }
      for (const credits of rootCredits(made, 'c3')) {
        near(credits, leftOut(scores));
      }
      const magrpo = made.config.magrpo ?? assert.fail();
      const values = creditNode(made.roots, magrpo, 'magrpo', new Map()).map((value) => value ?? NaN);
      near([values.reduce((sum, value) => sum + value, 0) / values.length], [expected]);
      if (vector.threshold === undefined) {
        assert.deepEqual(countTree(magrpo, vector.t), {
          nodes,
          jointActions: rewards,
          leaves: vector.g ** (vector.mode === 'cross' ? vector.n * vector.t : vector.t),
          messages: decodings,
          transitions,
          optimizerSteps: steps,
        });
      }
    });
  }

  it('calls the evaluator once for each joint action where one role is scored', async () => {
    assert.equal((await grown({ n: 2, g: 2, t: 2, mode: 'cross' }, ['main'])).calls, 20);
    assert.equal((await grown({ n: 2, g: 3, t: 3, mode: 'align' }, ['main'])).calls, 39);
  });

  it('reduces by the mean to credits that are G^(N-1) times as small', async () => {
    const [sum, mean] = [
      await grown({ n: 3, g: 3, t: 1, mode: 'cross' }),
      await grown({ n: 3, g: 3, t: 1, mode: 'cross', reduce: 'mean' }),
    ];
    for (const [role, credits] of rootCredits(sum).entries()) {
      near(credits, rootCredits(mean)[role]?.map((value) => 9 * value) ?? []);
      near(rootCredits(mean)[role] ?? [], [-0.1, 0, 0.1]);
    }
  });

  it('reuses the messages of a node in all its combinations, and shares none between nodes', async () => {
    const { roots } = await grown({ n: 2, g: 3, t: 2, mode: 'cross' });
    const mains = roots.map(({ children }) => children.map(({ streamKey }) => streamKey));
    assert.equal(new Set(mains.map((keys) => keys.join())).size, 1);
    const messages = roots.flatMap(({ children }) => children.map((action) => action.children));
    assert.equal(new Set(messages.flat().map(({ streamKey }) => streamKey)).size, messages.length * 3);
  });
});

describe('a node whose mean processed reward is above the threshold', () => {
  it('ends with an event that says so; one at the threshold goes on', async () => {
    // The mean of 0, 0.2, 0.4 and 0.6 in binary fractions is above 0.3.
    for (const [threshold, shift, ends] of [
      [0.2, null, true],
      [0.3, null, true],
      [0.31, null, false],
      [-3.8, -4, true],
      [-3.69, -4, false],
    ] as const) {
      const made = await grown({ n: 2, g: 4, t: 2, mode: 'align', threshold, ...(shift !== null && { shift }) });
      const lasts = made.roots.flatMap(({ children }) => children);
      const events = lasts.map(({ after }) => after?.map(({ event }) => event.source) ?? []);
      assert.deepEqual(
        events,
        lasts.map(() => (ends ? [TERMINATION] : [])),
        String(threshold),
      );
    }
  });

  it('ends alone: other branches go on, and their rewards stay comparable', async () => {
    const config = configOf({ n: 1, g: 2, t: 3, mode: 'align', threshold: 0.35 });
    const protocol = teamOf(1, config, ['aux']);
    const [rollout] = getMethod('magrpo').plan(config, protocol, 0);
    const roots = await growJoint(
      {
        protocol,
        render: renderPlain,
        policy: new ScriptedPolicy(({ context }) => (context.includes('#high') ? '#high' : '#low')),
        evaluator: {
          name: 'levels',
          evaluate: (_, text) => Promise.resolve({ score: text === '#high' ? 0.5 : 0.1, rule: 'levels' }),
        },
        budget: new EvaluatorBudget(1000),
        sampling: SAMPLING,
        seed: 0,
        scope: 'iteration:1',
        commonRandomNumbers: true,
      },
      problems(2).map((problem, index) => ({
        problem: { ...problem, question: index === 0 ? '#low?' : '#high?' },
        message: null,
      })),
      rollout?.joint ?? assert.fail(),
      NEVER,
    );
    assert.deepEqual(
      roots.map(({ children }) => children.length),
      [2, 2, 0, 0],
    );
  });
});

it('what a tree costs is said before a run', () => {
  const config = configOf({ n: 2, g: 4, t: 2, mode: 'cross' });
  const [first] = listMethodRemarks(config, teamOf(2, config, ['main']));
  assert.equal(
    first,
    'The tree of a problem has up to 17 nodes in 2 turns, 272 joint actions and 256 leaves: 136 sampled messages, 34 optimizer steps.',
  );
});

it('a threshold that no node passes, or each, is said before a run, and one that rewards decide on is not', () => {
  const said = (g: Omit<Vector, 'n' | 'mode'>, processing: object): string | undefined => {
    const config = configOf({ n: 2, mode: 'align', ...g });
    const magrpo = { ...(config.magrpo ?? assert.fail()), ...processing };
    return listMethodRemarks({ ...config, magrpo }, teamOf(2, config, ['main'])).find((one) =>
      one.includes('threshold'),
    );
  };
  const points = { reward_processor: { enabled: true, scale_factor: 4 }, reward_shift: -4 };
  assert.equal(
    said({ g: 2, t: 2, threshold: 1.5 }, {}),
    'magrpo.termination_threshold is 1.5, and no processed reward is above 1, so no node ends early; write a smaller one, or null.',
  );
  // Strictly above: at the ceiling nothing ends either.
  assert.match(said({ g: 2, t: 2, threshold: 0 }, points) ?? '', /is 0, and no processed reward is above 0,/);
  // The shift of the scripts without their scale: rewards end at -3.
  assert.match(said({ g: 2, t: 2, threshold: -0.2 }, { reward_shift: -4 }) ?? '', /is above -3,/);
  // The threshold of the scripts without their shift: rewards begin at 0.
  assert.equal(
    said({ g: 2, t: 2, threshold: -0.2 }, {}),
    'magrpo.termination_threshold is -0.2, and no processed reward is below 0, so every node ends after its first turn; write a larger one, or null.',
  );
  assert.equal(said({ g: 2, t: 2, threshold: 0 }, {}), undefined);
  assert.equal(said({ g: 2, t: 2, threshold: -0.2 }, points), undefined);
  assert.equal(said({ g: 2, t: 1, threshold: 1.5 }, {}), undefined);
});

describe('a configuration that cannot be', () => {
  const faultOf = (protocol: Protocol, overrides: readonly string[]): string | null =>
    getMethod('magrpo').fault(readConfig('', 'x', ['method=magrpo', 'evaluator_budget=64', ...overrides]), protocol);
  const config = configOf({ n: 2, g: 2, t: 2, mode: 'align' });
  const pair = teamOf(2, config, ['main']);
  it('is refused in one sentence', () => {
    assert.throws(
      () => readConfig('', 'x', ['method=magrpo', 'magrpo.num_generations=1']),
      /at least 2: one message has/,
    );
    assert.throws(
      () => readConfig('', 'x', ['method=mappo', 'magrpo.num_turns=2']),
      /belongs to method c3, magrpo; omit it/,
    );
    assert.throws(
      () => readConfig('', 'x', ['method=magrpo', 'magrpo.num_turns=2', 'ppo.epochs=2']),
      /must be 1, and ppo.mini_batches too/,
    );
    assert.match(faultOf(pair, ['magrpo.num_agents=3']) ?? '', /num_agents is 3, and a turn .* has 2 messages/);
    assert.match(faultOf(pair, ['magrpo.num_generations=9']) ?? '', /up to 90 evaluator calls .* \(64\)/);
    const list = parseProtocol(
      '[{"role": "a", "prompt": "A."}, {"role": "b", "prompt": "B.", "depends_on": ["a"]}]',
      'l',
    );
    assert.match(faultOf(list, ['magrpo.num_turns=2']) ?? '', /num_turns is 2, and the protocol l has no rounds/);
    assert.match(faultOf(list, ['magrpo.joint_mode=cross']) ?? '', /some roles see others; choose align/);
    const closed = parseProtocol(
      '{"name": "closed", "roles": [{"role": "a", "prompt": "A."}, {"role": "b", "prompt": "B."}], "rounds": {"turns": 2, "closing": "join"}}',
      'closed',
    );
    assert.match(faultOf(closed, ['magrpo.num_generations=2']) ?? '', /needs a reward in every turn/);
    assert.equal(faultOf(pair, ['magrpo.num_generations=2']), null);
  });
});
