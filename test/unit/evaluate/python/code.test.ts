import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { extractCode, extractFencedCode } from '../../../../src/evaluate/python/code.ts';

describe('the code in a message', () => {
  it('is the first Python block, before an earlier block of another language', () => {
    assert.equal(
      extractCode(
        'Run it:\n```bash\npip install x\n```\nthen\n```python\ndef f():\n    return 1\n```\nand\n```python\nf = 2\n```',
      ),
      'def f():\n    return 1\n',
    );
    assert.equal(extractCode('```Python3\r\nx = 1\r\n```'), 'x = 1\n');
  });

  it('is else the first block without a language, else the first of any, without its language word', () => {
    assert.equal(extractCode('```text\nno\n```\n```\nyes = 1\n```'), 'yes = 1\n');
    assert.equal(extractCode('~~~text\nonly = 1\n~~~'), 'only = 1\n');
  });

  it('is else the whole message, and an unclosed block goes to the end', () => {
    assert.equal(extractCode('def f():\n    return "`"'), 'def f():\n    return "`"');
    assert.equal(extractCode('Here:\n```python\ndef f():\n    return 1'), 'def f():\n    return 1');
  });

  it('is not what the message thought, whether or not it ends to think', () => {
    const block = (code: string): string => `\`\`\`python\n${code}\n\`\`\`\n`;
    const thought = `I try\n${block('wrong = 1')}`;
    for (const message of [
      `<think>${thought}</think>\n${block('right = 1')}`,
      `${thought}</think>\n${block('right = 1')}`,
      `So:\n<think>\n${thought}</think>${block('right = 1')}`,
      // An open fence of a thought ends with it.
      `<think>\n\`\`\`python\nwrong = 1\n</think>\n${block('right = 1')}`,
    ]) {
      assert.equal(extractCode(message), 'right = 1\n', message);
    }
    assert.equal(extractCode(`<think>\n${thought}`), '');
    // Tags of a program are its own.
    const code = 'def f(s):\n    return s.split("</think>")[1].replace("<think>", "")\n';
    assert.equal(extractCode(code), code);
    assert.equal(extractCode(`Use <think> so:\n${block(code.trimEnd())}`), code);
  });

  it('is the last block, or all of them, where that is chosen', () => {
    const message = '```python\na = 1\n```\n```text\nno\n```\n```python\nb = 2\n```';
    assert.equal(extractCode(message, 'last'), 'b = 2\n');
    assert.equal(extractCode(message, 'all'), 'a = 1\n\nb = 2\n');
    assert.equal(extractFencedCode('none', 'all'), null);
  });

  it('is found in time linear in a hostile message', () => {
    assert.equal(typeof extractCode('```python\n'.repeat(100_000)), 'string');
    assert.equal(typeof extractCode(' '.repeat(1_000_000)), 'string');
  });
});
