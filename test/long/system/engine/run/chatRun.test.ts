/**
 * C3 runs on chat models through the command line: contexts go through the model's own template, and replays find the
 * same bytes again.
 */

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { c3, contentsOf, copyOf, errorOf, withStore } from '../../../../unit/engine/workspace.ts';
import { FAMILIES } from '../../../../unit/golden.ts';
import { jsonl, sums } from '../../../../unit/training/tinyTeam.ts';
import { everyMessageAnswers, makeFolder, messagesOf, run } from './chatTeam.ts';

everyMessageAnswers(FAMILIES.slice(-1));

describe('a template', () => {
  const TEMPLATE = ['model', 'chat_template.jinja'];

  it('can be left out', async (t: TestContext) => {
    const folder = copyOf(t, makeFolder('llama'));
    const id = await run(folder, 'chat.template=none', 'evaluation.instances=0');
    withStore(folder, (store) => {
      for (const { context, role } of messagesOf(store, id)) {
        assert.ok(context.startsWith(role === 'reasoner' ? 'Plan.\n\nProblem:\n' : 'Solve.\n\nProblem:\n'));
        assert.ok(!/<\|im_/.test(context));
      }
    });
  });

  it('that takes no system message, and questions that cannot fit, are refused before anything is stored', async () => {
    const folder = makeFolder('qwen3');
    const refused = async (code: number, says: RegExp, ...overrides: readonly string[]): Promise<void> => {
      const before = contentsOf(folder);
      const result = await c3(folder, [
        'run',
        'chat.c3.yaml',
        ...overrides.flatMap((override) => ['--override', override]),
      ]);
      assert.deepEqual([result.code, result.stdout], [code, ''], result.stderr);
      assert.match(errorOf(result), says);
      assert.deepEqual(contentsOf(folder), before);
    };
    const [first] = sums(1);
    assert.ok(first);
    const held = readFileSync(join(folder, 'held.jsonl'));
    writeFileSync(
      join(folder, 'held.jsonl'),
      jsonl([...sums(1, 100), { ...first, question: `Count: ${'7, '.repeat(500)}` }]),
    );
    await refused(
      2,
      /^c3: The context of the reasoner for the problem "held\.jsonl:2" has \d+ tokens and its answer may have 4, together more than the model's 512 positions/,
    );
    writeFileSync(join(folder, 'held.jsonl'), held);
    writeFileSync(
      join(folder, ...TEMPLATE),
      "{% if messages[0].role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}",
    );
    await refused(
      1,
      /^c3: The role reasoner cannot ask this model: \S+chat_template\.jinja: the chat template refuses these messages: System role not supported; choose another model, or set chat\.template to none\.$/,
    );
    await refused(
      2,
      /--override chat\.thinking: needs chat\.template: auto/,
      'chat.thinking=true',
      'chat.template=none',
    );
  });
});
