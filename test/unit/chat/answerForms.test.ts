/** Answers of model servers in the forms in which they differ, whole and in pieces. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readApiCall, detectApi, bodyIn, type RecordedApi } from '../../../src/chat/apiCalls.ts';

const REQUEST = { model: 'm', messages: [{ role: 'user', content: 'q' }] };
type Said = readonly [text: string, finish: string, tools?: readonly string[]];

/** What an answer says; null where it says nothing. */
function said(answer: unknown, api: RecordedApi = 'chat', request: unknown = REQUEST): Said | null {
  const [message] = readApiCall(api, request, answer)?.output ?? [];
  if (message === undefined) {
    return null;
  }
  const { text, finish, calls } = message;
  // Of calls without an id the text says all.
  const named = [...calls].flatMap(([id, name]) => (id.startsWith('#') ? [] : [name]));
  return named.length === 0 ? [text, finish] : [text, finish, named];
}
const whole = (message: unknown, finish: unknown = 'stop'): unknown => ({
  choices: [{ index: 0, message, finish_reason: finish }],
});
const piece = (delta: unknown, finish: unknown = null): unknown => ({
  choices: [{ index: 0, delta, finish_reason: finish }],
});
const DONE = bodyIn('[DONE]');

describe('the content of an answer', () => {
  it('is read in every form, whole and in pieces alike', () => {
    const forms: readonly (readonly [unknown, string])[] = [
      [{ content: 'x' }, 'x'],
      [{ content: 42 }, '42'],
      [{ content: false }, 'false'],
      [{ content: null }, ''],
      [{}, ''],
      [{ content: [{ type: 'text', text: 'x' }] }, 'x'],
      [{ content: { type: 'text', text: 'x' } }, 'x'],
      [{ content: null, refusal: 'No.' }, 'No.'],
      [{ content: 'x', reasoning_content: 'Hm.' }, 'Hm.\nx'],
      [{ content: 'x', reasoning: 'Hm.', reasoning_details: [{ type: 'reasoning.text', text: 'Hm.' }] }, 'Hm.\nx'],
      [{ content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'Hm.' }] }, 'x'] }, 'Hm.\nx'],
      [{ content: null, audio: { id: 'a', data: 'AAAA', transcript: 'heard' } }, 'heard'],
      [{ content: null, function_call: { name: 'sum', arguments: '[1]' } }, 'sum [1]'],
      [{ content: null, tool_calls: [{ function: { name: 'sum', arguments: { of: 1 } } }] }, 'sum {"of":1}'],
    ];
    for (const [message, text] of forms) {
      const name = JSON.stringify(message);
      assert.deepEqual(said(whole(message)), [text, 'end'], name);
      assert.deepEqual(said([piece(message), piece({}, 'stop'), DONE]), [text, 'end'], name);
    }
  });

  it('in pieces is one text, with its reasoning before it', () => {
    const pieces = [
      piece({ role: 'assistant', content: '', reasoning_content: 'Let me' }),
      piece({ reasoning_content: ' see.' }),
      piece({ content: [{ type: 'text', text: 'It is' }] }),
      piece({ content: ' 4' }),
      piece({ content: 2 }),
      piece({ content: '' }, 'length'),
    ];
    assert.deepEqual(said(pieces), ['Let me see.\nIt is 42', 'length']);
    const asked = [
      piece({ function_call: { name: 'search', arguments: '{"q"' } }),
      piece({ function_call: { name: 'search', arguments: ':1}' } }, 'function_call'),
    ];
    assert.deepEqual(said(asked), ['search {"q":1}', 'end']);
    assert.deepEqual(said([...['ha', 'ha'].map((content) => ({ choices: [{ message: { content } }] })), DONE]), [
      'haha',
      'end',
    ]);
  });
});

describe('the end of an answer', () => {
  it('is at a length in every word for it, and else an end', () => {
    for (const [word, finish] of [
      ['stop', 'end'],
      ['end_turn', 'end'],
      ['stop_sequence', 'end'],
      ['tool_use', 'end'],
      ['STOP', 'end'],
      ['eos', 'end'],
      ['eos_token', 'end'],
      ['tool_calls', 'end'],
      ['nobody_knows_this', 'end'],
      ['length', 'length'],
      ['max_tokens', 'length'],
      ['MAX_TOKENS', 'length'],
      [{ type: 'length', length: 4 }, 'length'],
    ] as const) {
      assert.deepEqual(said(whole({ content: 'x' }, word)), ['x', finish], JSON.stringify(word));
      assert.deepEqual(said([piece({ content: 'x' }), piece({}, word)]), ['x', finish], JSON.stringify(word));
    }
  });

  it('is missing only where a stream is cut', () => {
    for (const none of [null, undefined, '', 'null']) {
      assert.deepEqual(said(whole({ content: 'x' }, none)), ['x', 'end']);
      assert.deepEqual(said([piece({ content: 'x' }, none), DONE]), ['x', 'end']);
      assert.equal(said([piece({ content: 'x' }, none)]), null);
    }
    const failed = { error: { message: 'overloaded' } };
    assert.equal(said([piece({ content: 'x' }), failed, DONE]), null);
    for (const error of [null, {}, '', { message: '', code: null }]) {
      assert.deepEqual(said([{ ...Object(piece({ content: 'x' })), error }, DONE]), ['x', 'end']);
    }
  });
});

it('answers beside the first are counted', () => {
  const choices = [1, 0, 2].map((index) => ({ index, message: { content: String(index) }, finish_reason: 'stop' }));
  const call = readApiCall('chat', REQUEST, { choices });
  assert.deepEqual([call?.output.map(({ text }) => text), call?.furtherChoices], [['0'], 2]);
  const pieces = choices.map(({ index, message, ...rest }) => ({ choices: [{ index, delta: message, ...rest }] }));
  assert.deepEqual([said(pieces), readApiCall('chat', REQUEST, pieces)?.furtherChoices], [['0', 'end'], 2]);
  assert.equal(readApiCall('chat', REQUEST, whole({ content: 'x' }))?.furtherChoices, 0);
});

it('tokens are counted where the server counts them in whole numbers', () => {
  const counted = (usage: unknown): unknown => {
    const call = readApiCall('chat', REQUEST, [
      piece({ content: 'x' }, 'stop'),
      { choices: [], usage },
      { choices: [], usage: null },
    ]);
    return [call?.promptTokens, call?.completionTokens];
  };
  assert.deepEqual(counted({ prompt_tokens: 5, completion_tokens: 7 }), [5, 7]);
  for (const usage of [undefined, null, {}, { prompt_tokens: null }, { prompt_tokens: 1.5 }, 'x', [1]]) {
    assert.deepEqual(counted(usage), [0, 0]);
  }
});

describe("Anthropic's messages", () => {
  const request = {
    model: 'c',
    system: [{ type: 'text', text: 'Be short.' }],
    messages: [{ role: 'user', content: 'q' }],
  };
  const usage = { input_tokens: 3, cache_read_input_tokens: 4, output_tokens: 9 };
  const message = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'c-1',
    content: [
      { type: 'thinking', thinking: 'Hm.', signature: 's' },
      { type: 'text', text: 'I look.' },
      { type: 'tool_use', id: 't', name: 'search', input: { q: 1 } },
    ],
    stop_reason: 'max_tokens',
    usage,
  };
  const delta = (index: number, of: object): object => ({ type: 'content_block_delta', index, delta: of });
  const start = (index: number, content_block: object): object => ({
    type: 'content_block_start',
    index,
    content_block,
  });
  const events = [
    {
      type: 'message_start',
      message: { ...message, content: [], stop_reason: null, usage: { ...usage, output_tokens: 1 } },
    },
    start(0, { type: 'thinking', thinking: '' }),
    delta(0, { type: 'thinking_delta', thinking: 'H' }),
    delta(0, { type: 'thinking_delta', thinking: 'm.' }),
    delta(0, { type: 'signature_delta', signature: 's' }),
    { type: 'ping' },
    start(1, { type: 'text', text: '' }),
    delta(1, { type: 'text_delta', text: 'I ' }),
    delta(1, { type: 'text_delta', text: 'look.' }),
    start(2, { type: 'tool_use', id: 't', name: 'search', input: {} }),
    delta(2, { type: 'input_json_delta', partial_json: '{"q"' }),
    delta(2, { type: 'input_json_delta', partial_json: ':1}' }),
    { type: 'content_block_stop', index: 2 },
    { type: 'message_delta', delta: { stop_reason: 'max_tokens' }, usage: { output_tokens: 9, input_tokens: null } },
    { type: 'message_stop' },
  ];

  it('are the same whole and in events', () => {
    for (const answer of [message, events]) {
      const call = readApiCall('messages', request, answer);
      assert.deepEqual(said(answer, 'messages', request), ['Hm.\nI look.\nsearch {"q":1}', 'length', ['search']]);
      assert.deepEqual([call?.model, call?.promptTokens, call?.completionTokens], ['c-1', 7, 9]);
      assert.deepEqual(
        call?.input.map(({ role, text }) => [role, text]),
        [
          ['system', 'Be short.'],
          ['user', 'q'],
        ],
      );
    }
  });

  it('say nothing where the events are cut, or fail', () => {
    assert.equal(said(events.slice(0, -2), 'messages'), null);
    assert.equal(said([...events.slice(0, -2), { type: 'error', error: { message: 'overloaded' } }], 'messages'), null);
    assert.equal(said({ type: 'error', error: { message: 'overloaded' } }, 'messages'), null);
  });
});

describe("OpenAI's responses in pieces", () => {
  const item = (output_index: number, of: object, type = 'response.output_item.done'): object => ({
    type,
    output_index,
    item: of,
  });
  const message = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Sun.' }] };
  const tool = { type: 'function_call', call_id: 'a', name: 'sum', arguments: '[1]' };
  const request = { model: 'm', input: 'q' };
  const end = { type: 'response.completed', response: { model: 'm-1', status: 'completed', output: [] } };

  it('are the items that came where the last event has none', () => {
    const items = [item(0, { type: 'message' }, 'response.output_item.added'), item(0, message), item(1, tool)];
    assert.deepEqual(said([...items, end], 'responses', request), ['Sun.\nsum [1]', 'end', ['sum']]);
    assert.deepEqual(said([...items, DONE], 'responses', request), ['Sun.\nsum [1]', 'end', ['sum']]);
    assert.equal(said(items, 'responses', request), null);
    assert.equal(said([...items, { type: 'response.failed', response: {} }], 'responses', request), null);
  });

  it('are what was said of an item that did not end', () => {
    const pieces = [
      item(0, { ...message, content: [] }, 'response.output_item.added'),
      { type: 'response.output_text.delta', output_index: 0, delta: 'Su' },
      { type: 'response.output_text.delta', output_index: 0, delta: 'n' },
      item(1, { ...tool, arguments: '' }, 'response.output_item.added'),
      { type: 'response.function_call_arguments.delta', output_index: 1, delta: '[1]' },
      { type: 'response.incomplete', response: { status: 'incomplete' } },
    ];
    assert.deepEqual(said(pieces, 'responses', request), ['Sun\nsum [1]', 'length', ['sum']]);
  });
});

describe('other servers', () => {
  it('of Gemini answer with candidates, whole and in pieces', () => {
    const request = {
      systemInstruction: { parts: [{ text: 'Be short.' }] },
      contents: [{ parts: [{ text: 'q' }] }, { role: 'model', parts: [{ text: 'a' }] }],
    };
    const usageMetadata = { promptTokenCount: 3, candidatesTokenCount: 2, thoughtsTokenCount: 4 };
    const candidate = (parts: readonly unknown[], finishReason?: string): unknown => ({
      candidates: [{ content: { role: 'model', parts }, ...(finishReason !== undefined && { finishReason }) }],
      usageMetadata,
      modelVersion: 'g-1',
    });
    const call = { functionCall: { name: 'sum', args: { of: 1 } } };
    const pieces = [candidate([{ text: 'Su' }]), candidate([{ text: 'n.' }]), candidate([call], 'MAX_TOKENS')];
    for (const answer of [candidate([{ text: 'Sun.' }, call], 'MAX_TOKENS'), pieces]) {
      assert.deepEqual(said(answer, 'gemini', request), ['Sun.\nsum {"of":1}', 'length']);
      const read = readApiCall('gemini', request, answer);
      assert.deepEqual([read?.model, read?.promptTokens, read?.completionTokens], ['g-1', 3, 6]);
      assert.deepEqual(
        read?.input.map(({ role, text }) => [role, text]),
        [
          ['system', 'Be short.'],
          ['user', 'q'],
          ['assistant', 'a'],
        ],
      );
    }
    assert.equal(said(pieces.slice(0, 2), 'gemini', request), null);
  });

  it('of Gemini think in parts of their own, which are not what was said', () => {
    const part = (text: string, thought: boolean): unknown => ({ text, ...(thought && { thought }) });
    const body = (parts: readonly unknown[], finishReason?: string): unknown => ({
      candidates: [{ content: { role: 'model', parts }, ...(finishReason !== undefined && { finishReason }) }],
    });
    const whole = body([part('Which star?', true), part('The Sun.', false)], 'STOP');
    const pieces = [body([part('Which ', true)]), body([part('star?', true)])];
    pieces.push(body([part('The ', false)]), body([part('Sun.', false)], 'STOP'));
    for (const answer of [whole, pieces]) {
      const [message] = readApiCall('gemini', { contents: [{ parts: [{ text: 'q' }] }] }, answer)?.output ?? [];
      assert.deepEqual([message?.text, message?.spoken], ['Which star?\nThe Sun.', 'The Sun.']);
    }
  });

  it('of Ollama answer in lines', () => {
    const lines = [
      { model: 'o', message: { role: 'assistant', content: 'ha', thinking: 'Hm.' }, done: false },
      { model: 'o', message: { role: 'assistant', content: 'ha' }, done: false },
      {
        message: { content: '', tool_calls: [{ function: { name: 'sum', arguments: { of: 1 } } }] },
        done: true,
        done_reason: 'length',
        prompt_eval_count: 3,
        eval_count: 2,
      },
    ];
    const answer = bodyIn(lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
    assert.deepEqual(said(answer, 'ollama'), ['Hm.\nhaha\nsum {"of":1}', 'length']);
    const call = readApiCall('ollama', REQUEST, answer);
    assert.deepEqual([call?.model, call?.promptTokens, call?.completionTokens], ['o', 3, 2]);
    assert.equal(said(lines.slice(0, 2), 'ollama'), null);
    assert.deepEqual(said({ message: { content: 'x' }, done: true }, 'ollama'), ['x', 'end']);
  });
});

it('a body is JSON, or several as lines or events', () => {
  assert.deepEqual(bodyIn('{"a":1}\n'), { a: 1 });
  assert.deepEqual(bodyIn('{"a":1}\r\n{"a":2}\n'), [{ a: 1 }, { a: 2 }]);
  assert.deepEqual(bodyIn(': hello\ndata: {"a":1}\n\nevent: x\ndata:{"a":2}\n\ndata: [DONE]\n\n'), [
    { a: 1 },
    { a: 2 },
    DONE,
  ]);
  for (const none of ['', 'x', '"x"', '{"a":1}\n{"a":', 'data: x', '<html>\n</html>']) {
    assert.ok(bodyIn(none) === null || (bodyIn(none) as readonly unknown[]).length === 0, none);
  }
});

it('the form of a request is seen in its path', () => {
  for (const [path, api] of [
    ['/chat/completions', 'chat'],
    ['/v1/chat/completions/', 'chat'],
    ['/openai/deployments/NAME/chat/completions?api-version=2024-10-21', 'chat'],
    ['/openai/deployments/NAME/completions?api-version=1', 'completions'],
    ['completions', 'completions'],
    ['//responses?x=/messages', 'responses'],
    ['/messages?beta=true', 'messages'],
    ['/v1/messages', 'messages'],
    ['/anthropic/v1/messages/', 'messages'],
    ['/v1beta/models/g:generateContent?key=x', 'gemini'],
    ['/models/g:streamGenerateContent?alt=sse', 'gemini'],
    ['/api/chat', 'ollama'],
    ['/v1/threads/t/messages', null],
    ['/messages/count_tokens', null],
    ['/chat/completions/id', null],
    ['/responses/id/cancel', null],
    ['/models', null],
    ['/__proto__', null],
    ['', null],
  ] as const) {
    assert.equal(detectApi(path), api, path);
  }
});

it('what is nested too deeply, or has too many parts, is no call', () => {
  const deep: unknown = JSON.parse(`${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}`);
  assert.equal(said(whole({ content: deep })), null);
  const many = Array.from({ length: 5000 }, (_, index) => ({
    type: 'content_block_delta',
    index,
    delta: { type: 'text_delta', text: 'x' },
  }));
  assert.equal(said([...many, { type: 'message_stop' }], 'messages'), null);
  const long = Array.from({ length: 100_000 }, () => piece({ content: 'ab', reasoning: 'c' }));
  assert.equal(said([...long, DONE])?.[0].length, 300_001);
});
