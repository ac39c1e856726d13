import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeOverlap, MAX_EXAMPLES, overlapReport, refuseOverlap } from '../../../src/tasks/overlap.ts';
import { uidSha } from '../../../src/tasks/uid.ts';
import { isInputError } from './expect.ts';

const item = (uid: string, question: string): { uid: string; uidSha: string; question: string } => ({
  uid,
  uidSha: uidSha(question),
  question,
});
const TRAIN = [item('t1', 'One?'), item('t2', 'Two  apples?'), item('t3', 'Three'), item('t4', 'Four')];

test('sets without a shared question pass, with their sizes and the fingerprints of their uidShas', () => {
  const report = overlapReport([item('t', 'x')], [item('e', 'y')]);
  assert.doesNotThrow(() => refuseOverlap(report));
  // The SHA-256 of the 64 hex digits of the SHA-256 of x, by sha256sum.
  assert.equal(report.train.fingerprint, 'a57b5956dbc6e02127bbb40c87cb8244196d6d18e0e141936ffcd8cffad457ad');
  assert.deepEqual([report.train.instances, report.evaluation.instances, report.sameQuestion.count], [1, 1, 0]);
  assert.doesNotThrow(() => refuseOverlap(overlapReport([], [])));
  assert.match(
    describeOverlap(report).join(' '),
    /1 training problems .* 0 of 1 evaluation questions are also trained on\.$/u,
  );
});

test('an evaluation question counts once, under the strongest of question, words and uid', () => {
  const evaluation = [
    item('e1', 'Five'),
    item('t1', 'One? \r\n'),
    item('e3', 'TWO\tapples?'),
    item('t4', 'Fourteen'),
    item('e5', '\uff34hree'),
  ];
  const report = overlapReport(TRAIN, evaluation);
  assert.deepEqual(report.sameQuestion, { count: 1, examples: [{ evaluation: 't1', train: 't1' }] });
  assert.deepEqual(report.sameWords, {
    count: 2,
    examples: [
      { evaluation: 'e3', train: 't2' },
      { evaluation: 'e5', train: 't3' },
    ],
  });
  assert.deepEqual(report.sameUid, { count: 1, examples: [{ evaluation: 't4', train: 't4' }] });
  assert.throws(
    () => refuseOverlap(report),
    isInputError(
      /^3 of 5 evaluation questions .*\(2 of them differing .*\), first "t1" \(training's "t1"\).*task\.refuse_overlap/u,
    ),
  );
  const told = describeOverlap(report);
  assert.match(told[1] ?? '', /^1 of 5 .* first "t1"/u);
  assert.match(told[2] ?? '', /^2 of 5 .* same words.* first "e3" \(training's "t2"\)/u);
  assert.match(told[3] ?? '', /^1 of 5 .* uid of another .* first "t4"/u);
});

test('the same words alone stop a run; the same uid alone does not', () => {
  assert.throws(
    () => refuseOverlap(overlapReport(TRAIN, [item('e', 'one?')])),
    isInputError(/^1 of 1 .* first "e" \(training's "t1"\)/u),
  );
  assert.doesNotThrow(() => refuseOverlap(overlapReport(TRAIN, [item('t1', 'Six')])));
});

test('examples are bounded, counts are not, and a uid cannot break the line', () => {
  const train = Array.from({ length: 50 }, (_, index) => item(`t${index}`, `question ${index}`));
  const report = overlapReport(
    train,
    train.map(({ question }, index) => item(`e\n${index}`, question)),
  );
  assert.deepEqual([report.sameQuestion.count, report.sameQuestion.examples.length], [50, MAX_EXAMPLES]);
  assert.throws(() => refuseOverlap(report), isInputError(/^50 of 50 .* first "e\\n0"/u));
});
