/** What a run trained, written for others and loaded again through the command line. */

import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { z } from 'zod';
import { c3, makeWorkspace, parseLine, withStore } from '../../../../unit/engine/workspace.ts';

let workspace = '';
let roles = '';
let whole = '';
before(async () => {
  workspace = await makeWorkspace();
  const run = async (...overrides: string[]): Promise<string> => {
    const { code, stdout, stderr } = await c3(workspace, [
      'run',
      'tiny.c3.yaml',
      '--json',
      ...overrides.flatMap((override) => ['--override', override]),
    ]);
    assert.equal(code, 0, stderr);
    return String(parseLine(stdout)['run']);
  };
  roles = await run('adapter.per=role', 'adapter.rank=2', 'ppo.learning_rate=0.05', 'evaluation.instances=0');
  whole = await run('evaluation.instances=0');
});
after(() => rmSync(workspace, { recursive: true, force: true }));

const answerSchema = z.object({ id: z.string(), logprobs: z.array(z.number()) });
/** Log-probabilities of stored messages, by the folders of a model and an adapter. */
async function scored(lines: readonly object[], args: readonly string[]): Promise<number[][]> {
  const { code, stdout, stderr } = await c3(workspace, ['score', ...args], {
    stdin: lines.map((line) => JSON.stringify(line)).join('\n'),
  });
  assert.equal(code, 0, stderr);
  return stdout
    .trim()
    .split('\n')
    .map((line) => answerSchema.parse(JSON.parse(line)).logprobs);
}

/** Messages of a run's second step: their behaviour policy is the snapshot after the first. */
const sampledAfterOne = (
  run: string,
): { readonly role: string; readonly context: string; readonly tokens: number[]; readonly logprobs: number[] }[] =>
  withStore(workspace, (store) =>
    store
      .bucketsOfRun({ run, origin: 'training', offset: 0, limit: 100 })
      .filter(({ iteration }) => iteration === 2)
      .map(({ role, alternatives }) => {
        const { context, tokens, logprobs } = store.fullMessage(alternatives[0]?.message ?? 0);
        return { role, context, tokens: [...tokens], logprobs: [...logprobs] };
      }),
  );

const promptOf = async (context: string): Promise<number[]> => {
  const { loadTokenizer } = await import('../../../../../src/policy/tokenizer.ts');
  return [...(await loadTokenizer(join(workspace, 'team'))).encode(context)];
};

describe('c3 export', () => {
  it('writes an adapter for each role, with which stored messages have the log-probabilities of the run, bit for bit', async () => {
    const { code, stdout, stderr } = await c3(workspace, [
      'export',
      '--run',
      roles,
      '--format',
      'adapter',
      '--out',
      'adapters',
      '--step',
      '1',
    ]);
    assert.equal(code, 0, stderr);
    assert.deepEqual(stdout.trim().split('\n').sort(), [
      join(workspace, 'adapters', 'actor'),
      join(workspace, 'adapters', 'reasoner'),
    ]);
    const messages = sampledAfterOne(roles);
    assert.deepEqual(new Set(messages.map(({ role }) => role)), new Set(['reasoner', 'actor']));
    const lines = await Promise.all(
      messages.map(async ({ role, context, tokens }, index) => ({
        id: String(index),
        agent: role,
        prompt: await promptOf(context),
        completion: tokens,
      })),
    );
    assert.deepEqual(
      await scored(lines, ['--model', 'team', '--adapter', 'adapters']),
      messages.map(({ logprobs }) => logprobs),
    );
    const swapped = lines.map((line) => ({ ...line, agent: line.agent === 'actor' ? 'reasoner' : 'actor' }));
    assert.notDeepEqual(
      await scored(swapped, ['--model', 'team', '--adapter', 'adapters']),
      messages.map(({ logprobs }) => logprobs),
    );
    assert.notDeepEqual(
      await scored(lines, ['--model', 'team']),
      messages.map(({ logprobs }) => logprobs),
    );
    // Alone, an adapter is the whole team's.
    const actor = lines.filter(({ agent }) => agent === 'actor');
    assert.deepEqual(
      await scored(
        actor.map(({ agent: _, ...line }) => line),
        ['--model', 'team', '--adapter', 'adapters/actor'],
      ),
      messages.filter(({ role }) => role === 'actor').map(({ logprobs }) => logprobs),
    );
  });

  it('writes a whole model that is a model folder', async () => {
    const { code, stderr } = await c3(workspace, [
      'export',
      '--run',
      whole,
      '--format',
      'model',
      '--out',
      'trained',
      '--step',
      '1',
    ]);
    assert.equal(code, 0, stderr);
    assert.ok(
      ['config.json', 'model.safetensors', 'tokenizer.json', 'tokenizer_config.json'].every((name) =>
        readdirSync(join(workspace, 'trained')).includes(name),
      ),
    );
    const messages = sampledAfterOne(whole);
    const lines = await Promise.all(
      messages.map(async ({ context, tokens }, index) => ({
        id: String(index),
        prompt: await promptOf(context),
        completion: tokens,
      })),
    );
    assert.deepEqual(
      await scored(lines, ['--model', 'trained']),
      messages.map(({ logprobs }) => logprobs),
    );
  });

  it('refuses the wrong kind, a step that is not there, and a folder with something in it', async () => {
    mkdirSync(join(workspace, 'full'));
    writeFileSync(join(workspace, 'full', 'mine.txt'), 'mine');
    const cases: readonly (readonly [args: readonly string[], code: number, message: RegExp])[] = [
      [['--run', whole, '--format', 'adapter', '--out', 'a'], 1, /has no adapter; save its weights instead/],
      [
        ['--run', roles, '--format', 'model', '--out', 'b'],
        1,
        /has an adapter beside a model that was not trained; export the format adapter/,
      ],
      [
        ['--run', whole, '--format', 'model', '--out', 'c', '--step', '7'],
        2,
        /has 2 steps; --step 7 is not one of them/,
      ],
      [['--run', whole, '--format', 'model', '--out', 'full'], 2, /is not empty; choose a new one/],
      [
        ['--run', whole, '--format', 'gguf', '--out', 'd'],
        2,
        /--format is buckets, tuples, adapter or model, not "gguf"/,
      ],
      [['--run', 'nobody', '--format', 'model', '--out', 'e'], 2, /nobody/],
    ];
    for (const [args, expected, message] of cases) {
      const { code, stderr } = await c3(workspace, ['export', ...args]);
      assert.deepEqual([code, message.test(stderr), stderr.trim().split('\n').length], [expected, true, 1], stderr);
    }
    assert.deepEqual(readdirSync(join(workspace, 'full')), ['mine.txt']);
  });
});
