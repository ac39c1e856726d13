import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { c3, parseLine } from '../../../unit/engine/workspace.ts';

const MARK = '\ufeff';
let folder = '';
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'c3-mark-'));
});
after(() => rmSync(folder, { recursive: true, force: true }));

const model = fileURLToPath(new URL('../../../../media/team', import.meta.url));

describe('a byte order mark before the first line', () => {
  // Of c3 grade --kind python, gradePython.test.ts says the same.
  const commands: readonly (readonly [string, readonly string[], object])[] = [
    ['grade --kind math', ['grade', '--kind', 'math'], { id: 1, gold: '3', prediction: '3' }],
    ['credit', ['credit', '--estimator', 'loo'], { id: 1, alternatives: [{ returns: [1] }, { returns: [0] }] }],
    ['generate', ['generate', '--model', model, '--greedy', '--max-new', '2'], { id: 1, text: '1+1' }],
    ['score', ['score', '--model', model], { id: 1, prompt: [1, 2], completion: [3] }],
  ];
  for (const [name, args, line] of commands) {
    it(`changes nothing for c3 ${name}`, async () => {
      const text = `${JSON.stringify(line)}\n`;
      const { code, stdout, stderr } = await c3(folder, args, { stdin: MARK + text + text });
      assert.equal(code, 0, stderr);
      const [marked, plain, ...rest] = stdout.split('\n');
      assert.deepEqual([marked, rest], [plain, ['']]);
      assert.equal(parseLine(`${marked ?? ''}\n`)['id'], 1);
    });
  }

  it('is none of a later line, which is refused by its number', async () => {
    const text = `${JSON.stringify({ id: 1, gold: '3', prediction: '3' })}\n`;
    const { code, stderr } = await c3(folder, ['grade', '--kind', 'math'], { stdin: `${text}${MARK}${text}` });
    assert.equal(code, 2);
    assert.match(stderr, /line 2/u);
  });
});
