import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { buildRequestBody } from '../../../../src/policy/endpoint/endpointPolicy.ts';
import { ReplyReader, type Reply } from '../../../../src/policy/endpoint/reply.ts';

/** What a stream of these pieces says; the mark of its end is among them where it has one. */
const replyOf = (...pieces: readonly unknown[]): Reply => {
  const reader = new ReplyReader(null);
  for (const piece of pieces) {
    reader.add(piece === '[DONE]' ? piece : JSON.stringify(piece));
  }
  return reader.end();
};
/** What a whole body says. */
const wholeOf = (body: unknown): Reply => {
  const reader = new ReplyReader(null);
  reader.addWhole(typeof body === 'string' ? body : JSON.stringify(body));
  return reader.end();
};
const choice = (message: unknown, finish: unknown = 'stop', more: object = {}): object => ({
  choices: [{ index: 0, message, finish_reason: finish, ...more }],
});
const delta = (of: unknown, finish: unknown = null, more: object = {}): object => ({
  choices: [{ index: 0, delta: of, finish_reason: finish, ...more }],
});
const call = (name: string, args: string): unknown => ({
  id: 'a',
  type: 'function',
  function: { name, arguments: args },
});

describe('an answer that calls tools', () => {
  it('has a line for each, as in what is imported, whole or in pieces', () => {
    const tool_calls = [call('sum', '[1,2]'), call('now', '')];
    const whole = wholeOf(choice({ content: 'I add.', tool_calls }, 'tool_calls'));
    assert.deepEqual([whole.text, whole.finish], ['I add.\nsum [1,2]\nnow', 'end']);
    const pieces = replyOf(
      { choices: [{ delta: { content: null, tool_calls: [{ index: 0, ...Object(call('sum', '[1')) }] } }] },
      { choices: [{ delta: { tool_calls: [{ index: 0, function: { arguments: ',2]' } }] } }] },
      { choices: [{ delta: {}, finish_reason: 'tool_calls' }] },
    );
    assert.equal(pieces.text, 'sum [1,2]');
  });

  it('is withheld where it calls none and says nothing', () => {
    assert.throws(() => wholeOf(choice({ content: '' }, 'tool_calls')), { kind: 'withheld' });
    for (const finish of ['content_filter', 'SAFETY', 'refusal', 'nobody_knows']) {
      assert.throws(() => wholeOf(choice({ content: null }, finish)), { kind: 'withheld' });
      assert.throws(() => replyOf(delta({ content: '' }), delta({}, finish)), { kind: 'withheld' });
    }
  });

  it('is one of each call, however a server numbers them', () => {
    const named = (id: string, name: string, args: unknown): unknown => ({
      index: 0,
      id,
      function: { name, arguments: args },
    });
    const pieces = replyOf(
      delta({ tool_calls: [named('a', 'search', '{"q"')] }),
      delta({ tool_calls: [named('a', 'search', ':1}')] }),
      delta({ tool_calls: [named('b', 'now', { of: 1 })] }),
      delta({}, 'stop'),
    );
    assert.equal(pieces.text, 'search {"q":1}\nnow {"of":1}');
    assert.equal(wholeOf(choice({ content: null, function_call: { name: 'now', arguments: '{}' } })).text, 'now {}');
    assert.equal(wholeOf(choice({ content: 'x' }, 'tool_calls')).text, 'x');
  });
});

describe('an answer', () => {
  it('is what is said, in whichever form; what is thought is it where nothing is said', () => {
    for (const [message, text] of [
      [{ content: 42 }, '42'],
      [{ content: true }, 'true'],
      [{ content: null }, ''],
      [{ content: [{ type: 'text', text: 'x' }] }, 'x'],
      [{ content: { text: 'x' } }, 'x'],
      [{ content: null, refusal: 'No.' }, 'No.'],
      [{ content: null, audio: { transcript: 'heard' } }, 'heard'],
      [{ content: 'x', reasoning_content: 'Hm.' }, 'x'],
      [
        {
          content: [
            { type: 'thinking', thinking: 'Hm.' },
            { type: 'text', text: 'x' },
          ],
        },
        'x',
      ],
      [{ content: null, reasoning_content: 'Hm.' }, 'Hm.'],
      [{ content: '', reasoning: 'Hm.' }, 'Hm.'],
    ] as const) {
      const name = JSON.stringify(message);
      assert.equal(wholeOf(choice(message)).text, text, name);
      assert.equal(replyOf(delta(message), delta({}, 'stop')).text, text, name);
    }
    assert.equal(wholeOf({ choices: [{ text: 7, finish_reason: 'stop' }] }).text, '7');
  });

  it('ends with any word that a server has for it', () => {
    for (const [word, finish] of [
      ['stop', 'end'],
      ['end_turn', 'end'],
      ['stop_sequence', 'end'],
      ['STOP', 'end'],
      ['eos', 'end'],
      ['eos_token', 'end'],
      ['COMPLETE', 'end'],
      ['length', 'length'],
      ['max_tokens', 'length'],
      ['MAX_TOKENS', 'length'],
    ] as const) {
      for (const content of ['x', '']) {
        const { text, finish: found } = wholeOf(choice({ content }, word));
        assert.deepEqual([text, found], [content, finish], word);
      }
    }
    for (const word of ['nobody_knows', 'tool_use', 'content_filter']) {
      assert.equal(replyOf(delta({ content: 'x' }), delta({}, word)).finish, 'end');
    }
  });

  it('is incomplete where its stream is cut, or its server failed', () => {
    for (const none of [null, undefined, '']) {
      assert.equal(wholeOf(choice({ content: 'x' }, none)).text, 'x');
      assert.equal(replyOf(delta({ content: 'x' }, none), '[DONE]').text, 'x');
      assert.throws(() => replyOf(delta({ content: 'x' }, none)), { kind: 'again', message: /in the middle/ });
      assert.throws(() => replyOf(delta({ content: '' }, none), '[DONE]'), { kind: 'again' });
    }
    assert.throws(() => wholeOf({}), { kind: 'again' });
    for (const word of ['abort', 'error', 'insufficient_system_resource']) {
      assert.throws(() => replyOf(delta({ content: 'x' }), delta({}, word)), { kind: 'again', charged: true });
    }
    for (const error of ['overloaded', { message: 'overloaded' }]) {
      assert.throws(() => replyOf({ error }), { message: 'failed within its answer: overloaded' });
    }
    assert.throws(() => replyOf({ object: 'error', message: 'overloaded' }), { message: /: overloaded$/ });
    for (const error of [null, '', {}, { message: '', code: null }]) {
      assert.equal(wholeOf({ ...choice({ content: 'x' }), error }).text, 'x');
    }
  });

  it('that comes as events of another type, or as lines, is read', () => {
    const lines = [delta({ content: 'x' }), delta({ content: 'y' }, 'stop')].map((one) => JSON.stringify(one));
    assert.equal(wholeOf(lines.map((line) => `data: ${line}\n\n`).join('')).text, 'xy');
    assert.equal(wholeOf(lines.join('\n')).text, 'xy');
    assert.throws(() => wholeOf(`data: ${JSON.stringify(delta({ content: 'x' }))}\n\n`), { kind: 'again' });
    for (const none of ['', 'x', '[]', '3', '{"choices": "none"}']) {
      assert.throws(() => wholeOf(none), { kind: 'again', message: /cannot be read/ });
    }
  });

  it('has no cost that is not counted in whole numbers', () => {
    const counted = (usage: unknown): Reply['usage'] => wholeOf({ ...choice({ content: 'x' }), usage }).usage;
    assert.deepEqual(counted({ prompt_tokens: 3, completion_tokens: 2 }), { prompt: 3, completion: 2 });
    for (const usage of [
      undefined,
      null,
      {},
      'x',
      { prompt_tokens: null, completion_tokens: null },
      { prompt_tokens: 3.5, completion_tokens: 2 },
      { prompt_tokens: 3, completion_tokens: -1 },
    ]) {
      assert.equal(counted(usage), null);
    }
    const pieces = [
      delta({ content: 'x' }, 'stop'),
      { choices: [], usage: { prompt_tokens: 3, completion_tokens: 2 } },
    ];
    assert.deepEqual(replyOf(...pieces, { choices: [], usage: {} }, '[DONE]').usage, { prompt: 3, completion: 2 });
  });

  it('that is nested too deeply is refused, and a long one is read', () => {
    const deep = `${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}`;
    assert.throws(() => wholeOf(`{"choices":[{"message":{"content":${deep}}}]}`), { kind: 'again' });
    const long = Array.from({ length: 50_000 }, () => delta({ content: 'ab' }, null, { token_ids: [1, 2] }));
    const { text, tokens } = replyOf(...long, '[DONE]');
    assert.deepEqual([text.length, tokens?.length], [100_000, 100_000]);
  });
});

describe('log-probabilities', () => {
  const of = (logprobs: readonly unknown[], key: 'content' | 'token_logprobs' = 'content'): Reply['logprobs'] => {
    const token_ids = logprobs.map((_, index) => index);
    return wholeOf(choice({ content: 'x' }, 'stop', { token_ids, logprobs: { [key]: logprobs } })).logprobs;
  };

  it('are those of the tokens', () => {
    assert.deepEqual(of([{ logprob: -0.5 }, { logprob: 0 }]), [-0.5, 0]);
    assert.deepEqual(of([-0.5, -100], 'token_logprobs'), [-0.5, -100]);
  });

  it('are none where one is missing: it is no certainty', () => {
    for (const one of [null, undefined, -9999, -9999.5, 0.5, '-1', {}]) {
      assert.equal(of([{ logprob: -0.5 }, { logprob: one }]), null);
      assert.equal(of([-0.5, one], 'token_logprobs'), null);
    }
    for (const logprobs of [null, undefined, {}, 'x', { content: null }, { content: [null] }]) {
      assert.equal(wholeOf(choice({ content: 'x' }, 'stop', { logprobs })).logprobs, null);
    }
    const with1 = { token_ids: [1], logprobs: { content: [{ logprob: -1 }] } };
    assert.equal(
      replyOf(delta({ content: 'x' }, null, with1), delta({ content: 'y' }, 'stop', { token_ids: [2] })).logprobs,
      null,
    );
  });

  it('are none of tokens that cannot be read', () => {
    assert.deepEqual(wholeOf(choice({ content: 'x' }, 'stop', { token_ids: [0, 7] })).tokens, [0, 7]);
    for (const token_ids of ['x', [1.5], [-1], [null]]) {
      const { text, tokens } = wholeOf(choice({ content: 'x' }, 'stop', { token_ids }));
      assert.deepEqual([text, tokens], ['x', null]);
    }
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
  assert.deepEqual(buildRequestBody({ api: 'chat', model: 'm', stream: false }, form, context, sampling, null), {
    model: 'm',
    ...request,
    max_tokens: 6,
    temperature: 0.5,
    top_p: 1,
  });
});
