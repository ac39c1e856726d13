import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ReplyReader, type Reply } from '../../../../src/policy/endpoint/reply.ts';
import { bodyOf } from '../../../../src/policy/endpoint/endpointPolicy.ts';

const replyOf = (...bodies: readonly unknown[]): Reply => {
  const reader = new ReplyReader('chat', null);
  for (const body of bodies) {
    reader.add(JSON.stringify(body));
  }
  return reader.end();
};
const call = (name: string, args: string): unknown => ({
  id: 'a',
  type: 'function',
  function: { name, arguments: args },
});

describe('an answer that calls tools', () => {
  it('has a line for each, as in what is imported, whole or in pieces', () => {
    const tool_calls = [call('sum', '[1,2]'), call('now', '')];
    const whole = replyOf({ choices: [{ message: { content: 'I add.', tool_calls }, finish_reason: 'tool_calls' }] });
    assert.deepEqual([whole.text, whole.finish], ['I add.\nsum [1,2]\nnow', 'end']);
    const pieces = replyOf(
      { choices: [{ delta: { content: null, tool_calls: [{ index: 0, ...Object(call('sum', '[1')) }] } }] },
      { choices: [{ delta: { tool_calls: [{ index: 0, function: { arguments: ',2]' } }] } }] },
      { choices: [{ delta: {}, finish_reason: 'tool_calls' }] },
    );
    assert.equal(pieces.text, 'sum [1,2]');
  });

  it('is withheld where it calls none, or was cut off for another reason', () => {
    assert.throws(() => replyOf({ choices: [{ message: { content: '' }, finish_reason: 'tool_calls' }] }), {
      kind: 'withheld',
    });
    assert.throws(() => replyOf({ choices: [{ message: { content: 'x' }, finish_reason: 'content_filter' }] }), {
      kind: 'withheld',
    });
  });
});

it("a program's own request keeps its messages and tools, and is sampled as the replay says", () => {
  const request = {
    messages: [
      { role: 'assistant', content: null, tool_calls: [call('sum', '[1,2]')] },
      { role: 'tool', tool_call_id: 'a', content: '3' },
    ],
    tools: [{ type: 'function', function: { name: 'sum' } }],
  };
  const form = { logprobs: false, token_ids: false, length_key: 'max_tokens' } as const;
  const sampling = { temperature: 0.5, topP: 1, topK: 0, maxNewTokens: 6 };
  const context = JSON.stringify(request);
  assert.deepEqual(bodyOf({ api: 'chat', model: 'm', stream: false }, form, context, sampling, null), {
    model: 'm',
    ...request,
    max_tokens: 6,
    temperature: 0.5,
    top_p: 1,
  });
});
