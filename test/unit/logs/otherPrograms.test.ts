/**
 * Messages as single programs write them, each form with what must be read of it: who said what, and what came from
 * outside.
 */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { askedIn, saidIn, wholeLog } from './wholeLog.ts';

const json = (value: unknown): string => JSON.stringify(value);
const lines = (...values: readonly unknown[]): string => values.map(json).join('\n');
const call = (id: string, name: string, given: string) => ({
  id,
  type: 'function',
  function: { name, arguments: given },
});

describe('messages are read as the program wrote them:', () => {
  it('what SWE-agent keeps names the agent, which said neither results nor observations', () => {
    const log = json({
      history: [
        { role: 'system', content: 'You fix bugs.', agent: 'main' },
        { role: 'user', content: 'Fix it.', agent: 'main', message_type: 'observation' },
        { role: 'assistant', content: 'I look.', agent: 'main', tool_calls: [call('c', 'bash', '{"command":"ls"}')] },
        { role: 'tool', content: [{ type: 'text', text: 'a.py' }], agent: 'main', tool_call_ids: ['c'] },
        { role: 'user', content: 'Go on.', agent: 'main' },
        { role: 'assistant', content: 'Done.', agent: 'main' },
      ],
    });
    assert.deepEqual(saidIn(log), [
      'main > I look.\nbash {"command":"ls"}',
      '[bash] a.py',
      '[user] Go on.',
      'main > Done.',
    ]);
  });

  it('the end of mini-swe-agent is said by nobody', () => {
    const log = json({
      messages: [
        { role: 'user', content: 'Fix it.' },
        { role: 'assistant', content: 'Done.' },
        { role: 'exit', content: 'Submitted' },
      ],
    });
    assert.deepEqual(saidIn(log), ['assistant > Done.', '[exit] Submitted']);
  });

  it('results that AutoGen 0.2 joins are those of each tool', () => {
    const log = json([
      { role: 'assistant', tool_calls: [call('c1', 'add', '{}'), call('c2', 'mul', '{}')] },
      {
        role: 'tool',
        content: '4\n\n6',
        tool_responses: [
          { tool_call_id: 'c1', role: 'tool', content: '4' },
          { tool_call_id: 'c2', role: 'tool', content: '6' },
        ],
      },
    ]);
    assert.deepEqual(saidIn(log), ['assistant > add {}\nmul {}', '[add] 4', '[mul] 6']);
  });

  it('events of OpenHands are actions of the agent and what came of them', () => {
    const log = json([
      { id: 0, source: 'agent', action: 'system', args: { content: 'You code.' } },
      { id: 1, source: 'user', action: 'message', args: { content: 'List files.' }, message: 'List files.' },
      { id: 2, source: 'environment', action: 'change_agent_state', args: { agent_state: 'running' } },
      { id: 3, source: 'agent', action: 'run', args: { command: 'ls', thought: 'I look.' }, message: 'Running: ls' },
      { id: 4, source: 'agent', observation: 'run', content: 'a.py', cause: 3 },
      { id: 5, source: 'agent', action: 'message', args: { content: 'a.py' } },
    ]);
    assert.deepEqual(saidIn(log), ['assistant > I look.\nrun {"command":"ls"}', '[run] a.py', 'assistant > a.py']);
    assert.deepEqual(askedIn(log).slice(0, 2), ['system: You code.', 'user: List files.']);
  });

  it('lines of sessions of Codex hold their messages as payloads', () => {
    const item = (payload: unknown) => ({ timestamp: '2025-06-01T10:00:00Z', type: 'response_item', payload });
    const log = lines(
      item({ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'List.' }] }),
      item({ type: 'reasoning', summary: [{ type: 'summary_text', text: 'With ls.' }] }),
      item({ type: 'function_call', name: 'shell', arguments: '{"c":"ls"}', call_id: 'c' }),
      item({ type: 'function_call_output', call_id: 'c', output: 'a.py' }),
      item({ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'a.py' }] }),
    );
    assert.deepEqual(saidIn(log), ['assistant > With ls.\nshell {"c":"ls"}', '[shell] a.py', 'assistant > a.py']);
  });

  it('a result of tau2 is its content, also where no error is said', () => {
    const log = json([
      { role: 'assistant', content: null, tool_calls: [{ id: 'c', name: 'find', arguments: { q: 1 } }] },
      { id: 'c', role: 'tool', content: 'found', requestor: 'assistant', error: false },
      { role: 'tool', content: '', error: true },
    ]);
    assert.deepEqual(saidIn(log), ['assistant > find {"q":1}', '[find] found', '[tool] it failed']);
  });

  it('the titles of documents of Anthropic are read, and what was found is no result of a tool', () => {
    const log = json([
      {
        role: 'user',
        content: [
          { type: 'document', title: 'Plan', context: 'A draft.', source: { type: 'text', data: 'Go to Oslo.' } },
          {
            type: 'search_result',
            source: 'https://a.org',
            title: 'Oslo',
            content: [{ type: 'text', text: 'A city.' }],
          },
        ],
      },
      { role: 'assistant', content: 'Good.' },
    ]);
    assert.deepEqual(askedIn(log), ['user: Plan\nA draft.\nGo to Oslo.\nOslo\nA city.']);
  });

  it("what Gemini's own interpreter gave is a result", () => {
    const log = json([
      { role: 'user', parts: [{ text: 'Add.' }] },
      {
        role: 'model',
        parts: [
          { executableCode: { language: 'PYTHON', code: 'print(4)' } },
          { codeExecutionResult: { outcome: 'OUTCOME_OK', output: '4' } },
          { text: 'It is 4.' },
        ],
      },
    ]);
    assert.deepEqual(saidIn(log), ['assistant > print(4)\nIt is 4.', '[tool] 4']);
  });

  it('messages of Cohere have their text under `message`', () => {
    const log = json({
      chat_history: [
        { role: 'USER', message: 'Hi' },
        { role: 'CHATBOT', message: 'Hello' },
      ],
    });
    assert.deepEqual([askedIn(log), saidIn(log)], [['user: Hi'], ['assistant > Hello']]);
  });
});

describe('conversations are read as they are kept:', () => {
  const ASKED = { role: 'user', content: 'Capital?' };
  const SAID = { role: 'assistant', content: 'Oslo' };
  const choices = [{ index: 0, message: SAID }];

  it('requests of a batch with the answers in another file, of which some failed', () => {
    const request = (id: string) => ({ custom_id: id, method: 'POST', url: '/v1', body: { messages: [ASKED] } });
    const answer = (id: string, status: number, body: unknown) => ({
      id: `b${id}`,
      custom_id: id,
      response: { status_code: status, body },
      error: null,
    });
    const text = lines(
      request('1'),
      request('2'),
      answer('2', 429, { error: { message: 'slow' } }),
      answer('1', 500, { error: { message: 'broken' } }),
      answer('1', 200, { choices }),
    );
    const { episodes, leftOut } = wholeLog(text);
    assert.equal(episodes.length, 1);
    assert.deepEqual([askedIn(text), saidIn(text)], [['user: Capital?'], ['assistant > Oslo']]);
    assert.equal(leftOut.get('calls that failed'), 1);
    assert.equal(leftOut.get('requests and answers of a batch beyond the first of one id'), 1);
  });

  it('a stream as it came, and archives of HTTP', () => {
    const stream = [
      '{"choices":[{"index":0,"delta":{"content":"Os"}}]}',
      '{"choices":[{"index":0,"delta":{"content":"lo"},"finish_reason":"stop"}]}',
      '[DONE]',
    ];
    const proxied = {
      request: { body: json({ messages: [ASKED] }) },
      response: { body: stream.map((piece) => `data: ${piece}\n\n`).join('') },
    };
    const archived = {
      request: { postData: { mimeType: 'application/json', text: json({ messages: [ASKED] }) } },
      response: { status: 200, content: { mimeType: 'application/json', text: json({ choices }) } },
    };
    for (const text of [json(proxied), json({ log: { version: '1.2', entries: [archived] } })]) {
      assert.deepEqual([askedIn(text), saidIn(text)], [['user: Capital?'], ['assistant > Oslo']]);
    }
  });

  it('within other objects, as JSON in a column, in lists of lists and in files that were put together', () => {
    const messages = [ASKED, SAID];
    for (const value of [
      { data: { messages } },
      { messages: { messages } },
      { id: 3, conversation: json({ messages }) },
      [messages],
      [
        [
          ['human', 'Capital?'],
          ['ai', 'Oslo'],
        ],
      ],
    ]) {
      assert.deepEqual(
        [askedIn(json(value)), saidIn(json(value))],
        [['user: Capital?'], ['assistant > Oslo']],
        json(value),
      );
    }
    assert.deepEqual(saidIn(`${json({ messages })}\n\u{feff}${json({ messages })}`), [
      'assistant > Oslo',
      'assistant > Oslo',
    ]);
  });

  it('several items of one response are one message', () => {
    const output = [
      { type: 'reasoning', summary: [{ type: 'summary_text', text: 'I look.' }] },
      { type: 'file_search_call', queries: ['Oslo'], results: [{ text: 'A city.' }] },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Oslo' }] },
    ];
    const log = json({ request: { input: 'Capital?' }, response: { object: 'response', output } });
    assert.deepEqual(saidIn(log), [
      'assistant > I look.\nfile_search {"queries":["Oslo"]}\nOslo',
      '[file_search] A city.',
    ]);
  });

  it('who calls a tool in a group chat is an agent, and whoever asked first is not', () => {
    const log = json({
      chat_history: [
        { role: 'assistant', name: 'User', content: 'Add.' },
        { role: 'assistant', name: 'Coder', content: null, tool_calls: [call('c', 'add', '{}')] },
        { role: 'tool', name: 'User', content: '4', tool_responses: [{ tool_call_id: 'c', content: '4' }] },
        { role: 'user', name: 'Coder', content: 'It is 4.' },
      ],
    });
    assert.deepEqual(saidIn(log), ['Coder > add {}', '[add] 4', 'Coder > It is 4.']);
  });

  it('who and when in Who&When: the prompts of the agents, and the mistake as a mark', () => {
    const sample = {
      question: 'Add.',
      ground_truth: '4',
      history: [
        { role: 'user', name: 'Planner', content: 'Add 2 and 2.' },
        { role: 'assistant', name: 'Coder', content: 'print(5)' },
        { role: 'user', name: 'Computer_terminal', content: '5' },
      ],
      mistake_agent: 'Coder',
      mistake_step: '1',
      mistake_reason: 'It adds wrongly.',
      system_prompt: { Planner: 'You plan.', Coder: 'You code.' },
    };
    const [episode] = wholeLog(json(sample)).episodes;
    const messages = (episode?.entries ?? []).filter((entry) => entry.kind === 'message');
    assert.deepEqual(saidIn(json(sample)), ['Planner > Add 2 and 2.', 'Coder > print(5)', '[Computer_terminal] 5']);
    assert.deepEqual(askedIn(json(sample)), ['system: You code.', 'assistant: Add 2 and 2.']);
    assert.deepEqual(
      messages.map(({ mark }) => mark?.note),
      [undefined, 'Coder: It adds wrongly.'],
    );
    const { leftOut } = wholeLog(json({ ...sample, mistake_step: '9' }));
    assert.deepEqual([...leftOut], [['marks of mistakes whose message is missing', 1]]);
  });

  it('what was measured of each message is that of the message', () => {
    const log = json([
      ASKED,
      { ...SAID, usage_metadata: { input_tokens: 3, output_tokens: 4 }, response_metadata: { model_name: 'a' } },
      ASKED,
      { ...SAID, models_usage: { prompt_tokens: 5, completion_tokens: 6 }, cost: 0.5 },
    ]);
    const measured = wholeLog(log).episodes.flatMap(({ entries }) =>
      entries.flatMap((entry) =>
        entry.kind === 'message'
          ? [[entry.model, entry.promptTokens, entry.completionTokens, entry.measured?.cost ?? null]]
          : [],
      ),
    );
    assert.deepEqual(measured, [
      ['a', 3, 4, null],
      [null, 5, 6, 0.5],
    ]);
  });

  it('one message of a session is one, also where results stand between its pieces', () => {
    const line = (uuid: string, message: unknown) => ({
      uuid,
      parentUuid: null,
      isSidechain: false,
      sessionId: 's',
      message,
    });
    const use = (id: string, name: string) => ({
      role: 'assistant',
      id: 'msg_1',
      content: [{ type: 'tool_use', id, name, input: {} }],
    });
    const result = (id: string, text: string) => ({
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: id, content: text }],
    });
    const log = lines(
      line('1', ASKED),
      line('2', use('a', 'add')),
      line('3', result('a', '4')),
      line('4', use('b', 'mul')),
      line('5', result('b', '6')),
    );
    assert.deepEqual(saidIn(log), ['assistant > add {}\nmul {}', '[add] 4', '[mul] 6']);
  });
});
