/**
 * Messages as single programs write them, each form with what must be read of it: who said what, and what came from
 * outside.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { wholeLog } from './wholeLog.ts';

/** `speaker > text` for a message, `[source] text` for what came from outside. */
const saidIn = (log: string): string[] =>
  wholeLog(log).episodes.flatMap(({ entries }) =>
    entries.map((entry) =>
      entry.kind === 'message' ? `${entry.speaker} > ${entry.text}` : `[${entry.source}] ${entry.text}`,
    ),
  );
/** The context of the last message, `role: text`. */
const askedIn = (log: string): string[] =>
  wholeLog(log)
    .episodes.flatMap(({ entries }) => entries)
    .flatMap((entry) => (entry.kind === 'message' ? [entry.context] : []))
    .slice(-1)
    .flatMap(({ list, length }) => list.slice(0, length).map(({ role, text }) => `${role}: ${text}`));

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
