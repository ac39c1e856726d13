import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { ChatMessage } from '../../../src/chat/messages.ts';
import { SharedContexts } from '../../../src/logs/episode.ts';
import { wholeLog } from './wholeLog.ts';

const said = (role: ChatMessage['role'], text: string): ChatMessage => ({ role, name: null, text });

it('a context that begins with all of an earlier one shares its list, and says what it said by itself', () => {
  const shared = new SharedContexts();
  const asked = [said('system', 'Plan.'), said('user', 'How far?')];
  const given = [
    asked,
    [said('system', 'Solve.'), said('user', 'How far?')],
    [...asked, said('assistant', 'I look.')],
    // The same texts by another role, and a shorter one, are others.
    [said('user', 'Plan.'), said('user', 'How far?'), said('assistant', 'I look.')],
    asked,
    [...asked, said('assistant', 'I look.'), said('user', 'And back?')],
  ];
  const contexts = given.map((context) => shared.of(context));
  assert.deepEqual(
    contexts.map(({ list, length }) => list.slice(0, length)),
    given,
  );
  const lists = [...new Set(contexts.map(({ list }) => list))];
  assert.deepEqual(
    contexts.map(({ list }) => lists.indexOf(list)),
    [0, 1, 0, 2, 3, 0],
  );
});

it('the calls of an agent in a trace share one list of messages', () => {
  const text = (content: string): unknown => [{ type: 'text', content }];
  const history: unknown[] = [{ role: 'user', parts: text('How far?') }];
  const spans = ['one', 'two', 'three'].map((answer, index) => {
    const output = { role: 'assistant', parts: text(answer), finish_reason: 'stop' };
    const attributes = {
      'gen_ai.operation.name': 'chat',
      'gen_ai.input.messages': JSON.stringify(history),
      'gen_ai.output.messages': JSON.stringify([output]),
    };
    history.push(output, { role: 'user', parts: text(`And ${answer}?`) });
    return {
      traceId: 't',
      spanId: answer,
      name: 'chat',
      startTimeUnixNano: String(index + 1),
      attributes: Object.entries(attributes).map(([key, value]) => ({ key, value: { stringValue: value } })),
    };
  });
  const [episode] = wholeLog(JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] })).episodes;
  const contexts = (episode?.entries ?? []).flatMap((entry) => (entry.kind === 'message' ? [entry.context] : []));
  assert.deepEqual(
    contexts.map(({ length }) => length),
    [1, 3, 5],
  );
  assert.equal(new Set(contexts.map(({ list }) => list)).size, 1);
});
