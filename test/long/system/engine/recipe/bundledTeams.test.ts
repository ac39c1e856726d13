import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { findBundledProtocol, findBundledTeam, findSmallTeam } from '../../../../../src/engine/places.ts';
import { parseRecipeProtocol, readRecipe, type Recipe } from '../../../../../src/engine/recipe/recipe.ts';
import { loadTokenizer } from '../../../../../src/policy/tokenizer.ts';
import { loadModel, parameterCount } from '../../../../../src/runtime/model/model.ts';
import { TEAM_SIZES, TEAM_TASKS, type TeamTask } from '../../../../../src/shared/runNames.ts';
import { generateSplit } from '../../../../../src/tasks/split.ts';
import { parseProtocol } from '../../../../../src/team/parseProtocol.ts';
import { requireOccurrence, requireRole } from '../../../../../src/team/protocol.ts';
import { getRunSampling } from '../../../../../src/training/config/config.ts';
import { makeDemonstrations } from '../../../../../src/training/pretrain/pretrain.ts';
import { getPretrainRecipe, makeSmallRecipe } from '../../../../../src/training/pretrain/pretrainRecipes.ts';
import { makeRevisions, type Examine } from '../../../../../src/training/pretrain/revisions.ts';
import { withTeam } from '../../../../team/speak.ts';

type Turn = readonly [role: string, scored: boolean, parents: readonly number[]];
const TURNS: Readonly<Record<TeamTask, readonly Turn[]>> = {
  arithmetic: [
    ['reasoner', false, []],
    ['actor', true, [0]],
  ],
  python: [
    ['planner', false, []],
    ['coder', true, [0]],
  ],
  dealer: [
    ['dealer', false, []],
    ['first', true, [0]],
  ],
  // A helper and a main role do not see each other.
  functions: [
    ['aux', false, []],
    ['main', true, []],
  ],
  chain: [
    ['first', false, []],
    ['second', true, [0]],
  ],
  hints: [
    ['reasoner', false, []],
    ['actor', true, [0]],
  ],
  // Their vote is scored.
  logic: [
    ['voter1', false, []],
    ['voter2', false, []],
    ['voter3', false, []],
  ],
};
const LEVELS: Readonly<Record<TeamTask, number>> = {
  arithmetic: 8,
  python: 6,
  dealer: 8,
  functions: 4,
  logic: 6,
  chain: 4,
  hints: 3,
};
/** What chooses a task with its team. */
const chosen = (task: TeamTask): string[] => [
  `task.name=${task}`,
  ...(task === 'logic' ? ['task.roles=3', 'method=ccpo'] : []),
];

const recipeOf = (...overrides: string[]): Promise<Recipe> => readRecipe(null, overrides, import.meta.dirname);
const problemsOf = (task: TeamTask, count: number): ReturnType<typeof generateSplit>['evaluation'] =>
  generateSplit({
    task,
    seed: 'bundled',
    train: 0,
    evaluation: count,
    levels: Array.from({ length: LEVELS[task] }, () => 1),
  }).evaluation;

describe('`bundled` in a configuration', () => {
  it('is the team of the bundled task', async () => {
    for (const [overrides, folder] of [
      [[], 'team'],
      [['task.name=arithmetic'], 'team'],
      [['task.name=python'], 'team-python'],
      [['task.name=dealer'], 'team-dealer'],
      [['task.name=functions'], 'team-functions-turns'],
      [['task.name=logic', 'task.roles=3', 'method=ccpo'], 'team-logic'],
      [['task.name=chain'], 'team-chain'],
      [['task.name=hints'], 'team-hints'],
    ] as const) {
      const { modelFolder, protocolSource } = await recipeOf(...overrides);
      assert.equal(modelFolder, join(import.meta.dirname, '../../../../../media', folder));
      assert.equal(protocolSource, join(modelFolder, 'protocol.json'));
    }
  });

  it('has a smaller one beside it, for the run and for a role', async () => {
    const logic = ['task.name=logic', 'task.roles=3', 'method=ccpo'];
    const { modelFolder, protocolText } = await recipeOf(...logic, 'model=bundled-small');
    assert.equal(modelFolder, join(import.meta.dirname, '../../../../../media/team-logic-small'));
    assert.match(protocolText, /voter3/u);
    assert.deepEqual((await recipeOf(...logic, 'policies={voter3: {model: bundled-small}}')).config.policies, {
      voter3: { kind: 'model', model: 'bundled-small' },
    });
    const example = join(import.meta.dirname, '../../../../../media/examples/logic-sizes.c3.yaml');
    assert.deepEqual((await readRecipe(example, [], import.meta.dirname)).config.policies, {
      voter3: { kind: 'model', model: 'bundled-small' },
    });
    await assert.rejects(recipeOf('model=bundled-small'), /bundled-small comes with the task logic alone/u);
    await assert.rejects(
      recipeOf('policies={actor: {model: bundled-small}}'),
      /policies\.actor\.model: bundled-small comes with the task logic alone, not with arithmetic/u,
    );
  });

  it('is chosen for model and protocol apart', async () => {
    const { modelFolder, protocolText } = await recipeOf('task.name=python', 'model=../../runtime');
    assert.equal(modelFolder, join(import.meta.dirname, '../../runtime'));
    assert.match(protocolText, /planner/u);
    const arithmetic = join(findBundledTeam('arithmetic'), 'protocol.json');
    const other = await recipeOf('task.name=python', `protocol=${arithmetic}`);
    assert.deepEqual([other.modelFolder, other.protocolSource], [findBundledTeam('python'), arithmetic]);
  });
});

for (const task of TEAM_TASKS) {
  describe(`the bundled team of ${task}`, () => {
    it("loads: small weights of the recipe's architecture, a tokenizer of their vocabulary, roles of which the last or the vote is scored", async () => {
      const folder = findBundledTeam(task);
      const { config, parameters } = await loadModel(folder);
      const tokenizer = await loadTokenizer(folder);
      assert.deepEqual(config, { ...getPretrainRecipe(task).architecture, vocabularySize: tokenizer.vocabularySize });
      assert.ok(parameterCount(config) < 3.7e6 && parameters.every(Number.isFinite));
      const protocol = parseRecipeProtocol(await recipeOf(...chosen(task)));
      assert.deepEqual(
        protocol.occurrences.map(({ role, scored, parents }) => [role, scored, parents]),
        TURNS[task],
      );
    });

    it('has a log with one line for each step of its recipe, but for one phase', async () => {
      const lines = (await readFile(join(findBundledTeam(task), 'pretrain.log.jsonl'), 'utf8')).trim().split('\n');
      const { phases } = getPretrainRecipe(task);
      const steps = phases.reduce((sum, phase) => sum + phase.steps, 0);
      // The log of the first phase of functions was not kept.
      const count = task === 'functions' ? steps - (phases[0]?.steps ?? 0) : steps;
      assert.deepEqual(
        lines.map((line) => /^\{"step":(\d+),"loss":[\d.e-]+,/u.exec(line)?.[1]),
        Array.from({ length: count }, (_, index) => String(steps - count + index + 1)),
      );
    });

    it('has room for every demonstration: contexts in its positions, messages in what its roles may say', async () => {
      const recipe = await recipeOf(...chosen(task));
      // The largest team: its first roles are those of the smaller ones.
      const source = findBundledProtocol(task, Math.max(...TEAM_SIZES[task]));
      const protocol = parseProtocol(await readFile(source, 'utf8'), source);
      const tokenizer = await loadTokenizer(findBundledTeam(task));
      const { maxPositions } = getPretrainRecipe(task).architecture;
      for (const problem of problemsOf(task, 400)) {
        for (const share of [0, 1]) {
          for (const [position, { prompt, messages }] of makeDemonstrations(
            problem,
            { short: share, long: share },
            protocol,
            tokenizer,
          ).entries()) {
            // What the last role says alone comes after what all say.
            const place = Math.min(position, protocol.occurrences.length - 1);
            const most = requireRole(protocol, requireOccurrence(protocol, place).role).maxNewTokens ?? 0;
            // The last token of a message ends it and is sampled too.
            const length = messages[0]?.tokens.length ?? Infinity;
            assert.ok(
              length <= Math.min(most, getRunSampling(recipe.config).maxNewTokens),
              `${problem.question}: ${length} tokens`,
            );
            assert.ok(prompt.length + most <= maxPositions);
          }
        }
      }
    });
  });
}

/** A function of two lines with the question's own name and arguments, its brackets closed. */
function wellFormed(code: string, question: string): boolean {
  const [, signature = '', helper = '', use = ''] =
    /^def (\w+\([\w, ]+\)):\n {4}h = (.+)\n {4}return (.+)$/u.exec(code) ?? [];
  return signature !== '' && question.includes(signature) && [helper, use].every(closed);
}

function closed(expression: string): boolean {
  const open: string[] = [];
  for (const character of expression.replaceAll(/'[^']*'/gu, '')) {
    if ('(['.includes(character)) {
      open.push(character);
    } else if (character === ')' && open.pop() !== '(') {
      return false;
    } else if (character === ']' && open.pop() !== '[') {
      return false;
    }
  }
  return open.length === 0;
}

describe('greedy messages', () => {
  it('of the Python team are a helper line, and a function that begins with it', async () => {
    const problems = problemsOf('python', 12);
    await withTeam('python', findBundledTeam('python'), undefined, async (speak) => {
      const plans = await speak(
        0,
        problems.map((problem) => ({ problem, plan: '', sibling: 0 })),
        0,
      );
      const codes = await speak(
        1,
        problems.map((problem, index) => ({ problem, plan: plans[index] ?? '', sibling: 0 })),
        0,
      );
      const whole = codes.filter(
        (code, index) =>
          wellFormed(code, problems[index]?.question ?? '') && code.includes(`\n    ${plans[index] ?? ''}\n`),
      );
      assert.ok(
        plans.every((plan) => /^h = .+$/u.test(plan)),
        plans.join('\n'),
      );
      assert.ok(whole.length >= 9, codes.join('\n\n'));
    });
  });

  it('of the arithmetic team are a chain of operations, and an answer on a line of its own', async () => {
    const problems = problemsOf('arithmetic', 12);
    await withTeam('arithmetic', findBundledTeam('arithmetic'), undefined, async (speak) => {
      const plans = await speak(
        0,
        problems.map((problem) => ({ problem, plan: '', sibling: 0 })),
        0,
      );
      const answers = await speak(
        1,
        problems.map((problem, index) => ({ problem, plan: plans[index] ?? '', sibling: 0 })),
        0,
      );
      assert.ok(plans.filter((plan) => /^\d+(?:[-+*/]\d+)+$/u.test(plan)).length >= 9, plans.join('\n'));
      assert.ok(answers.filter((answer) => /(?:^|\n)#### -?\d+$/u.test(answer)).length >= 9, answers.join('\n\n'));
    });
  });
});

for (const task of ['dealer', 'chain'] as const) {
  it(`the bundled teams of ${task} are chains: each role sees all before it, the last is scored, and the first are the same`, async () => {
    const teamOf = async (size: number): Promise<ReturnType<typeof parseRecipeProtocol>> => {
      const fanout = JSON.stringify(Array.from({ length: size }, () => 1));
      return parseRecipeProtocol(await recipeOf(`task.name=${task}`, `task.roles=${size}`, `fanout=${fanout}`));
    };
    const largest = await teamOf(Math.max(...TEAM_SIZES[task]));
    for (const size of TEAM_SIZES[task]) {
      const { roles, occurrences } = await teamOf(size);
      assert.deepEqual(roles, largest.roles.slice(0, size));
      assert.deepEqual(
        occurrences.map(({ ancestors, scored }) => [ancestors.length, scored]),
        Array.from({ length: size }, (_, position) => [position, position === size - 1]),
      );
    }
  });
}

describe('the bundled teams of dealer', () => {
  it('have no other size', async () => {
    await assert.rejects(
      recipeOf('task.name=dealer', 'task.roles=5'),
      /5 is not a size of the bundled team of dealer/u,
    );
    await assert.rejects(recipeOf('task.name=python', 'task.roles=3'), /it has 2 roles/u);
  });
});

describe('the bundled team of logic', () => {
  it('has one voter alone too, asked as in the vote, and says which sizes there are', async () => {
    const [three, alone] = [
      parseRecipeProtocol(await recipeOf(...chosen('logic'))),
      parseRecipeProtocol(await recipeOf('task.name=logic', 'task.roles=1', 'fanout=[8]')),
    ];
    assert.deepEqual(alone.roles, three.roles.slice(0, 1));
    assert.equal(alone.occurrences[0]?.scored, true);
    await assert.rejects(
      recipeOf('task.name=logic'),
      /2 is not a size of the bundled team of logic; it has 3, 1 roles/u,
    );
  });

  it('comes in a smaller size, with about half of the weights, the same tokenizer and a log of its own', async () => {
    const [large, small] = await Promise.all(
      [findBundledTeam('logic'), findSmallTeam('logic')].map((folder) => loadModel(folder)),
    );
    const tokenizer = await readFile(join(findSmallTeam('logic'), 'tokenizer.json'), 'utf8');
    assert.equal(tokenizer, await readFile(join(findBundledTeam('logic'), 'tokenizer.json'), 'utf8'));
    const { vocabularySize } = large?.config ?? { vocabularySize: 0 };
    assert.deepEqual(small?.config, { ...makeSmallRecipe('logic').architecture, vocabularySize });
    const [most = 0, fewer = 0] = [large, small].map((model) =>
      model === undefined ? 0 : parameterCount(model.config),
    );
    assert.ok(fewer > 0.4 * most && fewer < 0.6 * most, `${fewer} of ${most}`);
    const lines = (await readFile(join(findSmallTeam('logic'), 'pretrain.log.jsonl'), 'utf8')).trim().split('\n');
    assert.equal(lines.length, 3060);
  });

  it('answers greedily with a letter, after its steps or at once', async () => {
    const problems = problemsOf('logic', 24);
    await withTeam('logic', findBundledTeam('logic'), undefined, async (speak) => {
      const answers = await speak(
        0,
        problems.map((problem) => ({ problem, plan: '', sibling: 0 })),
        0,
      );
      assert.ok(
        answers.filter((answer) => /^(?:so [\w ]+ thus [\w ]+\n)?#### [A-D]$/u.test(answer)).length >= 22,
        answers.join('\n\n'),
      );
    });
  });
});

describe('the bundled team of functions', () => {
  it('has a main role alone too, with what it is asked in the pair', async () => {
    const [pair, alone] = [
      parseRecipeProtocol(await recipeOf('task.name=functions')),
      parseRecipeProtocol(await recipeOf('task.name=functions', 'task.roles=1', 'fanout=[4]')),
    ];
    assert.deepEqual(alone.roles, pair.roles.slice(1));
    assert.deepEqual(alone.rounds?.history, pair.rounds?.history);
  });

  it('loses what it solves where the helper says nothing', async () => {
    const problems = problemsOf('functions', 24);
    const bare = problems.map((problem) => ({ problem, plan: '', sibling: 0 }));
    await withTeam('functions', findBundledTeam('functions'), undefined, async (speak) => {
      const [helpers, mains] = [await speak(0, bare, 0), await speak(1, bare, 0)];
      const defined = helpers.filter((text) => /^def aux\([\w, ]+\):\n {4}\w/u.test(text));
      const calling = mains.filter((text) => /^def \w+\([\w, ]+\):\n {4}h = aux\(/u.test(text));
      assert.ok(defined.length >= 20, helpers.join('\n\n'));
      assert.ok(calling.length >= 20, mains.join('\n\n'));
    });
  });

  it('writes right functions after feedback on drafts with slips', async () => {
    const path = findBundledProtocol('functions', 2);
    const protocol = parseProtocol(await readFile(path, 'utf8'), path, { turns: 2 });
    const failed: Examine = ({ tests }, program) => {
      const part = { source: program, returns: true };
      const usage = { called: true, used: true, wrapper: false };
      const outcome = { source: tests?.test.split('\n')[1]?.trim() ?? '', passed: false, detail: 'AssertionError: ' };
      const entryPoint = tests?.entryPoint ?? '';
      return Promise.resolve({
        entryPoint,
        helper: part,
        main: part,
        syntax: null,
        usage,
        tests: [outcome],
        testCount: 1,
      });
    };
    const problems = problemsOf('functions', 16);
    const shown = await Promise.all(problems.map((problem) => makeRevisions(problem, protocol, failed)));
    await withTeam('functions', findBundledTeam('functions'), undefined, async (speak) => {
      for (const position of [0, 1]) {
        const asked = problems.map((problem, index) => ({
          problem,
          plan: '',
          sibling: 0,
          context: shown[index]?.[position]?.context ?? '',
        }));
        const answers = await speak(position, asked, 0);
        const right = answers.filter((answer, index) => answer === shown[index]?.[position]?.message);
        // Other texts may be right too; a team that never read feedback has none.
        assert.ok(right.length >= 8, answers.join('\n\n'));
      }
    });
  });
});
