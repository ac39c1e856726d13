/** `c3 generate` and `c3 score` on checkpoints that Transformers has run. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { cpSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { after, before, describe, it } from 'node:test';
import { generateLines } from '../../../../src/engine/lines/generateLines.ts';
import { takeLineModel } from '../../../../src/engine/lines/lineModel.ts';
import { scoreLines } from '../../../../src/engine/lines/scoreLines.ts';
import { C3Error } from '../../../../src/shared/errors.ts';
import { c3, finished, startC3, type Finished } from '../../../unit/engine/workspace.ts';
import { FAMILIES, folderOf, readExpected } from '../../../unit/golden.ts';

const jsonlOf = (lines: readonly object[]): string => lines.map((line) => `${JSON.stringify(line)}\n`).join('');

let temporary = '';
before(() => {
  temporary = mkdtempSync(join(tmpdir(), 'c3-lines-'));
});
after(() => rmSync(temporary, { recursive: true, force: true }));

const generate = (family: string, lines: readonly object[], ...more: string[]): Promise<Finished> =>
  c3(temporary, ['generate', '--model', folderOf(family), ...more], { stdin: jsonlOf(lines) });
const answers = ({ code, stdout, stderr }: Finished): Record<string, unknown>[] => {
  assert.deepEqual([code, stderr], [0, '']);
  return stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
};

for (const family of FAMILIES) {
  it(`${family}: greedy continuations of texts, ids and chats, in the order of the lines`, async () => {
    const { prompts, chat } = await readExpected(family);
    const length = prompts[0]?.greedy.length ?? 0;
    const lines = prompts.flatMap(({ text, ids }, index) => [
      { id: `text ${index}`, text },
      { id: index, ids },
    ]);
    const chats = chat.flatMap(({ messages, ids }, index) => [
      { id: `chat ${index}`, messages },
      { id: `chat ids ${index}`, ids },
    ]);
    const got = answers(await generate(family, [...lines, ...chats], '--greedy', '--max-new', String(length)));
    assert.deepEqual(
      got.map(({ id }) => id),
      [...lines, ...chats].map(({ id }) => id),
    );
    prompts.forEach(({ greedy }, index) => {
      assert.deepEqual(got[2 * index]?.['ids'], greedy);
      assert.deepEqual(got[2 * index + 1]?.['ids'], greedy);
      assert.equal(typeof got[2 * index]?.['text'], 'string');
    });
    for (const index of chat.keys()) {
      assert.deepEqual(got[lines.length + 2 * index]?.['ids'], got[lines.length + 2 * index + 1]?.['ids']);
    }
  });

  it(`${family}: log-probabilities of a completion, to 1e-4`, async () => {
    const { logprob, prompts } = await readExpected(family);
    const { prompt, completion, per_token: perToken } = logprob;
    const lines = [
      { id: 'a', prompt, completion },
      ...prompts.map(({ ids, greedy }, id) => ({ id, prompt: ids, completion: greedy })),
      { id: 'b', prompt, completion },
    ];
    const got = answers(await c3(temporary, ['score', '--model', folderOf(family)], { stdin: jsonlOf(lines) }));
    assert.deepEqual(
      got.map(({ id }) => id),
      lines.map(({ id }) => id),
    );
    for (const answer of [got[0], got.at(-1)]) {
      const logprobs = answer?.['logprobs'] as number[];
      assert.equal(logprobs.length, perToken.length);
      perToken.forEach((value, index) => assert.ok(Math.abs(value - (logprobs[index] ?? NaN)) < 1e-4));
      assert.ok(Math.abs(Number(answer?.['sum']) - perToken.reduce((total, value) => total + value, 0)) < 1e-3);
    }
    // A greedy token is at least as likely as any other.
    for (const { logprobs } of got.slice(1, -1)) {
      for (const value of logprobs as number[]) {
        assert.ok(value >= -Math.log(384));
      }
    }
  });
}

describe('sampling', () => {
  it('gives a line the same answer whatever is beside it, and another under another id or seed', async () => {
    const text = 'Tom has';
    const many = answers(
      await generate(
        'qwen3',
        ['a', 'b', 'c'].map((id) => ({ id, text })),
        '--max-new',
        '12',
      ),
    );
    const [alone] = answers(await generate('qwen3', [{ id: 'b', text }], '--max-new', '12'));
    assert.deepEqual(many[1], alone);
    assert.equal(new Set(many.map(({ ids }) => JSON.stringify(ids))).size, 3);
    const [other] = answers(await generate('qwen3', [{ id: 'b', text }], '--max-new', '12', '--seed', '1'));
    assert.notDeepEqual(other, alone);
  });
});

it('a line is answered before the next one comes', async () => {
  const child = startC3(temporary, ['generate', '--model', folderOf('llama'), '--greedy', '--max-new', '2']);
  const answer = async (line: object): Promise<unknown> => {
    child.stdin.write(jsonlOf([line]));
    const [chunk] = (await once(child.stdout, 'data')) as [Buffer];
    return (JSON.parse(chunk.toString()) as { id: unknown }).id;
  };
  assert.equal(await answer({ id: 'first', text: 'a' }), 'first');
  assert.equal(await answer({ id: 'second', text: 'b' }), 'second');
  child.stdin.end();
  assert.equal((await finished(child)).code, 0);
});

describe('a wrong line', () => {
  it('is named by number, after the lines before it were answered', async () => {
    await using model = await takeLineModel(folderOf('llama'), null);
    const refuses = async (command: 'generate' | 'score', line: object | string, says: RegExp): Promise<void> => {
      const first = command === 'generate' ? { id: 1, ids: [5, 6] } : { id: 1, prompt: [5], completion: [6] };
      const input = Readable.from([
        `${JSON.stringify(first)}\n\n${typeof line === 'string' ? line : JSON.stringify(line)}\n{"id": 4}\n`,
      ]);
      const running = new AbortController().signal;
      const lines =
        command === 'generate'
          ? generateLines(input, model, { greedy: true, maxNew: 4, seed: 0, thinking: false }, running)
          : scoreLines(input, model, running);
      const answered: string[] = [];
      await assert.rejects(
        async () => {
          for await (const answer of lines) {
            answered.push(answer);
          }
        },
        (error) =>
          error instanceof C3Error &&
          error.kind === 'input' &&
          /^standard input, line 3[^\n]+$/.test(error.message) &&
          says.test(error.message),
      );
      assert.equal(answered.length, 1);
    };
    await refuses('generate', '{"id":', /give \{"id"/);
    await refuses('generate', { id: 2, text: 'a', ids: [1] }, /exactly one of text, ids and messages/);
    await refuses('generate', { text: 'a' }, /: id: /);
    await refuses('generate', { id: 2, ids: [] }, /line 3 has an empty prompt/);
    await refuses('generate', { id: 2, ids: [384] }, /line 3 has the token id 384 where the model knows 384 tokens/);
    await refuses('generate', { id: 2, ids: [2 ** 32 + 5] }, /ids\.0: /);
    await refuses(
      'generate',
      { id: 2, ids: Array.from({ length: 510 }, () => 5) },
      /line 3 needs 514 positions where the model has 512/,
    );
    await refuses('score', { id: 2, prompt: [5], completion: [] }, /line 3 has an empty prompt or message/);
    await refuses('score', { id: 2, prompt: [5], completion: [-1] }, /line 3 has the token id -1/);
    await refuses('score', { id: 2, prompt: '5', completion: [1] }, /prompt: /);
  });
});

describe('a model that cannot be used', () => {
  const refused = async (args: readonly string[], code: number, says: RegExp): Promise<void> => {
    const result = await c3(temporary, args, { stdin: '{"id": 1, "messages": [{"role": "user", "content": "a"}]}\n' });
    assert.deepEqual([result.code, result.stdout], [code, ''], result.stderr);
    assert.match(result.stderr, /^c3: [^\n]+\n$/);
    assert.match(result.stderr, says);
  };

  it('is refused in one line', async () => {
    const folder = join(temporary, 'model');
    cpSync(folderOf('qwen3'), folder, { recursive: true });
    writeFileSync(join(folder, 'chat_template.jinja'), "{{ raise_exception('No chats today.') }}");
    await refused(['generate'], 2, /c3 generate needs --model/);
    await refused(['score', '--model', join(temporary, 'nowhere')], 1, /Cannot read .*nowhere/);
    await refused(
      ['generate', '--model', folder],
      1,
      /standard input, line 1: .*chat_template\.jinja: the chat template refuses these messages: No chats today\./,
    );
    truncateSync(join(folder, 'model.safetensors'), 100_000);
    await refused(
      ['generate', '--model', folder],
      1,
      /model\.safetensors: tensor model\.\S+ is truncated; copy the weights again/,
    );
  });
});
