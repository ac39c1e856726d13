/** What section `external` makes of the rounds of a protocol. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { parseRecipe, parseRecipeProtocol, readRecipe, serializeRecipe } from '../../../src/engine/recipe/recipe.ts';
import { parseProtocol } from '../../../src/team/parseProtocol.ts';
import type { Rounds } from '../../../src/team/roundsForm.ts';
import { checkConfig } from '../../../src/training/config/checkConfig.ts';
import { getRunRounds } from '../../../src/training/config/config.ts';
import { readConfig } from '../../../src/training/config/readConfig.ts';
import { isInputError } from '../tasks/expect.ts';

const FUNCTIONS = readFileSync(join(import.meta.dirname, '../../../media/team-functions/protocol.json'), 'utf8');

function roundsOf(configuration: string, protocol = FUNCTIONS): Rounds {
  const { rounds } = parseProtocol(protocol, 'p.json', getRunRounds(readConfig(configuration, 'x')));
  assert.ok(rounds);
  return rounds;
}

const protocolWith = (rounds: object): string =>
  JSON.stringify({
    name: 'pair',
    roles: [
      { role: 'aux', prompt: 'Aux.' },
      { role: 'main', prompt: 'Main.' },
    ],
    rounds,
  });

const faults = (text: string): string[] => checkConfig(text).map(({ message }) => message);

describe('external', () => {
  it('leaves the rounds of the protocol where it is missing', () => {
    assert.deepEqual(roundsOf('magrpo: {num_turns: 2}\nmethod: magrpo\n').between, [
      { name: 'level_feedback', options: { sandbox_slice: '1' }, of: null },
    ]);
    const silent = roundsOf('', protocolWith({ turns: 2 }));
    assert.deepEqual([silent.between, silent.history], [[], undefined]);
  });

  it('has the defaults of the scripts, not those of the protocol', () => {
    const { between, history } = roundsOf('external: {}\n');
    assert.deepEqual(between, [{ name: 'level_feedback', options: { sandbox_slice: '1' }, of: null }]);
    assert.deepEqual(history, { memory: 'full', prompts: false, responses: true });
  });

  it('means each mode, slice and memory', () => {
    const read = (keys: string): unknown => roundsOf(`external: ${keys}\n`).between[0];
    for (const [given, slice] of [
      ['3', '3'],
      ['-2', '-2'],
      ['0', '0'],
      ['null', '0'],
      ['all', '0'],
    ] as const) {
      for (const mode of ['level_feedback', 'level_passed', 'passed']) {
        assert.deepEqual(read(`{mode: ${mode}, sandbox_slice: ${given}}`), {
          name: mode,
          options: { sandbox_slice: slice },
          of: null,
        });
      }
    }
    for (const [mode, options] of [
      ['plain', {}],
      ['expert_edits', { expert: 'rules' }],
    ] as const) {
      assert.deepEqual(read(`{mode: ${mode}, sandbox_slice: 3}`), { name: mode, options, of: null });
    }
    assert.deepEqual(read('{mode: expert_edits, expert_edits_model: policy}'), {
      name: 'expert_edits',
      options: { expert: 'policy' },
      of: null,
    });
    assert.deepEqual(
      roundsOf('external: {memory_mode: last, previous_prompts: true, previous_responses: false}\n').history,
      { memory: 'last', prompts: true, responses: false },
    );
  });

  it('takes the place of what is between two rounds, and leaves what comes after a turn', () => {
    const protocol = protocolWith({
      turns: 2,
      environment: [{ name: 'calculator', after: 'aux' }, 'plain'],
      history: { memory: 'last' },
    });
    const { after, between, history } = roundsOf('external: {mode: passed}\n', protocol);
    assert.deepEqual(
      [between.map(({ name }) => name), after.get(0)?.map(({ name }) => name)],
      [['passed'], ['calculator']],
    );
    assert.equal(history?.memory, 'full');
    // A protocol that asks nobody between its rounds can be given a mode too.
    assert.equal(roundsOf('external: {mode: plain}\n', protocolWith({ turns: 2 })).between[0]?.name, 'plain');
  });

  it('is stored with the run, and read from there', async () => {
    const recipe = await readRecipe(null, ['task.name=functions', 'external={mode: passed}'], import.meta.dirname);
    const fingerprint = { train: 'a', evaluation: 'b', tokenizer: 'c', template: null };
    const stored = parseRecipe(serializeRecipe(recipe, fingerprint, { template: null, controls: [] }), 'run-1');
    assert.deepEqual(
      parseRecipeProtocol(stored).rounds?.between.map(({ name }) => name),
      ['passed'],
    );
  });

  it('says what is wrong', async () => {
    assert.deepEqual(faults('external: {mode: pased}\n'), [
      'external.mode: did you mean passed? It must be one of level_feedback, level_passed, passed, plain, expert_edits.',
    ]);
    assert.deepEqual(faults('external: {sandbox_slce: 1}\n'), [
      'external.sandbox_slce: unknown key; did you mean sandbox_slice?',
    ]);
    assert.deepEqual(faults('external: {sandbox_slice: some}\n'), [
      'external.sandbox_slice: must be a whole number, below 0 to count from the end, or all.',
    ]);
    assert.match(
      faults('external: {expert_edits_model: deepseek-coder}\n').join(),
      /^external\.expert_edits_model: must .*rules/u,
    );
    assert.match(faults('external: {mode: passed}\nevaluator: math\n').join(), /^external\.mode: .*executes none/u);
    assert.deepEqual(faults('external: {mode: plain}\nevaluator: math\n'), []);
    await assert.rejects(
      readRecipe(null, ['external={}'], import.meta.dirname),
      isInputError(/external: .*has no rounds; give it rounds/u),
    );
  });
});
