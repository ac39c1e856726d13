import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  AS_RECORDED,
  choiceFault,
  describeOtherContinuation,
  folderName,
  isContinuationChoice,
  chooseOfferedSnapshots,
  describeOwnContinuation,
  parseStepName,
  type ContinuationChoice,
  type OtherContinuation,
} from '../../../src/domain/replay.ts';
import { parseTemperature, labelSnapshot } from '../../../webview/transcript/replay/replayWords.ts';

const OTHER: OtherContinuation = {
  snapshot: 'ab'.repeat(32),
  step: 3,
  temperature: 0.5,
  model: null,
  differs: { snapshot: true, temperature: true, model: false },
  own: { snapshot: 'cd'.repeat(32), step: 1, temperature: 1 },
};

test('another distribution is shown with all that makes it one, and its own with it', () => {
  assert.equal(
    describeOtherContinuation(OTHER),
    'another continuation distribution: snapshot abababababab (step 3), temperature 0.5',
  );
  assert.equal(describeOwnContinuation(OTHER), 'The message itself: snapshot cdcdcdcdcdcd (step 1), temperature 1.');
  const foreign = { ...OTHER, step: null, model: '/home/someone/models/evil\n\u202e' };
  assert.equal(
    describeOtherContinuation(foreign),
    'another continuation distribution: model /home/someone/models/evil⏎·, snapshot abababababab, temperature 0.5',
  );
  assert.ok(!describeOtherContinuation(foreign, folderName).includes('someone'));
  assert.deepEqual(['/a/b/', 'C:\\models\\tiny', 'here'].map(folderName), ['b', 'tiny', 'here']);
  assert.match(describeOwnContinuation({ ...OTHER, own: { ...OTHER.own, temperature: null } }), /temperature unknown/);
});

test('a choice has bounds, and a page cannot send more than one', () => {
  const fault = (choice: Partial<ContinuationChoice>): string | null => choiceFault({ ...AS_RECORDED, ...choice });
  for (const good of [
    {},
    { snapshot: '0' },
    { snapshot: '1234567' },
    { snapshot: 'ab'.repeat(32) },
    { snapshot: '12345678' },
    { temperature: 0.01 },
    { temperature: 10 },
    { model: '/models/other', temperature: 1 },
  ]) {
    assert.equal(fault(good), null, JSON.stringify(good));
  }
  for (const bad of [
    { snapshot: '' },
    { snapshot: 'AB'.repeat(32) },
    { snapshot: 'ab'.repeat(33) },
    { snapshot: "1' OR 1" },
    { temperature: 0 },
    { temperature: Infinity },
    { model: '' },
    { model: 'x'.repeat(5000) },
  ]) {
    assert.notEqual(fault(bad), null, JSON.stringify(bad));
  }
  assert.ok(
    isContinuationChoice(AS_RECORDED) &&
      !isContinuationChoice({ ...AS_RECORDED, more: 1 }) &&
      !isContinuationChoice({ snapshot: null, temperature: '1', model: null }),
  );
  // Seven digits and fewer are a step, eight and more a hash: no name means both.
  assert.deepEqual(['12', '1234567', '12345678', 'abcdef01'].map(parseStepName), [12, 1_234_567, null, null]);
});

test('a long run offers snapshots from its first to its last, those that are kept before those that are rebuilt', () => {
  const all = Array.from({ length: 250 }, (_, step) => ({ id: String(step), step, kept: step % 2 === 0 }));
  const offered = chooseOfferedSnapshots(all);
  assert.equal(offered.length, 100);
  assert.ok(offered.every(({ kept }) => kept));
  assert.deepEqual([offered[0]?.step, offered.at(-1)?.step, new Set(offered.map(({ id }) => id)).size], [0, 248, 100]);
  assert.deepEqual(chooseOfferedSnapshots(all.slice(0, 5)), all.slice(0, 5));
});

test('a temperature is read as it is written, or refused', () => {
  assert.deepEqual(['', '  ', '1', '.5', '0.7 ', '10'].map(parseTemperature), [null, null, 1, 0.5, 0.7, 10]);
  for (const wrong of ['0', '-1', '0,5', '1e1', '11', 'warm', '1.']) {
    assert.equal(typeof parseTemperature(wrong), 'string', wrong);
  }
  assert.deepEqual(
    [
      labelSnapshot({ id: 'ab'.repeat(32), step: 0, kept: true }),
      labelSnapshot({ id: 'ab'.repeat(32), step: 4, kept: false }),
    ],
    ['Before training · abababababab', 'Step 4 · abababababab (rebuilt first)'],
  );
});
