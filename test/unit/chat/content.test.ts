import assert from 'node:assert/strict';
import { it } from 'node:test';
import { addPart, emptyContent, resultText } from '../../../src/chat/content.ts';

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

it('parts within parts are read to a bounded depth, whichever key they lie in', () => {
  const wraps: readonly ((value: unknown) => unknown)[] = [
    (value) => [value],
    (value) => ({ type: 'reasoning', summary: value }),
    (value) => ({ type: 'thinking', thinking: value }),
    (value) => ({ type: 'text', text: value }),
    (value) => ({ type: 'message', content: value }),
    (value) => ({ type: 'executableCode', code: value }),
    (value) => ({ type: 'document', source: { type: 'content', content: value } }),
    (value) => ({ reasoningContent: { reasoningText: value } }),
  ];
  for (const [index, wrap] of wraps.entries()) {
    const read = (depth: number): string => {
      let value: unknown = 'the end';
      for (let level = 0; level < depth; level++) {
        value = wrap(value);
      }
      const content = emptyContent();
      addPart(content, value);
      return content.texts.join('\n');
    };
    assert.equal(read(4), 'the end', String(index));
    // Parts below the bound are shown as JSON. Without a bound, the text would be the words alone.
    const deep = read(40);
    assert.match(deep, /the end/u, String(index));
    assert.match(deep, /[[{]/u, `${index}: ${deep}`);
  }
});

it('a part of an unknown form is shown as JSON, also behind the result of a tool', () => {
  const content = emptyContent();
  addPart(content, [
    { type: 'tool_result', tool_use_id: 'call-1', content: '12' },
    { type: 'annotation', colour: 'blue' },
  ]);
  assert.deepEqual(
    content.results.map(({ text }) => text),
    ['12'],
  );
  assert.equal(content.texts.length, 1);
  assert.match(content.texts.join(), /"colour": ?"blue"/u);
});
