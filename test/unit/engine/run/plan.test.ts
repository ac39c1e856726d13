/** Plans of whole runs: budget, advice, and what happens where they do not fit. */

import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { findAvailableMemory, readDeviceMemory } from '../../../../src/engine/machine/machineMemory.ts';
import { TextPool } from '../../../../src/engine/models/texts.ts';
import { parseRecipeProtocol, readRecipe } from '../../../../src/engine/recipe/recipe.ts';
import {
  formatMemoryLine,
  planMemoryFor,
  planRun,
  countRunBudget,
  describeShortage,
} from '../../../../src/engine/run/plan.ts';
import type { PlanInputs } from '../../../../src/engine/run/runDemand.ts';
import { createRenderer } from '../../../../src/policy/rendering.ts';
import { loadTokenizer } from '../../../../src/policy/tokenizer.ts';
import type { TransformerConfig } from '../../../../src/runtime/model/transformer.ts';
import { formatBytes, formatCount } from '../../../../src/shared/text/sizes.ts';
import { parseProtocol } from '../../../../src/team/parseProtocol.ts';
import { readConfig } from '../../../../src/training/config/readConfig.ts';
import { c3, errorOf, makeWorkspace, parseLine } from '../workspace.ts';

const LARGE: TransformerConfig = {
  vocabularySize: 151936,
  hiddenSize: 2048,
  intermediateSize: 11008,
  layers: 36,
  heads: 16,
  keyValueHeads: 2,
  headDim: 128,
  rmsEpsilon: 1e-6,
  ropeTheta: 1e6,
  maxPositions: 32768,
  tieEmbeddings: true,
  attentionBias: true,
};

let workspace = '';
let inputs: PlanInputs;
before(async () => {
  workspace = await makeWorkspace();
  const recipe = await readRecipe(null, [], workspace);
  const tokenizer = await loadTokenizer(recipe.modelFolder);
  const questions = Array.from({ length: 4 }, (_, index) => ({
    uid: String(index),
    uidSha: String(index),
    question: 'How many? '.repeat(index + 1),
    answer: '1',
    source: 'test',
    level: null,
  }));
  inputs = {
    model: LARGE,
    protocol: parseRecipeProtocol(recipe),
    tokenizer,
    render: createRenderer(null),
    data: { train: questions, evaluation: questions, remarks: [] },
    provider: 'cpu',
  };
});
after(() => rmSync(workspace, { recursive: true, force: true }));

describe('the budget', () => {
  it('of the bundled run, counted by hand', async () => {
    const { budget, memory } = await planRun(
      await readRecipe(null, ['steps=36', 'device.threads=1'], workspace),
      { texts: new TextPool(), earlier: () => assert.fail('No role has a snapshot of an earlier run.') },
      () => Promise.resolve(null),
    );
    // 32 problems, 2 plans each, 4 answers each; the reasoner may write 16 tokens, the actor 48. Evaluated: 512
    // greedily and 512 by sampling, twice.
    assert.deepEqual(budget.perStep.decisions, { reasoner: 64, actor: 256 });
    assert.equal(budget.perStep.evaluatorCalls, 256);
    assert.deepEqual(budget.perEvaluation.decisions, { reasoner: 1024, actor: 1024 });
    assert.deepEqual(budget.total.decisions, { reasoner: 36 * 64 + 4 * 512, actor: 36 * 256 + 4 * 512 });
    assert.equal(budget.total.evaluatorCalls, 36 * 256 + 4 * 512);
    assert.equal(budget.total.tokens, 36 * budget.perStep.tokens + 2 * budget.perEvaluation.tokens);
    assert.equal(memory.totals.length, 1);
  });

  it('of fewer problems than asked for, and of evaluation alone', () => {
    const { protocol, data } = inputs;
    assert.deepEqual(countRunBudget(readConfig('steps: 2', 'test'), protocol, data).perStep.decisions, {
      reasoner: 8,
      actor: 32,
    });
    // Whole episodes: eight plans with an answer each.
    assert.deepEqual(countRunBudget(readConfig('{steps: 2, method: magrpo}', 'test'), protocol, data).perStep, {
      ...countRunBudget(readConfig('{steps: 2, fanout: [8, 1]}', 'test'), protocol, data).perStep,
      decisions: { reasoner: 32, actor: 32 },
    });
    const alone = countRunBudget(readConfig('steps: 0', 'test'), protocol, data);
    assert.deepEqual([alone.perStep.evaluatorCalls, alone.total.evaluatorCalls], [0, 2 * 4]);
    assert.deepEqual(countRunBudget(readConfig('{steps: 2, method: sft}', 'test'), protocol, data), alone);
    assert.equal(alone.evaluations, 1);
  });

  it('counts the vote that closes an episode', () => {
    const path = join(import.meta.dirname, '../../../../media/examples/three-voters.json');
    const voters = parseProtocol(readFileSync(path, 'utf8'), path);
    const config = readConfig('{steps: 1, method: ccpo, evaluator_budget: 3}', 'test');
    // One for each of three episodes of four questions, and for each of their nine answers at most; each question
    // greedily and by sampling, before and after.
    const { perStep, perEvaluation, total, votes } = countRunBudget(config, voters, inputs.data);
    assert.deepEqual(
      [perStep, perEvaluation, total].map(({ evaluatorCalls }) => evaluatorCalls),
      [4 * (3 + 9), 4 * 2, 4 * (3 + 9) + 2 * 4 * 2],
    );
    assert.deepEqual([perStep.decisions, votes], [{ voter1: 12, voter2: 12, voter3: 12 }, 4 * 9]);
    // A shared return asks for no answer by itself.
    const shared = countRunBudget({ ...config, method: 'magrpo' }, voters, inputs.data);
    assert.deepEqual([shared.perStep.evaluatorCalls, shared.votes], [4 * 3, undefined]);
  });

  it('counts the evaluations during training too', () => {
    const { protocol, data } = inputs;
    // After steps 2, 4, 6, 8, and after training; four questions each, greedily and by sampling.
    const every = countRunBudget(
      readConfig('{steps: 9, evaluation: {every: 2, before: false}}', 'test'),
      protocol,
      data,
    );
    assert.deepEqual([every.evaluations, every.total.evaluatorCalls - 9 * every.perStep.evaluatorCalls], [5, 5 * 8]);
    const both = countRunBudget(readConfig('{steps: 8, evaluation: {every: 2}}', 'test'), protocol, data);
    assert.equal(both.evaluations, 5);
  });
});

describe('the key-value cache', () => {
  it('takes a quarter of what the rest of a run leaves, and no more than always where that is nothing', async () => {
    const config = readConfig('{steps: 0, evaluation: {samples: 64, batch: 256}}', 'test');
    const plan = (host: number) => planMemoryFor(config, inputs, { host, device: null });
    const cacheOf = ({ items }: { items: readonly { name: string; bytes: number }[] }): number =>
      items.find(({ name }) => name === 'Key-value cache')?.bytes ?? NaN;
    const [tight, wide] = [await plan(14e9), await plan(60e9)];
    assert.equal(tight.cacheBytes, 2 ** 28);
    // Rows have a few slots more than their longest message.
    assert.ok(cacheOf(tight) < 2 ** 29);
    assert.equal(describeShortage(wide), null);
    assert.ok(wide.cacheBytes > 10e9 && wide.cacheBytes < 12e9, String(wide.cacheBytes));
    assert.ok(cacheOf(wide) > 4 * cacheOf(tight), String(cacheOf(wide)));
  });

  it('is no reason to refuse a run that fits with the least of it', async () => {
    const config = readConfig('{steps: 0, evaluation: {samples: 64, batch: 256}}', 'test');
    const model = { ...LARGE, hiddenSize: 896, intermediateSize: 4864, layers: 24, heads: 14, headDim: 64 };
    const asked = inputs.data.evaluation.map((problem) => ({ ...problem, question: 'How many? '.repeat(30) }));
    const long = { ...inputs, model, data: { ...inputs.data, evaluation: asked } };
    const plan = (host: number) => planMemoryFor(config, long, { host, device: null });
    const least = (await plan(1e9)).totals[0]?.bytes ?? NaN;
    assert.notEqual(describeShortage(await plan(least - 1)), null);
    for (const more of [0, 1e8, 3e8, 1e9, 3e9]) {
      assert.equal(describeShortage(await plan(least + more)), null, `${more} bytes more than the least`);
    }
  });
});

describe('advice', () => {
  it('names an adapter first for a large model, and says what is enough', async () => {
    const config = readConfig('steps: 1', 'test');
    const plan = await planMemoryFor(config, inputs, { host: 40e9, device: null });
    assert.match(
      plan.advice[0] ?? '',
      /^adapter: \{rank: 16\} instead of full training saves [\d.]+ GB, which is enough\.$/,
    );
    assert.match(
      describeShortage(plan) ?? '',
      /^The run needs about [\d.]+ GB of memory, and 40 GB are available\. adapter: \{rank: 16\}.*`c3 plan`.*memory\.limit_gb/,
    );
    const followed = await planMemoryFor(readConfig('{steps: 1, adapter: {rank: 16}}', 'test'), inputs, {
      host: 40e9,
      device: null,
    });
    assert.deepEqual([followed.advice, describeShortage(followed)], [[], null]);
  });

  it('says so where no setting is enough, and names none that changes nothing', async () => {
    const plan = await planMemoryFor(
      readConfig('{steps: 1, adapter: {rank: 16}, memory: {recompute: true}}', 'test'),
      inputs,
      { host: 1e9, device: null },
    );
    assert.match(
      plan.advice[0] ?? '',
      /^Even with all settings at their smallest the run needs [\d.]+ GB: choose a smaller model\.$/,
    );
    assert.ok(
      plan.advice.every((sentence) => !/adapter|recompute|evaluation\.batch/.test(sentence)),
      plan.advice.join('\n'),
    );
  });

  it('names a smaller rank where an adapter is large', async () => {
    const { advice } = await planMemoryFor(readConfig('{steps: 1, adapter: {rank: 2048}}', 'test'), inputs, {
      host: 20e9,
      device: null,
    });
    assert.ok(
      advice.some((sentence) => /^adapter\.rank: 16 saves/.test(sentence)) &&
        advice.every((sentence) => !sentence.includes('instead')),
      advice.join('\n'),
    );
  });

  it('one line, whatever is known', async () => {
    const config = readConfig('steps: 1', 'test');
    assert.match(
      formatMemoryLine(await planMemoryFor(config, inputs, { host: 21e9, device: null })),
      /^Memory: about \d+(\.\d+)? GB of 21 GB$/,
    );
    assert.match(
      formatMemoryLine(await planMemoryFor(config, { ...inputs, provider: 'webgpu' }, { host: 21e9, device: null })),
      /^Memory: about .* of an unknown amount on the accelerator, about .* of 21 GB on the host$/,
    );
  });
});

describe('a run that does not fit', () => {
  it('stops before anything is stored, naming need, what there is and what to change', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'c3-plan-'));
    const refused = await c3(workspace, [
      'run',
      'tiny.c3.yaml',
      '--override',
      'memory.limit_gb=0.1',
      '--store',
      join(folder, 'c3.sqlite'),
    ]);
    assert.equal(refused.code, 2);
    assert.match(errorOf(refused), /The run needs about \d+ MB of memory, and 100 MB are available\./);
    assert.equal(existsSync(join(folder, 'c3.sqlite')), false);
    rmSync(folder, { recursive: true });
  });

  it('is planned all the same; one that fits says so in one line and runs', async () => {
    const planned = parseLine(
      (await c3(workspace, ['plan', 'tiny.c3.yaml', '--override', 'memory.limit_gb=0.1', '--json'])).stdout,
    );
    assert.deepEqual(Object.keys(planned), ['memory', 'budget', 'seconds']);
    assert.equal(planned['seconds'], null);
    const table = await c3(workspace, ['plan', 'tiny.c3.yaml']);
    assert.match(table.stdout, /together\s+host\s+[\d.]+ MB {2}fits in/);
    assert.match(
      table.stdout,
      /^Time: about .*, from (a short trial of the model on this machine|(an|\d) earlier runs? like it)$/m,
    );
    const run = await c3(workspace, [
      'run',
      'tiny.c3.yaml',
      '--override',
      'memory.limit_gb=8',
      '--override',
      'steps=0',
      '--override',
      'evaluation.instances=1',
    ]);
    assert.equal(run.code, 0);
    assert.match(run.stderr, /^Memory: about [\d.]+ MB of 8 GB$/m);
  });
});

describe('what there is', () => {
  it('the limit takes the place of what is found where the work is done', async () => {
    assert.deepEqual(await findAvailableMemory('cpu', 5e9), { host: 5e9, device: null });
    const { host, device } = await findAvailableMemory('webgpu', 5e9);
    assert.equal(device, 5e9);
    assert.ok(host !== null && host > 0);
  });

  it('a device is not known where no program says', async () => {
    assert.equal(await readDeviceMemory('/no/such/program'), null);
    assert.equal(await readDeviceMemory('true'), null);
  });
});

it('sizes are written with three digits at most', () => {
  assert.deepEqual([0, 999, 1000, 64.5e6, 999_600, 9.12e9, 21e9, 123.4e9].map(formatBytes), [
    '0 B',
    '999 B',
    '1 kB',
    '64.5 MB',
    '1 MB',
    '9.12 GB',
    '21 GB',
    '123 GB',
  ]);
  assert.deepEqual([0, 812, 85_824, 494_032_768, 4.02e9].map(formatCount), [
    '0',
    '812',
    '85.8 thousand',
    '494 million',
    '4.02 billion',
  ]);
});
