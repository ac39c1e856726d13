/** The self-test of a model folder. */

import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, it } from 'node:test';
import { describeFirstDifference, testModel } from '../../../../src/engine/models/modelTest.ts';
import { CancelledError } from '../../../../src/shared/errors.ts';
import type { SelfTestProgress } from '../../../../src/shared/models.ts';
import { FAMILIES, folderOf } from '../../../unit/golden.ts';

const NAMES = ['Files', 'Tokenizer', 'Chat template', 'Loading', 'Generation', 'Scoring'];

let temporary = '';
before(() => {
  temporary = mkdtempSync(join(tmpdir(), 'c3-self-'));
});
after(() => rmSync(temporary, { recursive: true, force: true }));

async function tested(
  folder: string,
  cancels: (progress: SelfTestProgress) => boolean = () => false,
): Promise<{ readonly steps: Awaited<ReturnType<typeof testModel>>; readonly heard: readonly SelfTestProgress[] }> {
  const heard: SelfTestProgress[] = [];
  const controller = new AbortController();
  const steps = await testModel(folder, 'cpu', {
    signal: controller.signal,
    onProgress: (progress) => {
      heard.push(progress);
      if (cancels(progress)) {
        controller.abort();
      }
    },
  });
  return { steps, heard };
}

function copy(name: string, change: (folder: string) => void): string {
  const folder = join(temporary, name);
  cpSync(folderOf('qwen3'), folder, { recursive: true });
  change(folder);
  return folder;
}

for (const family of FAMILIES) {
  it(`${family} passes every step, and each is reported as it ends`, async () => {
    const { steps, heard } = await tested(folderOf(family));
    assert.deepEqual(
      steps.map(({ name, passed }) => [name, passed]),
      NAMES.map((name) => [name, true]),
    );
    assert.deepEqual(
      heard.flatMap((progress) => (progress.kind === 'step' ? progress.step : [])),
      steps,
    );
    const loading = heard.flatMap((progress) => (progress.kind === 'load' ? [[progress.done, progress.total]] : []));
    assert.equal(loading.at(-1)?.[0], loading.at(-1)?.[1], 'loading ends with everything');
    assert.match(steps[4]?.detail ?? '', /batch of 3 the same bits; [\d.]+ tokens\/s/);
  });
}

it('what fails first ends the test', async () => {
  const weights = 'model.safetensors';
  const short = await tested(
    copy('short', (folder) =>
      writeFileSync(join(folder, weights), readFileSync(join(folder, weights)).subarray(0, 100_000)),
    ),
  );
  assert.deepEqual(
    short.steps.map(({ name, passed }) => [name, passed]),
    [['Files', false]],
  );
  // Headers are right; loading finds a value that is no number.
  const corrupt = await tested(
    copy('corrupt', (folder) => {
      const bytes = readFileSync(join(folder, weights));
      writeFileSync(join(folder, weights), bytes.fill(0xff, bytes.length - 1000));
    }),
  );
  assert.deepEqual(
    corrupt.steps.map(({ name, passed }) => [name, passed]),
    [...NAMES.slice(0, 3).map((name) => [name, true]), ['Loading', false]],
  );
  assert.match(corrupt.steps.at(-1)?.detail ?? '', /tensor \S+ holds a value that is not a finite number/);
});

it('a template that refuses or drops the system prompt fails; the model is tried no further', async () => {
  const refusing = await tested(
    copy('refusing', (folder) =>
      writeFileSync(join(folder, 'chat_template.jinja'), "{{ raise_exception('no system role') }}"),
    ),
  );
  assert.deepEqual(refusing.steps.at(-1)?.name, 'Chat template');
  assert.match(refusing.steps.at(-1)?.detail ?? '', /no system role/);
  const dropping = await tested(
    copy('dropping', (folder) => writeFileSync(join(folder, 'chat_template.jinja'), '{{ messages[-1].content }}')),
  );
  assert.equal(dropping.steps[2]?.passed, false);
});

it('a cancel ends it between steps', async () => {
  await assert.rejects(
    testModel(folderOf('llama'), 'cpu', { signal: AbortSignal.abort(), onProgress: () => undefined }),
    CancelledError,
  );
  await assert.rejects(
    tested(folderOf('llama'), ({ kind }) => kind === 'load'),
    CancelledError,
  );
});

it('answers are compared bit for bit', () => {
  const answer = (
    tokens: readonly number[],
    logprobs: readonly number[],
  ): { tokens: Int32Array; logprobs: Float32Array } => ({
    tokens: Int32Array.from(tokens),
    logprobs: Float32Array.from(logprobs),
  });
  const one = answer([1, 2], [-0.5, -1]);
  assert.equal(describeFirstDifference([one], [answer([1, 2], [-0.5, -1]), answer([9], [0])]), null);
  assert.match(
    describeFirstDifference([one], [answer([1, 3], [-0.5, -1])]) ?? '',
    /answer 1 has the token 2 and 3 at place 1/,
  );
  assert.match(
    describeFirstDifference([one], [answer([1, 2], [-0.5, -1.0000001])]) ?? '',
    /log-probability -1 and -1.0000/,
  );
  assert.match(describeFirstDifference([one], [answer([1], [-0.5])]) ?? '', /2 tokens and 1/);
  assert.match(describeFirstDifference([one, one], [one]) ?? '', /answer 2 has 2 tokens and 0/);
});
