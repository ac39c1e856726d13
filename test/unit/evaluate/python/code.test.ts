import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { extractCode } from '../../../../src/evaluate/python/code.ts';

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

  it('is found in time linear in a hostile message', () => {
    assert.equal(typeof extractCode('```python\n'.repeat(100_000)), 'string');
    assert.equal(typeof extractCode(' '.repeat(1_000_000)), 'string');
  });
});
