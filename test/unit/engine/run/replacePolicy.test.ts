/** What `c3 replace` makes of a run, a role and a source, and what a run that begins so is refused for. */

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, it } from 'node:test';
import { TextPool } from '../../../../src/engine/models/texts.ts';
import { parseRecipe, parseRecipeProtocol, readRecipe, type Recipe } from '../../../../src/engine/recipe/recipe.ts';
import { planRun } from '../../../../src/engine/run/plan.ts';
import { prepareBeginning } from '../../../../src/engine/run/prepareBeginning.ts';
import { prepareRun } from '../../../../src/engine/run/prepareRun.ts';
import { createReplacementRun } from '../../../../src/engine/run/replacePolicy.ts';
import type { EarlierSnapshot } from '../../../../src/engine/session/earlier.ts';
import { C3Error } from '../../../../src/shared/errors.ts';
import type { ReplaceParams } from '../../../../src/shared/protocols/engineProtocol.ts';

const never = new AbortController().signal;
const texts = new TextPool();
const RUN = ['method=teamtr', 'task={name: chain, roles: 2}', 'adapter={per: role, rank: 2}', 'steps=2'] as const;
let folder = '';
let stored = '';
before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'c3-replace-'));
  for (const [name, file] of [
    ['adapter', 'adapter_config.json'],
    ['model', 'config.json'],
  ] as const) {
    mkdirSync(join(folder, name));
    writeFileSync(join(folder, name, file), '{}');
  }
  stored = await storedRun(...RUN);
});
after(() => rmSync(folder, { recursive: true, force: true }));

function recipeOf(...overrides: readonly string[]): Promise<Recipe> {
  return readRecipe(null, overrides, folder);
}

/** The row of a run as preparing it writes it. */
async function storedRun(...overrides: readonly string[]): Promise<string> {
  const nothing = (): EarlierSnapshot => assert.fail('It begins with its model.');
  return (await prepareRun({ texts, earlier: nothing }, await recipeOf(...overrides), null, never)).stored({});
}

const store = {
  runConfig: (id: string): string => {
    if (!['run-1', 'run-2'].includes(id)) {
      throw new C3Error('input', `There is no run ${id}.`);
    }
    return stored;
  },
};

const LOGIC = ['method=teamtr', 'task={name: logic, roles: 3}', 'adapter={per: role, rank: 2}', 'steps=2'] as const;

const asked = (given: Partial<ReplaceParams>) =>
  createReplacementRun(store, {
    run: 'run-1',
    role: 'second',
    source: 'base',
    strategy: 'align',
    overrides: ['steps=5'],
    folder,
    ...given,
  });

it('begins with the team of the run and the settings that it had, but for what is changed', async () => {
  const begin = async (given: Partial<ReplaceParams>) => {
    const { config, overrides, folder: place = '' } = asked(given);
    return (await readRecipe(config, overrides, place)).config;
  };
  const earlier = (await recipeOf(...RUN)).config;
  const { begin: begun, title, steps, policies, ...rest } = await begin({});
  const { begin: _, title: before, steps: two, policies: none, ...same } = earlier;
  assert.deepEqual([rest, steps, two, policies, none], [same, 5, 2, undefined, undefined]);
  assert.equal(title, `${before}, second replaced after stage 0`);
  assert.deepEqual([begun?.run, begun?.replace?.role, begun?.replace?.align], ['run-1', 'second', true]);
  assert.deepEqual([begun?.replace?.with, begun?.replace?.from], [null, null]);

  const direct = (await begin({ source: 'adapter', strategy: 'direct' })).begin?.replace;
  assert.deepEqual([direct?.with, direct?.align], [join(folder, 'adapter'), false]);
  const from = (await begin({ source: 'run-2:7:first' })).begin?.replace?.from;
  assert.deepEqual(from, { run: 'run-2', snapshot: '7', role: 'first' });
  const model = await begin({ source: 'model', strategy: 'direct' });
  assert.deepEqual(model.begin, { run: 'run-1', snapshot: null, replace: null });
  assert.deepEqual(model.policies, { second: { kind: 'model', model: join(folder, 'model') } });
  const retrained = await begin({ strategy: 'retrain' });
  assert.deepEqual([retrained.begin, retrained.seed], [null, earlier.seed + 1]);
  assert.equal((await begin({ strategy: 'retrain', overrides: ['seed=7'] })).seed, 7);
});

it('knows the smaller model of a task by its name, in the place of a trained policy', async () => {
  const logic = await storedRun(...LOGIC);
  const { config, overrides } = createReplacementRun(
    { runConfig: () => logic },
    { run: 'run-1', role: 'voter3', source: 'bundled-small', strategy: 'direct', overrides: [], folder },
  );
  const begun = (await readRecipe(config, overrides, folder)).config;
  assert.deepEqual(begun.policies, { voter3: { kind: 'model', model: 'bundled-small' } });
  assert.deepEqual(begun.begin, { run: 'run-1', snapshot: null, replace: null });
  assert.throws(
    () => asked({ source: 'bundled-small' }),
    /^C3Error: bundled-small is another model, .* cannot align it/u,
  );
  // The chain task has no smaller model, and no model is an adapter.
  const other = asked({ source: 'bundled-small', strategy: 'direct' });
  await assert.rejects(readRecipe(null, other.overrides, folder), /bundled-small comes with the task logic alone/u);
  await assert.rejects(
    recipeOf(...LOGIC, 'begin={run: run-1, replace: {role: voter3, with: bundled-small}}'),
    /has a model in replace\.with, where an adapter belongs; .*: omit replace, and write policies: \{voter3: \{model: bundled-small\}\}\./u,
  );
});

it('says in one sentence what does not go together', () => {
  const sentences: readonly (readonly [Partial<ReplaceParams>, RegExp])[] = [
    [{ role: 'third' }, /^Run run-1 has no role "third"; it has first, second\.$/u],
    [{ source: 'nowhere' }, /^"nowhere" is neither a folder nor a run of this store; write base,/u],
    [{ source: '.' }, /has neither an adapter_config\.json nor a config\.json;/u],
    [{ source: 'model' }, /is another model, which answers without learning: stage 0 cannot align it;/u],
    [{ source: 'run-2', strategy: 'retrain' }, /^Retraining begins with the model, so it cannot use a trained policy/u],
    [
      { source: 'adapter', strategy: 'retrain' },
      /^Retraining begins with the model, so it cannot use a trained policy/u,
    ],
  ];
  for (const [given, message] of sentences) {
    assert.throws(() => asked(given), { name: 'C3Error', kind: 'input', message });
  }
});

it('refuses a team that speaks another protocol, and names what differs', async () => {
  const begin = 'begin={run: run-1, replace: {role: second}}';
  const prepared = async (change: (recipe: ReturnType<typeof parseRecipe>) => object) => {
    const recipe = parseRecipe(stored, 'run-1');
    const earlier = (run: string) => ({ run, snapshot: 'x', recipe: { ...recipe, ...change(recipe) } });
    return prepareRun({ texts, earlier }, await recipeOf(...RUN, begin), null, never);
  };
  assert.equal((await prepared(() => ({}))).beginning?.run, 'run-1');
  const template = { path: 'p', text: 't', variables: {}, thinking: false };
  const cases: readonly (readonly [Parameters<typeof prepared>[0], RegExp])[] = [
    [({ rendering }) => ({ rendering: { ...rendering, template } }), /had another chat template than this one;/u],
    [({ rendering }) => ({ rendering: { ...rendering, controls: ['<x>'] } }), /had other control tokens than this/u],
    [
      ({ protocolText }) => ({ protocolText: protocolText.replaceAll(/"prompt": "[^"]*/gu, '"prompt": "Otherwise.') }),
      /had another system prompt for the role second than this one;/u,
    ],
    [({ config }) => ({ config: { ...config, adapter: null } }), /had adapters of other owners than this one;/u],
  ];
  for (const [change, message] of cases) {
    await assert.rejects(prepared(change), { kind: 'input', message });
  }
  // One template, with and without a reasoning part.
  const before = parseRecipe(stored, 'run-1');
  const spoken = await recipeOf(...RUN, begin);
  const from = async (thinking: boolean) => {
    const rendering = before.rendering ?? assert.fail();
    const recipe = { ...before, rendering: { ...rendering, template: { ...template, thinking } } };
    return prepareBeginning(spoken, {
      texts,
      protocol: parseRecipeProtocol(before),
      fingerprint: before.fingerprint ?? assert.fail(),
      rendering: { ...rendering, template },
      tokenizer: await texts.tokenizer(spoken.modelFolder, never),
      data: { train: [], evaluation: [] },
      find: (run) => ({ run, snapshot: 'x', recipe }),
      signal: never,
    });
  };
  assert.equal((await from(false))?.run, 'run-1');
  await assert.rejects(from(true), {
    kind: 'input',
    message: 'begin.run: Run run-1 had other reasoning tags than this one; set chat.thinking to the value of that run.',
  });
  // Another file of the tokenizer is no other tokenizer where it splits the questions as this one does.
  const same = ({ fingerprint }: ReturnType<typeof parseRecipe>) => ({
    fingerprint: { ...fingerprint, tokenizer: '0' },
  });
  assert.equal((await prepared(same)).beginning?.run, 'run-1');
  const { modelFolder } = await recipeOf('task.name=python');
  await assert.rejects(
    prepared((recipe) => ({ ...same(recipe), modelFolder })),
    /had another tokenizer in .*, which splits \d+ of \d+ texts differently, than this one; use the model/u,
  );
});

it('plans stage 0 and the evaluations of the swap', async () => {
  const earlier = (run: string) => ({ run, snapshot: 'x', recipe: parseRecipe(stored, run) });
  const plan = async (...overrides: readonly string[]) =>
    planRun(await recipeOf(...RUN, 'evaluation.instances=10', ...overrides), { texts, earlier }, () =>
      Promise.resolve(null),
    );
  const [without, direct, stage0] = [
    await plan(),
    await plan('begin={run: run-1, replace: {role: second, probes: 7, align: false}}'),
    await plan('begin={run: run-1, replace: {role: second, probes: 7}}'),
  ];
  assert.equal(without.budget.stage0, undefined);
  // Two, and with stage 0 three teams say ten chains of two messages; seven more are probed, which are not scored.
  assert.deepEqual(direct.budget.stage0?.decisions, { first: 27, second: 27 });
  assert.deepEqual(stage0.budget.stage0?.decisions, { first: 37, second: 37 });
  assert.equal(stage0.budget.total.evaluatorCalls - without.budget.total.evaluatorCalls, 30);
});
