import assert from 'node:assert/strict';
import { it } from 'node:test';
import { resultText } from '../../../src/chat/content.ts';

it('a result that wraps results without end is unwrapped to a bounded depth, and shown as JSON from there', () => {
  const wrapped = (depth: number): unknown => {
    let value: unknown = 'the end';
    for (let level = 0; level < depth; level++) {
      value = { type: 'json', value };
    }
    return value;
  };
  assert.equal(resultText(wrapped(12)), 'the end');
  assert.match(resultText(wrapped(20)), /^\{\s*"type": ?"json"/u);
  // Deeper than the stack: unbounded, it would end the import.
  assert.ok(resultText(wrapped(2_000)).length > 0);
});
