/** Logs of further libraries, each after its source, with what must be read of it. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { askedIn, saidIn, wholeLog } from './wholeLog.ts';

const json = (value: unknown): string => JSON.stringify(value);
const USER = { role: 'user', content: 'Where?' };

describe('what an answer quotes is in its message:', () => {
  const answer = (part: unknown): string => json([USER, { role: 'assistant', content: [part] }]);

  it('of documents and of pages that Anthropic reads', () => {
    const document = {
      type: 'char_location',
      cited_text: 'Oslo is a city.',
      document_index: 0,
      document_title: 'Plan',
    };
    const page = { type: 'web_search_result_location', url: 'https://a.org', title: null, cited_text: 'In Norway.' };
    assert.deepEqual(saidIn(answer({ type: 'text', text: 'Oslo', citations: [document, page] })), [
      'assistant > Oslo\n[citation] Plan: Oslo is a city.\n[citation] In Norway.',
    ]);
  });

  it('of Bedrock, where it is around the text', () => {
    const citation = { title: 'Plan', location: {}, sourceContent: [{ text: 'Oslo is a city.' }] };
    assert.deepEqual(saidIn(answer({ citationsContent: { content: [{ text: 'Oslo' }], citations: [citation] } })), [
      'assistant > Oslo\n[citation] Plan: Oslo is a city.',
    ]);
  });

  it("of threads of OpenAI's assistants, whose texts are objects", () => {
    const annotation = { type: 'file_citation', text: '[0]', file_citation: { file_id: 'f', quote: 'A city.' } };
    assert.deepEqual(saidIn(answer({ type: 'text', text: { value: 'Oslo', annotations: [annotation] } })), [
      'assistant > Oslo\n[citation] A city.',
    ]);
  });

  it('of LiteLLM, beside the message', () => {
    const log = json([
      USER,
      { role: 'assistant', content: 'Oslo', provider_specific_fields: { citations: [[{ cited_text: 'A city.' }]] } },
    ]);
    assert.deepEqual(saidIn(log), ['assistant > Oslo\n[citation] A city.']);
  });
});

describe('messages and their parts are read as a library names them:', () => {
  const FOUND = ['assistant > I look.\nfind {"q":1}', '[find] A city.', 'assistant > Oslo'];

  it('Haystack, by their keys (from 2.12)', () => {
    const call = { id: 'c', tool_name: 'find', arguments: { q: 1 } };
    const log = json([
      { role: 'user', content: [{ text: 'Where?' }], meta: {}, name: null },
      {
        role: 'assistant',
        content: [{ reasoning: { reasoning_text: 'I look.', extra: {} } }, { tool_call: call }],
        meta: {},
      },
      { role: 'tool', content: [{ tool_call_result: { result: 'A city.', origin: call, error: false } }], meta: {} },
      { role: 'assistant', content: [{ text: 'Oslo' }], meta: {} },
    ]);
    assert.deepEqual(saidIn(log), FOUND);
  });

  it('LlamaIndex, in blocks (llama-index-core 0.14)', () => {
    const block = (type: string, more: object) => ({ block_type: type, ...more });
    const log = json([
      { role: 'user', additional_kwargs: {}, blocks: [block('text', { text: 'Where?' })] },
      {
        role: 'assistant',
        additional_kwargs: {},
        blocks: [
          block('thinking', { content: 'I look.' }),
          block('tool_call', { tool_call_id: 'c', tool_name: 'find', tool_kwargs: { q: 1 } }),
        ],
      },
      { role: 'tool', additional_kwargs: { tool_call_id: 'c' }, blocks: [block('text', { text: 'A city.' })] },
      { role: 'assistant', additional_kwargs: {}, blocks: [block('text', { text: 'Oslo' })] },
    ]);
    assert.deepEqual(saidIn(log), FOUND);
  });

  it('Semantic Kernel for Python, in items (semantic-kernel 1)', () => {
    const item = (type: string, more: object) => ({ metadata: {}, content_type: type, ...more });
    const log = json({
      messages: [
        { content_type: 'message', role: 'user', items: [item('text', { text: 'Where?' })] },
        {
          content_type: 'message',
          role: 'assistant',
          items: [
            item('text', { text: 'I look.' }),
            item('function_call', { id: 'c', index: 0, name: 'find', arguments: '{"q":1}' }),
          ],
        },
        {
          content_type: 'message',
          role: 'tool',
          items: [item('function_result', { id: 'c', name: 'find', result: 'A city.' })],
        },
        { content_type: 'message', role: 'assistant', items: [item('text', { text: 'Oslo' })] },
      ],
    });
    assert.deepEqual(saidIn(log), FOUND);
  });

  it('Cohere, with a plan before its calls (the client of version 2)', () => {
    const log = json([
      USER,
      {
        role: 'assistant',
        tool_plan: 'I look.',
        tool_calls: [{ id: 'c', type: 'function', function: { name: 'find', arguments: '{"q":1}' } }],
      },
      { role: 'tool', tool_call_id: 'c', content: 'A city.' },
      { role: 'assistant', content: [{ type: 'text', text: 'Oslo' }] },
    ]);
    assert.deepEqual(saidIn(log), FOUND);
    assert.deepEqual(askedIn(log)[0], 'user: Where?');
  });
});

describe('requests and answers are read under the keys of', () => {
  const ANTHROPIC = { system: 'Be terse.', messages: [USER] };
  const MESSAGE = { type: 'message', role: 'assistant', content: [{ type: 'text', text: 'Oslo' }] };

  it("Bedrock's log of invocations, also of streams (schema 1.0), and its batches", () => {
    const invoked = (output: unknown) =>
      json({
        schemaType: 'ModelInvocationLog',
        operation: 'InvokeModel',
        modelId: 'm',
        input: { inputContentType: 'application/json', inputBodyJson: ANTHROPIC },
        output: { outputContentType: 'application/json', outputBodyJson: output },
      });
    const logs = [
      invoked(MESSAGE),
      invoked({ output: { message: { role: 'assistant', content: [{ text: 'Oslo' }] } }, stopReason: 'end_turn' }),
      invoked([
        { type: 'message_start', message: { role: 'assistant', content: [] } },
        { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
        { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Os' } },
        { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'lo' } },
        { type: 'message_stop' },
      ]),
      json({ recordId: 'r', modelInput: ANTHROPIC, modelOutput: MESSAGE }),
    ];
    for (const log of logs) {
      assert.deepEqual([askedIn(log), saidIn(log)], [['system: Be terse.', 'user: Where?'], ['assistant > Oslo']], log);
    }
  });

  it('a batch of Anthropic, of which one request failed', () => {
    const lines = [
      { custom_id: '1', params: { model: 'm', ...ANTHROPIC } },
      { custom_id: '2', params: { model: 'm', ...ANTHROPIC } },
      { custom_id: '2', result: { type: 'errored', error: { type: 'error', error: { message: 'slow' } } } },
      { custom_id: '1', result: { type: 'succeeded', message: MESSAGE } },
    ];
    const log = lines.map(json).join('\n');
    assert.deepEqual([askedIn(log), saidIn(log)], [['system: Be terse.', 'user: Where?'], ['assistant > Oslo']]);
    assert.equal(wholeLog(log).leftOut.get('calls that failed'), 1);
  });

  it('Helicone', () => {
    const log = json({ request_id: 'r', request_body: { messages: [USER] }, response_body: MESSAGE });
    assert.deepEqual([askedIn(log), saidIn(log)], [['user: Where?'], ['assistant > Oslo']]);
  });

  it('settings beside the messages, which are no request', () => {
    const log = json({ params: { temperature: 0 }, messages: [USER], response: MESSAGE });
    assert.deepEqual([askedIn(log), saidIn(log)], [['user: Where?'], ['assistant > Oslo']]);
  });

  it("DSPy's history, whose answers are texts of Python objects (dspy 3)", () => {
    const entry = { prompt: null, messages: [USER], response: "ModelResponse(id='x')", model: 'm' };
    const outputs = [{ text: 'Oslo', reasoning_content: 'Norway.', tool_calls: [{ function: { name: 'find' } }] }];
    assert.deepEqual(saidIn(json({ ...entry, outputs: ['Oslo'] })), ['assistant > Oslo']);
    assert.deepEqual(saidIn(json({ ...entry, outputs })), ['assistant > Norway.\nOslo\nfind']);
    assert.deepEqual(saidIn(json({ prompt: 'Where?', messages: null, outputs })), ['assistant > Norway.\nOslo\nfind']);
  });
});

describe('Cohere in its version 1', () => {
  const call = { name: 'find', parameters: { q: 1 } };
  const results = [{ call, outputs: [{ text: 'A city.' }] }];
  const history = [
    { role: 'USER', message: 'Where?' },
    { role: 'CHATBOT', message: 'I look.', tool_calls: [call] },
  ];
  const FOUND = ['assistant > I look.\nfind {"q":1}', '[find] A city.', 'assistant > Oslo'];

  it('has results of tools as messages', () => {
    const chat = [...history, { role: 'TOOL', tool_results: results }, { role: 'CHATBOT', message: 'Oslo' }];
    assert.deepEqual(saidIn(json({ chat_history: chat })), FOUND);
  });

  it('asks with results or words beside the history, and answers with a text', () => {
    const asks = { message: '', preamble: 'Be terse.', chat_history: history, tool_results: results };
    const log = json({ request: asks, response: { text: 'Oslo', generation_id: 'g' } });
    assert.deepEqual([saidIn(log), askedIn(log)[0]], [FOUND, 'system: Be terse.']);
    const first = json({ request: { message: 'Where?' }, response: { text: 'I look.', tool_calls: [call] } });
    assert.deepEqual([askedIn(first), saidIn(first)], [['user: Where?'], ['assistant > I look.\nfind {"q":1}']]);
  });

  it('answers with the history, which may end with the answer', () => {
    const chat = [{ role: 'USER', message: 'Where?' }];
    for (const chat_history of [chat, [...chat, { role: 'CHATBOT', message: 'Oslo' }]]) {
      assert.deepEqual(saidIn(json({ text: 'Oslo', chat_history, finish_reason: 'COMPLETE' })), ['assistant > Oslo']);
    }
  });
});
