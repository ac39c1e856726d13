import assert from 'node:assert/strict';
import { it } from 'node:test';
import { episodeFacts, measuredFacts, NOTHING_MEASURED, recordedOnly } from '../../../src/domain/message.ts';

const CALL = {
  model: 'm-1',
  promptTokens: 1234,
  completionTokens: 56,
  start: Date.UTC(2026, 0, 2, 3, 4, 5, 678),
  seconds: 1.23456,
  firstTokenSeconds: 0.25,
  cost: 0.00123456,
  temperature: 0,
};

it('says everything that was measured of a message, and what was not', () => {
  assert.deepEqual(measuredFacts(CALL), [
    ['Model', 'm-1'],
    ['Tokens in', '1,234'],
    ['Tokens out', '56'],
    ['Start', '2026-01-02 03:04:05.678 UTC'],
    ['Duration', '1.23 s'],
    ['First token after', '0.25 s'],
    ['Cost', '0.00123'],
    ['Temperature', '0'],
  ]);
  const none = measuredFacts({ ...NOTHING_MEASURED, start: 1e300 });
  assert.deepEqual(
    none.map(([, words]) => words),
    ['Not recorded', 'Not recorded', 'Not recorded', '1e+300', ...Array.from({ length: 4 }, () => 'Not recorded')],
  );
  assert.deepEqual(recordedOnly(none), [['Start', '1e+300']]);
});

it('adds up an episode, or says from the least to the most, and of how many messages', () => {
  const of = (least: number, most: number, n = 2) => ({ sum: least + most, least, most, n });
  const facts = episodeFacts({
    messages: 2,
    models: ['a', 'b'],
    numbers: {
      promptTokens: of(1000, 2000),
      completionTokens: of(7, 7, 1),
      start: of(0, 60_000),
      seconds: of(4, 8),
      firstTokenSeconds: of(0.5, 0.5),
      cost: null,
      temperature: of(0, 1),
    },
  });
  assert.deepEqual(facts, [
    ['Model', 'a, b'],
    ['Tokens in', '3,000'],
    ['Tokens out', '14 (1 of 2 messages)'],
    ['Start', '1970-01-01 00:00:00.000 UTC to 1970-01-01 00:01:00.000 UTC'],
    ['Duration', '12 s'],
    ['First token after', '0.5 s'],
    ['Cost', 'Not recorded'],
    ['Temperature', '0 to 1'],
  ]);
});
