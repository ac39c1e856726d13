/** Logs of further libraries, each after its source, with what must be read of it. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { LogReader } from '../../../src/logs/source.ts';
import { askedIn, saidIn, sourceOf, wholeLog } from './wholeLog.ts';

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

  it('of a stream of Anthropic', () => {
    const citation = { type: 'char_location', cited_text: 'Oslo is a city.', document_title: 'Plan' };
    const delta = (one: object) => ({ type: 'content_block_delta', index: 0, delta: one });
    const response = [
      { type: 'message_start', message: { role: 'assistant', content: [] } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '', citations: [] } },
      delta({ type: 'text_delta', text: 'Oslo' }),
      delta({ type: 'citations_delta', citation }),
      { type: 'message_stop' },
    ];
    assert.deepEqual(saidIn(json({ request: { messages: [USER] }, response })), [
      'assistant > Oslo\n[citation] Plan: Oslo is a city.',
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

  it('any that has a text and parts beside each other', () => {
    const parts = [
      { type: 'text', text: 'I look.' },
      { type: 'tool_call', id: 'c', name: 'find', args: { q: 1 } },
    ];
    const gave = { role: 'tool', tool_call_id: 'c', content: 'A city.' };
    const log = json([USER, { role: 'assistant', content: 'I look.', blocks: parts }, gave]);
    assert.deepEqual(saidIn(log), FOUND.slice(0, 2));
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

  it("DSPy's history, whose answers are texts of Python objects (base_lm.py)", () => {
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

describe('entries under keys of their own are the messages of', () => {
  const lines = (...values: readonly unknown[]): string => values.map(json).join('\n');
  const CALL = { id: 'c', type: 'function', function: { name: 'find', arguments: { q: 1 } } };
  const FOUND = ['assistant > I look.\nfind {"q":1}', '[find] A city.', 'assistant > Oslo'];

  it('Letta, whose answers come in pieces with one id (letta_message.py)', () => {
    const piece = (id: number, type: string, more: object) => ({
      id: `message-${id}`,
      date: '2025-06-01T10:00:00+00:00',
      message_type: `${type}_message`,
      ...more,
    });
    const call = { name: 'find', arguments: '{"q":1}', tool_call_id: 'c' };
    const messages = [
      piece(0, 'system', { content: 'Be terse.' }),
      piece(1, 'user', { content: [{ type: 'text', text: 'Where?' }] }),
      piece(2, 'reasoning', { source: 'reasoner_model', reasoning: 'I look.' }),
      piece(2, 'tool_call', { tool_call: call }),
      piece(3, 'tool_return', { tool_return: 'A city.', status: 'success', tool_call_id: 'c', stdout: null }),
      piece(4, 'assistant', { content: 'Oslo' }),
    ];
    for (const log of [json({ messages }), json(messages), lines(...messages)]) {
      assert.deepEqual([askedIn(log).slice(0, 2), saidIn(log)], [['system: Be terse.', 'user: Where?'], FOUND]);
    }
    const refused = json([
      ...messages.slice(0, 3),
      piece(2, 'approval_request', { tool_call: call, tool_calls: [call] }),
      piece(3, 'approval_response', { approvals: [{ type: 'approval', approve: false, reason: 'Not now.' }] }),
      piece(4, 'hidden_reasoning', { state: 'omitted', hidden_reasoning: null }),
      piece(4, 'tool_call', { tool_call: call, tool_calls: [call, { ...call, tool_call_id: 'd' }] }),
      piece(5, 'tool_return', {
        tool_return: 'A city.',
        tool_call_id: 'c',
        tool_returns: [
          { type: 'tool', tool_return: 'A city.', tool_call_id: 'c', stderr: ['slow'] },
          { type: 'tool', tool_return: [{ type: 'text', text: 'In Norway.' }], tool_call_id: 'd' },
        ],
      }),
    ]);
    assert.deepEqual(saidIn(refused), [
      'assistant > I look.\nfind {"q":1}',
      '[user] Not now.',
      'assistant > find {"q":1}\nfind {"q":1}',
      '[find] A city.\nslow',
      '[find] In Norway.',
    ]);
    const file = json({
      agents: [{ name: 'a', messages: [USER, { role: 'assistant', content: 'Oslo' }] }],
      blocks: [],
    });
    assert.deepEqual(saidIn(file), ['assistant > Oslo']);
  });

  it('smolagents, each with all that it was asked, where the log has it (memory.py)', () => {
    const step = (number: number, more: object) => ({
      step_number: number,
      timing: { start_time: 1_748_772_000.5, end_time: 1_748_772_001, duration: 0.5 },
      tool_calls: [],
      error: null,
      observations: null,
      action_output: null,
      token_usage: { input_tokens: 3, output_tokens: 4 },
      is_final_answer: false,
      ...more,
    });
    const asked = [
      { role: 'system', content: [{ type: 'text', text: 'Be terse.' }] },
      { role: 'user', content: [{ type: 'text', text: 'New task:\nWhere?' }] },
      { role: 'tool-call', content: [{ type: 'text', text: 'Calling tools' }] },
      { role: 'tool-response', content: [{ type: 'text', text: 'Observation' }] },
    ];
    const steps = [
      { task: 'Where?', task_images: null },
      step(1, { model_output: 'I look.', tool_calls: [CALL], observations: 'A city.' }),
      step(2, { model_output: 'Oslo', action_output: 'Oslo', is_final_answer: true, model_input_messages: asked }),
    ];
    const holder = { memory: { system_prompt: { system_prompt: 'Be terse.' }, steps } };
    for (const log of [json(steps), json({ output: 'Oslo', state: 'success', steps }), json(holder)]) {
      assert.deepEqual(saidIn(log), FOUND);
      assert.deepEqual(askedIn(log), [
        'system: Be terse.',
        'user: New task:\nWhere?',
        'assistant: Calling tools',
        'tool: Observation',
      ]);
    }
    assert.deepEqual(askedIn(json({ memory: { ...holder.memory, steps: steps.slice(0, 2) } })), [
      'system: Be terse.',
      'user: Where?',
    ]);
    const [message] = wholeLog(json(steps)).episodes.flatMap(({ entries }) => entries);
    assert.ok(message?.kind === 'message');
    assert.deepEqual([message.promptTokens, message.completionTokens, message.measured?.seconds], [3, 4, 0.5]);
  });

  it('smolagents, whose code is said once, and whose plans and errors are kept', () => {
    const code = { id: 'c', type: 'function', function: { name: 'python_interpreter', arguments: 'x = 1' } };
    const log = json([
      { task: 'Where?' },
      { plan: 'I think, then I say it.', model_input_messages: [USER], model_output_message: { content: 'I think' } },
      {
        step_number: 1,
        model_output: 'Code:\nx = 1',
        tool_calls: [code],
        error: { type: 'AgentExecutionError', message: 'It failed' },
        observations: 'Execution logs:',
        action_output: 7,
      },
    ]);
    assert.deepEqual(saidIn(log), [
      'assistant > I think, then I say it.',
      'assistant > Code:\nx = 1',
      '[python_interpreter] Execution logs:\n7\nIt failed',
    ]);
  });

  it('CAMEL, in the records of its memory (records.py)', () => {
    const record = (role: string, message: object) => ({ uuid: 'u', role_at_backend: role, message });
    const speaks = { __class__: 'BaseMessage', role_name: 'geo', role_type: 'assistant' };
    const calls = { ...speaks, __class__: 'FunctionCallingMessage', func_name: 'find', tool_call_id: 'c' };
    const log = lines(
      record('user', { ...speaks, role_name: 'User', content: 'Where?' }),
      record('assistant', { ...calls, content: 'I look.', args: { q: 1 }, result: null }),
      record('function', { ...calls, content: '', args: null, result: 'A city.' }),
      record('assistant', { ...speaks, content: 'Oslo' }),
    );
    assert.deepEqual(saidIn(log), ['geo > I look.\nfind {"q":1}', '[find] A city.', 'geo > Oslo']);
  });

  it('CrewAI, in its log of tasks and in the output of a crew (file_handler.py)', () => {
    const task = (status: string, more: object = {}) => ({ task: 'Find it.', agent: 'Finder', status, ...more });
    const log = json([task('started'), task('completed', { output: 'Oslo' })]);
    assert.deepEqual([askedIn(log), saidIn(log)], [['user: Find it.'], ['Finder > Oslo']]);
    const messages = [{ role: 'system', content: 'Be terse.' }, USER, { role: 'assistant', content: 'Oslo' }];
    const crew = json({
      raw: 'Bergen',
      tasks_output: [
        { description: 'Find it.', raw: 'Oslo', agent: 'Finder' },
        { description: 'Say another.', raw: 'Bergen', agent: 'Writer', messages },
      ],
    });
    assert.deepEqual(saidIn(crew), ['Finder > Oslo', '[user] Say another.', 'Writer > Bergen']);
    assert.deepEqual(askedIn(crew), ['system: Be terse.', 'user: Where?']);
  });

  it('the OpenHands SDK (openhands-sdk 1)', () => {
    const text = (value: string) => [{ type: 'text', text: value }];
    const call = (id: string) => ({
      kind: 'ActionEvent',
      source: 'agent',
      thought: id === 'c' ? text('I look.') : [],
      action: { kind: 'FindAction', q: 1 },
      tool_name: 'find',
      tool_call_id: id,
      tool_call: { id, name: 'find', arguments: '{"q":1}' },
      llm_response_id: 'chatcmpl-1',
    });
    const log = lines(
      { kind: 'SystemPromptEvent', source: 'agent', system_prompt: { type: 'text', text: 'Be terse.' }, tools: [] },
      { kind: 'MessageEvent', source: 'user', llm_message: { role: 'user', content: text('Where?') } },
      call('c'),
      call('d'),
      {
        kind: 'ObservationEvent',
        source: 'environment',
        tool_name: 'find',
        tool_call_id: 'c',
        observation: { kind: 'FindObservation', content: text('A city.') },
      },
      { kind: 'AgentErrorEvent', source: 'agent', tool_name: 'find', tool_call_id: 'd', error: 'slow' },
      { kind: 'MessageEvent', source: 'agent', llm_message: { role: 'assistant', content: text('Oslo') } },
    );
    assert.deepEqual(saidIn(log), [
      'assistant > I look.\nfind {"q":1}\nfind {"q":1}',
      '[find] A city.',
      '[find] slow',
      'assistant > Oslo',
    ]);
    assert.deepEqual(askedIn(log).slice(0, 2), ['system: Be terse.', 'user: Where?']);
  });

  it('Semantic Kernel for .NET, and of Haystack 2.9', () => {
    const kernel = (role: string, ...items: readonly object[]) => ({ Role: { Label: role }, Items: items });
    const content = (text: string) => ({ $type: 'TextContent', Text: text });
    const named = { FunctionName: 'find' };
    const log = json([
      kernel('user', content('Where?')),
      kernel('assistant', content('I look.'), { $type: 'FunctionCallContent', Id: 'c', ...named, Arguments: { q: 1 } }),
      kernel('tool', { $type: 'FunctionResultContent', CallId: 'c', ...named, Result: 'A city.' }),
      kernel('assistant', content('Oslo')),
    ]);
    const call = { id: 'c', tool_name: 'find', arguments: { q: 1 } };
    const old = json([
      { _role: 'user', _content: [{ text: 'Where?' }] },
      { _role: 'assistant', _content: [{ text: 'I look.' }, { tool_call: call }] },
      { _role: 'tool', _content: [{ tool_call_result: { result: 'A city.', origin: call, error: false } }] },
      { _role: 'assistant', _content: [{ text: 'Oslo' }] },
    ]);
    assert.deepEqual([saidIn(log), saidIn(old)], [FOUND, FOUND]);
  });

  it("a session of Google's ADK, whose events have an author (google-adk 1)", () => {
    const event = (author: string, role: string, part: object) => ({ author, content: { role, parts: [part] } });
    const log = json({
      appName: 'app',
      events: [
        event('user', 'user', { text: 'Where?' }),
        event('geo', 'model', { functionCall: { id: 'c', name: 'find', args: { q: 1 } } }),
        event('geo', 'user', { functionResponse: { id: 'c', name: 'find', response: { result: 'A city.' } } }),
        event('geo', 'model', { text: 'Oslo' }),
      ],
    });
    assert.deepEqual(saidIn(log), ['geo > find {"q":1}', '[find] A city.', 'geo > Oslo']);
  });

  it('OpenCode and Llama Stack, whose parts and steps have calls and results', () => {
    const state = { status: 'completed', input: { q: 1 }, output: 'A city.' };
    const code = lines(
      { info: { id: '1', role: 'user' }, parts: [{ type: 'text', text: 'Where?' }] },
      {
        info: { id: '2', role: 'assistant' },
        parts: [
          { type: 'text', text: 'I look.' },
          { type: 'tool', callID: 'c', tool: 'find', state },
        ],
      },
      { info: { id: '3', role: 'assistant' }, parts: [{ type: 'text', text: 'Oslo' }] },
    );
    const call = { call_id: 'c', tool_name: 'find', arguments: { q: 1 } };
    const said = { role: 'assistant', content: 'Oslo', stop_reason: 'end_of_turn' };
    const turn = {
      input_messages: [USER],
      steps: [
        { step_type: 'inference', model_response: { role: 'assistant', content: 'I look.', tool_calls: [call] } },
        { step_type: 'memory_retrieval', vector_db_ids: 'v', inserted_context: 'Maps.' },
        { step_type: 'tool_execution', tool_responses: [{ call_id: 'c', tool_name: 'find', content: 'A city.' }] },
        { step_type: 'inference', model_response: said },
      ],
      output_message: said,
    };
    assert.deepEqual(saidIn(code), FOUND);
    assert.deepEqual(
      saidIn(json({ session_id: 's', turns: [turn] })),
      FOUND.toSpliced(1, 0, '[memory_retrieval] Maps.'),
    );
  });

  it("Mistral's conversations and sessions of the Gemini CLI, under types of their own", () => {
    const entries = [
      { type: 'message.input', role: 'user', content: 'Where?' },
      { type: 'function.call', tool_call_id: 'c', name: 'find', arguments: '{"q":1}' },
      { type: 'function.result', tool_call_id: 'c', result: 'A city.' },
      { type: 'message.output', role: 'assistant', content: 'Oslo' },
    ];
    assert.deepEqual(saidIn(json({ object: 'conversation.history', entries })), [
      'assistant > find {"q":1}',
      '[find] A city.',
      'assistant > Oslo',
    ]);
    const messages = [
      { type: 'user', content: 'Where?' },
      { type: 'gemini', content: 'Oslo', thoughts: [{ subject: 'Places', description: 'Norway.' }] },
    ];
    assert.deepEqual(saidIn(json({ sessionId: 's', messages })), [
      'assistant > {"subject":"Places","description":"Norway."}\nOslo',
    ]);
  });

  it('AutoGen, with a thought beside the text, which SWE-agent has in it', () => {
    const log = (content: string, more: object) => json([USER, { role: 'assistant', content, ...more }]);
    assert.deepEqual(saidIn(log('Oslo', { thought: 'Norway.' })), ['assistant > Norway.\nOslo']);
    assert.deepEqual(saidIn(log('I look.\nls', { thought: 'I look.', action: 'ls' })), ['assistant > I look.\nls']);
  });

  it('a system prompt beside them', () => {
    const log = json({ system_prompt: 'Be terse.', messages: [USER, { role: 'assistant', content: 'Oslo' }] });
    assert.deepEqual(askedIn(log), ['system: Be terse.', 'user: Where?']);
  });
});

describe('each row of a table is an episode, as', () => {
  const TWO = [
    { said: ['assistant > Oslo'], asked: 'Norway?', return: 1 },
    { said: ['assistant > Bergen'], asked: 'Sweden?', return: 0 },
  ];
  const read = (log: unknown) =>
    wholeLog(json(log)).episodes.map(({ entries, question, return: score }) => ({
      said: entries.map((entry) => (entry.kind === 'message' ? `${entry.speaker} > ${entry.text}` : entry.text)),
      asked: question,
      return: score,
    }));
  const chat = (role: string, ...texts: readonly string[]) => texts.map((content) => [{ role, content }]);

  it('TRL logs completions: columns of texts or of messages, in every form of pandas', () => {
    const table = { step: ['1', '1'], prompt: ['Norway?', 'Sweden?'], completion: ['Oslo', 'Bergen'], reward: [1, 0] };
    const messages = {
      ...table,
      prompt: chat('user', ...table.prompt),
      completion: chat('assistant', ...table.completion),
    };
    const columns = Object.keys(table);
    const data = [0, 1].map((at) => Object.values(table).map((column) => column[at]));
    const keyed = Object.fromEntries(
      Object.entries(table).map(([name, column]) => [name, Object.fromEntries(column.entries())]),
    );
    const records = data.map((row) => Object.fromEntries(columns.map((name, at) => [name, row[at]])));
    for (const log of [
      table,
      messages,
      { columns, data },
      { columns, index: [0, 1], data },
      keyed,
      Object.fromEntries(records.entries()),
    ]) {
      assert.deepEqual(read(log), TWO, json(log));
      assert.deepEqual([...wholeLog(json(log)).leftOut], []);
    }
  });

  it('rows without an answer are counted', () => {
    const { episodes, leftOut } = wholeLog(json({ prompt: ['Norway?', 'Sweden?'], completion: ['Oslo', null] }));
    assert.equal(episodes.length, 1);
    assert.deepEqual([...leftOut], [['conversations in which no model says anything', 1]]);
  });

  it('data sets keep conversations and their messages by columns', () => {
    const messages = [...TWO.entries()].map(([at, { asked }]) => [
      ...chat('user', asked).flat(),
      ...chat('assistant', at === 0 ? 'Oslo' : 'Bergen').flat(),
    ]);
    assert.deepEqual(read({ messages, reward: [1, 0] }), TWO);
    assert.deepEqual(saidIn(json({ conversations: { from: ['human', 'gpt'], value: ['Norway?', 'Oslo'] } })), [
      'assistant > Oslo',
    ]);
  });

  it('parts of a data set are lists of them, beside what says nothing', () => {
    const [first, second] = TWO.map(({ asked, said: [said = ''] }) => ({
      messages: [...chat('user', asked).flat(), ...chat('assistant', said.slice('assistant > '.length)).flat()],
    }));
    const meta = { name: 'capitals' };
    for (const log of [{ train: [first], test: [second] }, { meta, a: first, b: second }, { train: [first, second] }]) {
      assert.deepEqual(
        read(log).map(({ said }) => said),
        TWO.map(({ said }) => said),
        json(log),
      );
    }
    // Two sides of one conversation are one.
    const answer = { messages: chat('assistant', 'Oslo').flat() };
    assert.equal(
      wholeLog(json({ input: { messages: chat('user', 'Norway?').flat() }, output: answer })).episodes.length,
      1,
    );
  });

  it("LlamaIndex's store of chats has conversations by their names (llama-index-core 0.14)", () => {
    const message = (role: string, text: string) => ({ role, blocks: [{ block_type: 'text', text }] });
    const store = { anna: [message('user', 'Norway?'), message('assistant', 'Oslo')] };
    const both = { ...store, bert: [message('user', 'Sweden?'), message('assistant', 'Bergen')] };
    assert.deepEqual(
      wholeLog(json({ store: both, class_name: 'SimpleChatStore' })).episodes.map(({ id }) => id),
      ['anna', 'bert'],
    );
    assert.deepEqual(saidIn(json({ store, class_name: 'SimpleChatStore' })), ['assistant > Oslo']);
  });
});

describe('what Python writes of its values is read', () => {
  // Quotes, brackets and hashes are texts.
  const python = `[{'role': 'user', 'content': "What's {this}?"}, {'role': 'assistant', 'content': 'A "city", # [one]', 'refusal': None}]`;
  const READ = [["user: What's {this}?"], ['assistant > A "city", # [one]']];

  it('in a column, also as pandas writes arrays', () => {
    for (const messages of [python, python.replace('}, {', '}\n {')]) {
      const log = json({ id: 1, messages });
      assert.deepEqual([askedIn(log), saidIn(log)], READ);
    }
    const row = json({ prompt: python.slice(0, python.indexOf('}, {') + 1).concat(']'), completion: 'Oslo' });
    assert.deepEqual([askedIn(row), saidIn(row)], [["user: What's {this}?"], ['assistant > Oslo']]);
  });

  it('in lines of its own, beside lines that are cut', () => {
    const line = `{'messages': ${python}, 'done': True}`;
    const log = [line, line.slice(0, 40), line].join('\n');
    const { episodes, leftOut } = wholeLog(log);
    assert.equal(episodes.length, 2);
    assert.deepEqual([askedIn(log), saidIn(log).slice(1)], READ);
    assert.deepEqual([...leftOut], [['entries that are not JSON (line 2)', 1]]);
  });

  it('with keys masked that look secret', () => {
    const key = `sk-${'a1B2'.repeat(12)}`;
    const text = `{'messages': [{'role': 'user', 'content': '${key}'}]}`;
    const read = new LogReader(sourceOf(text), true).value({ start: 0, end: text.length, line: 1 });
    assert.ok(!(read instanceof Error));
    assert.deepEqual([json(read.value).includes(key), read.masked], [false, 1]);
  });
});

describe('rows say all that was asked:', () => {
  const row = { instruction: 'Say where.', input: 'Norway', output: 'Oslo' };

  it('an instruction with what it is about, and a system prompt', () => {
    const log = json({ ...row, system: 'Be terse.' });
    assert.deepEqual(
      [askedIn(log), saidIn(log)],
      [['system: Be terse.', 'user: Say where.\n\nNorway'], ['assistant > Oslo']],
    );
  });

  it('what was said before, in turns', () => {
    const log = json({ ...row, input: '', history: [['Hi', 'Hello']] });
    assert.deepEqual(saidIn(log), ['assistant > Hello', '[user] Say where.', 'assistant > Oslo']);
    const turns = [
      ['Hi', 'Hello'],
      [null, 'There'],
    ];
    for (const held of [{ history: turns }, { internal: turns, visible: turns }]) {
      assert.deepEqual(saidIn(json(held)), ['assistant > Hello', 'assistant > There']);
    }
  });

  it("samples of OpenAI's evals", () => {
    const log = json({ sample_id: 's', type: 'sampling', data: { prompt: [USER], sampled: ['Oslo'] } });
    assert.deepEqual([askedIn(log), saidIn(log)], [['user: Where?'], ['assistant > Oslo']]);
  });

  it('the answer that was not chosen is counted', () => {
    const log = wholeLog(json({ prompt: 'Where?', chosen: 'Oslo', rejected: 'Bergen' }));
    assert.deepEqual([...log.leftOut], [['messages under a second key of their conversation (rejected)', 1]]);
  });

  it('the history of a benchmark of OpenHands has events in pairs', () => {
    const event = (source: string, action: string, args: object) => ({ source, action, args });
    const history = [
      [event('user', 'message', { content: 'Where?' }), {}],
      [event('agent', 'run', { command: 'ls' }), { source: 'agent', observation: 'run', content: 'a.py' }],
    ];
    assert.deepEqual(saidIn(json({ instance_id: 'i', instruction: 'Where?', history })), [
      'assistant > run {"command":"ls"}',
      '[run] a.py',
    ]);
  });
});
