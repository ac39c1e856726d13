import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readApiCall } from '../../../src/chat/apiCalls.ts';
import { toChatMessage, parseMessages } from '../../../src/chat/messages.ts';
import type { ModelCall } from '../../../src/chat/modelCall.ts';
import { CallSpeakers } from '../../../src/logs/callSpeakers.ts';
import { Survey } from '../../../src/logs/episode.ts';

const saidIn = (call: ModelCall | null): unknown =>
  call === null
    ? null
    : {
        asked: call.input.map(toChatMessage),
        said: call.output.map(({ text, finish, calls }) => ({ text, finish, calls: [...calls] })),
        model: call.model,
        tokens: [call.promptTokens, call.completionTokens],
      };
const question = { role: 'user', name: null, text: 'Weather in Bern?' };
const tool = { name: 'weather', arguments: '{"city":"Bern"}' };
/** As the field's documentation has it: the first piece names the call, later ones continue its arguments. */
const piece = (delta: unknown, finish: string | null = null): unknown => ({
  model: 'm-1',
  choices: [{ index: 0, delta, finish_reason: finish }],
});

describe('a call as it passes by', () => {
  it('is the same whether its answer is whole or a stream', () => {
    const request = { model: 'm', messages: [{ role: 'user', content: 'Weather in Bern?' }] };
    const usage = { prompt_tokens: 5, completion_tokens: 7 };
    const whole = {
      model: 'm-1',
      choices: [
        {
          index: 0,
          message: {
            role: 'assistant',
            content: 'I look.',
            tool_calls: [{ id: 'a', type: 'function', function: tool }],
          },
          finish_reason: 'tool_calls',
        },
      ],
      usage,
    };
    const stream = [
      piece({ role: 'assistant', content: 'I ' }),
      piece({ content: 'look.' }),
      piece({
        tool_calls: [{ index: 0, id: 'a', type: 'function', function: { name: 'weather', arguments: '{"city"' } }],
      }),
      piece({ tool_calls: [{ index: 0, function: { arguments: ':"Bern"}' } }] }),
      piece({}, 'tool_calls'),
      { choices: [], usage },
      null,
    ];
    const expected = {
      asked: [question],
      said: [{ text: 'I look.\nweather {"city":"Bern"}', finish: 'end', calls: [['a', 'weather']] }],
      model: 'm-1',
      tokens: [5, 7],
    };
    assert.deepEqual(saidIn(readApiCall('chat', request, whole)), expected);
    assert.deepEqual(saidIn(readApiCall('chat', request, stream)), expected);
  });

  it('of a completion has its prompt as what was asked, and says where its length ended it', () => {
    const request = { model: 'm', prompt: ['Weather in Bern?'] };
    const expected = {
      asked: [question],
      said: [{ text: 'Sun and', finish: 'length', calls: [] }],
      model: 'm',
      tokens: [0, 0],
    };
    const whole = { choices: [{ text: 'Sun and', finish_reason: 'length' }] };
    const stream = [
      { choices: [{ text: 'Sun' }] },
      { choices: [{ text: ' and', finish_reason: null }] },
      { choices: [{ text: '', finish_reason: 'length' }] },
    ];
    assert.deepEqual(saidIn(readApiCall('completions', request, whole)), expected);
    assert.deepEqual(saidIn(readApiCall('completions', request, stream)), expected);
  });

  it('of the form responses has instructions, calls of tools and their results', () => {
    const request = {
      model: 'm',
      instructions: 'Be short.',
      input: [
        { role: 'user', content: [{ type: 'input_text', text: 'Weather in Bern?' }] },
        { type: 'function_call', call_id: 'a', ...tool },
        { type: 'function_call_output', call_id: 'a', output: 'sunny' },
      ],
    };
    const response = {
      model: 'm-1',
      status: 'completed',
      output: [
        { type: 'reasoning', summary: [] },
        { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Sun.' }] },
      ],
      usage: { input_tokens: 3, output_tokens: 2 },
    };
    const expected = {
      asked: [
        { role: 'system', name: null, text: 'Be short.' },
        question,
        { role: 'assistant', name: null, text: 'weather {"city":"Bern"}' },
        { role: 'tool', name: null, text: 'sunny' },
      ],
      said: [{ text: 'Sun.', finish: 'end', calls: [] }],
      model: 'm-1',
      tokens: [3, 2],
    };
    assert.deepEqual(saidIn(readApiCall('responses', request, response)), expected);
    const stream = [{ type: 'response.created' }, { type: 'response.completed', response }];
    assert.deepEqual(saidIn(readApiCall('responses', request, stream)), expected);
  });

  it('whose stream was cut in the middle says nothing', () => {
    assert.equal(readApiCall('chat', { messages: [] }, [piece({ content: 'I ' })]), null);
    assert.equal(readApiCall('responses', { input: 'x' }, [{ type: 'response.created' }]), null);
    assert.equal(readApiCall('chat', 'x', { choices: [] }), null);
  });
});

describe('who speaks in calls', () => {
  it('is who the program names, else one agent for each system prompt', () => {
    const survey = new Survey();
    const speakers = new CallSpeakers(survey);
    const asked = (system: string): ReturnType<typeof parseMessages> =>
      parseMessages([
        { role: 'system', content: system },
        { role: 'user', content: 'x' },
      ]);
    const heard = [
      speakers.of('planner', asked('a')),
      ...['a', 'b', 'a'].map((text) => speakers.of(null, asked(text))),
    ];
    assert.deepEqual(heard, ['planner', 'agent 1', 'agent 2', 'agent 1']);
    assert.deepEqual(
      [...survey.speakers],
      [
        ['planner', 'name'],
        ['agent 1', 'system prompt'],
        ['agent 2', 'system prompt'],
      ],
    );
  });
});
