/**
 * Each YAML of the published scripts as it is, planned and run for two steps: the bundled team's protocol, with a tiny
 * model in place of the one that the file names, and messages of four tokens.
 */

import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { readRecipe } from '../../../../../src/engine/recipe/recipe.ts';
import { EngineService } from '../../../../../src/engine/service.ts';
import { NEVER } from '../../../../../src/shared/cancellation.ts';
import { folderOf } from '../../../../unit/golden.ts';

const TEAMS = join(import.meta.dirname, '../../../../../media/team-functions');
const FILES = ['magrpo', 'grpo'].flatMap((trainer) =>
  ['he', 'che', 'mbpp'].map((data) => `${trainer}_${data}_config.yaml`),
);

let folder = '';
let service: EngineService | null = null;
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'c3-published-'));
  cpSync(join(import.meta.dirname, '../../../../fixtures/published'), folder, { recursive: true });
  for (const name of ['protocol.json', 'protocol-1.json']) {
    const text = readFileSync(join(TEAMS, name), 'utf8');
    const short = text.replaceAll(/"max_new_tokens": \d+/gu, '"max_new_tokens": 4');
    // What a role remembers is to come from the file of the scripts.
    writeFileSync(join(folder, name), short.replace('"prompts": true', '"prompts": false'));
  }
  service = new EngineService(join(folder, 'c3.sqlite'));
});
after(async () => {
  await service?.close();
  rmSync(folder, { recursive: true, force: true });
});

describe('a YAML of the published scripts', () => {
  for (const file of FILES) {
    it(`${file} is planned and run`, async () => {
      assert.ok(service);
      const isTeam = file.startsWith('magrpo');
      const overrides = [
        `model.name=${folderOf('qwen2')}`,
        `protocol=${isTeam ? 'protocol.json' : 'protocol-1.json'}`,
        'steps=2',
        'evaluation.instances=0',
        'device.threads=1',
      ];
      const recipe = await readRecipe(file, overrides, folder);
      const {
        run,
        steps,
        decisions,
        evaluatorCalls,
        reusedEvaluations = 0,
        maskedEpisodes,
      } = await service.run(recipe, { signal: NEVER, onProgress: () => undefined });
      // Section 14 of the reference, of each of two trees with G = 4 and T = 2: 5 nodes, 20 rewards.
      assert.deepEqual(decisions, isTeam ? { aux: 2 * 5 * 4, main: 2 * 5 * 4 } : { main: 2 * 5 * 4 });
      assert.deepEqual([steps, evaluatorCalls + reusedEvaluations, maskedEpisodes], [2, 2 * 20, 0]);
      // Planned after it was run: with a pace that is known, no time goes into a trial.
      const { budget } = await service.plan(recipe);
      assert.match(budget.tree ?? '', /^The tree of a problem has up to 5 nodes in 2 turns, 20 joint actions/u);
      service.reading((store) => {
        const [episode] = store.replaysOfRun(run, 0, 1);
        const messages = store.chain(episode?.leaf ?? assert.fail());
        assert.equal(messages.length, isTeam ? 4 : 2);
        const { context } = store.fullMessage(messages.at(-1)?.id ?? assert.fail());
        assert.match(context, /Original problem and instructions:.*Revise your function/su);
      });
    });
  }
});
