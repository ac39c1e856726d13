import assert from 'node:assert/strict';
import { it } from 'node:test';
import { readModelAnswer } from '../../../src/chat/answers.ts';

it('an answer is read wherever its choice has it, with a role or without', () => {
  const forms: readonly (readonly [unknown, number])[] = [
    [{ choices: [{ index: 0, message: { role: 'assistant', content: 'x' } }] }, 0],
    [{ choices: [{ index: 0, message: { content: 'x' } }] }, 0],
    [{ choices: [{ index: 0, text: 'x', finish_reason: 'stop' }] }, 0],
    [{ choices: [{ delta: { content: 'x' } }] }, 0],
    [
      {
        choices: [
          { index: 1, text: 'y' },
          { index: 0, text: 'x' },
        ],
      },
      1,
    ],
    [{ generations: [[{ text: 'x' }, { text: 'y' }]] }, 1],
    [{ candidates: [{ content: { role: 'model', parts: [{ text: 'x' }] } }] }, 0],
    ['x', 0],
  ];
  for (const [body, further] of forms) {
    const answer = readModelAnswer(body);
    assert.deepEqual([answer.said.map(({ text }) => text), answer.further], [['x'], further], JSON.stringify(body));
  }
  assert.deepEqual(readModelAnswer(null).said, []);
});
