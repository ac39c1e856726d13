import { strict as assert } from 'node:assert';
import { describe, it } from 'node:test';
import { parseMessages } from '../../../src/chat/messages.ts';
import { CallSpeakers } from '../../../src/logs/callSpeakers.ts';
import { Survey } from '../../../src/logs/episode.ts';
import { wholeLog } from './wholeLog.ts';

const asked = (system: string) => parseMessages([{ role: 'system', content: system }]);
const call = (number: number, system: string, agent?: string) => ({
  traceId: 't',
  spanId: String(number),
  name: 'chat',
  startTimeUnixNano: String(number),
  attributes: Object.entries({
    'gen_ai.operation.name': 'chat',
    ...(agent !== undefined && { 'gen_ai.agent.name': agent }),
    'gen_ai.system_instructions': JSON.stringify([{ type: 'text', content: system }]),
    'gen_ai.output.messages': JSON.stringify([
      { role: 'assistant', parts: [{ type: 'text', content: `says ${number}` }] },
    ]),
  }).map(([key, value]) => ({ key, value: { stringValue: value } })),
});
const speakersOf = (...spans: readonly ReturnType<typeof call>[]) => {
  const log = wholeLog(JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] }));
  const said = log.episodes.flatMap(({ entries }) => entries);
  return {
    said: said.flatMap((entry) => (entry.kind === 'message' ? [entry.speaker] : [])),
    by: Object.fromEntries(log.speakers),
  };
};

describe('speakers that only their prompts tell apart', () => {
  it('are named by system messages at any position, also inside a wrapper', () => {
    const text = (content: string) => [{ type: 'text', content }];
    const among = (number: number, ...messages: readonly unknown[]) => {
      const { attributes, ...span } = call(number, '');
      const input = JSON.stringify([...messages, { role: 'user', parts: text('Go on.') }]);
      return {
        ...span,
        attributes: [
          ...attributes.filter(({ key }) => key !== 'gen_ai.system_instructions'),
          { key: 'gen_ai.input.messages', value: { stringValue: input } },
        ],
      };
    };
    const { said } = speakersOf(
      among(1, { role: 'system', parts: text('You are the lister.') }),
      among(2, { role: 'user', parts: text('Hello.') }, { role: 'system', parts: text('You are the solver.') }),
      among(3, { role: 'user', message: { role: 'system', content: 'You are the closer.' } }),
    );
    assert.deepEqual(said, ['lister', 'solver', 'closer']);
  });

  it('are called in traces as their prompts say', () => {
    const { said, by } = speakersOf(call(1, 'You are the lister.'), call(2, 'Act.'), call(3, 'You are the lister.'));
    assert.deepEqual(said, ['lister', 'agent 1', 'lister']);
    assert.deepEqual(by, { lister: 'prompt name', 'agent 1': 'system prompt' });
    assert.deepEqual(speakersOf(call(1, 'You are the lister.')).said, ['lister']);
    assert.deepEqual(speakersOf(call(1, 'Act.')).said, ['assistant']);
  });

  it('keep their numbers where two prompts give one name, or the log gives it to somebody else', () => {
    assert.deepEqual(speakersOf(call(1, 'You are the lister.'), call(2, 'You are the Lister. Count.')).said, [
      'agent 1',
      'agent 2',
    ]);
    assert.deepEqual(speakersOf(call(1, 'You are the lister.'), call(2, 'Act.'), call(3, 'List.', 'Lister')).said, [
      'agent 1',
      'agent 2',
      'Lister',
    ]);
  });

  it('are called in calls that pass by as their prompts say, the first of two that say the same', () => {
    const survey = new Survey();
    const speakers = new CallSpeakers(survey);
    const said = ['You are the lister.', 'Act.', 'You are the lister.', 'You are the Lister. Count.'].map((system) =>
      speakers.of(null, asked(system)),
    );
    assert.deepEqual(said, ['lister', 'agent 1', 'lister', 'agent 2']);
    assert.equal(speakers.of('critic', asked('You are the judge.')), 'critic');
    assert.equal(speakers.of(null, asked('You are the critic.')), 'agent 3');
    assert.equal(speakers.of(null, asked('You are Agent 4.')), 'Agent 4');
    assert.equal(speakers.of(null, asked('Go.')), 'agent 5');
  });

  it('are called in conversations as their prompts say, unless somebody of the conversation is called so', () => {
    const of = (system: string, name?: string) => ({
      messages: [
        { role: 'system', content: system },
        { role: 'user', content: 'Go', ...(name !== undefined && { name }) },
        { role: 'assistant', content: 'done' },
      ],
    });
    const { speakers } = wholeLog(
      [of('You are the lister.'), of('You are the critic.', 'Critic'), of('Be brief.')]
        .map((one) => JSON.stringify(one))
        .join('\n'),
    );
    assert.deepEqual(Object.fromEntries(speakers), { lister: 'prompt name', assistant: 'only speaker' });
  });
});
