/** A pretraining that goes on from weights that a folder holds, with problems that show a second turn. */

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { loadModel } from '../../../src/runtime/model/model.ts';
import { NEVER } from '../../../src/shared/cancellation.ts';
import { parseProtocol } from '../../../src/team/parseProtocol.ts';
import { pretrain, type PretrainPhase, type PretrainSettings } from '../../../src/training/pretrain/pretrain.ts';
import { getPretrainRecipe } from '../../../src/training/pretrain/pretrainRecipes.ts';

const TEAM = join(import.meta.dirname, '../../../media/team-functions');
const phase = (steps: number, revised: number): PretrainPhase => ({
  steps,
  levels: [1],
  hasty: { short: 0, long: 0 },
  revised,
  peak: 1e-3,
  warmupFraction: 0,
  floorFraction: 1,
});

it('keeps weights, tokenizer and log of the steps before, and does the others', async (t) => {
  const root = mkdtempSync(join(tmpdir(), 'c3-pretrain-'));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  const path = join(TEAM, 'protocol.json');
  const protocol = parseProtocol(readFileSync(path, 'utf8'), path, { turns: 2 });
  const { architecture } = getPretrainRecipe('functions');
  const examined: string[] = [];
  const settings = (work: string, more: Partial<PretrainSettings>): PretrainSettings => ({
    folder: join(root, 'team'),
    workFolder: join(root, work),
    task: 'functions',
    seed: 3,
    phases: [phase(2, 0)],
    problemsPerStep: 2,
    checkpointEvery: 10,
    vocabularySize: 300,
    architecture: {
      ...architecture,
      hiddenSize: 8,
      intermediateSize: 8,
      layers: 1,
      heads: 1,
      keyValueHeads: 1,
      headDim: 8,
    },
    device: { threads: 1 },
    examine: ({ tests, uid }, program) => {
      examined.push(uid);
      const part = { source: program, returns: true };
      const usage = { called: true, used: true, wrapper: false };
      const entryPoint = tests?.entryPoint ?? '';
      return Promise.resolve({ entryPoint, helper: part, main: part, syntax: null, usage, tests: [], testCount: 0 });
    },
    signal: NEVER,
    report: () => undefined,
    ...more,
  });
  const lines = (): string[] =>
    readFileSync(join(root, 'team', 'pretrain.log.jsonl'), 'utf8')
      .trim()
      .split('\n');
  const tokenizer = (): string => readFileSync(join(root, 'team', 'tokenizer.json'), 'utf8');

  await pretrain(settings('first', {}), protocol);
  const [before, words, weights] = [lines(), tokenizer(), (await loadModel(join(root, 'team'))).parameters];
  assert.deepEqual([before.length, examined.length], [2, 0]);

  // A rate of 0 changes nothing: what comes out is what the folder held.
  const still = { ...phase(1, 1), peak: 0 };
  await pretrain(settings('still', { phases: [phase(2, 0), still], after: 2 }), protocol);
  assert.deepEqual((await loadModel(join(root, 'team'))).parameters, weights);
  assert.deepEqual(lines().slice(0, 2), before);
  assert.equal(lines().length, 3);
  assert.equal(examined.length, 2, 'both problems of the step showed a draft that was executed');

  await pretrain(settings('second', { phases: [phase(2, 0), phase(1, 1)], after: 2 }), protocol);
  assert.notDeepEqual((await loadModel(join(root, 'team'))).parameters, weights);
  assert.deepEqual(
    lines().map((line) => /^\{"step":(\d+),/u.exec(line)?.[1]),
    ['1', '2', '3'],
  );
  assert.equal(tokenizer(), words);
});
