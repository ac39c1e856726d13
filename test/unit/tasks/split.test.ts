import assert from 'node:assert/strict';
import { test } from 'node:test';
import { overlapReport } from '../../../src/tasks/overlap.ts';
import { generateSplit, sideOf } from '../../../src/tasks/split.ts';
import { uidSha } from '../../../src/tasks/uid.ts';
import { isInputError } from './expect.ts';

const sha = (head: string): string => head.padEnd(64, '1');

test('every fourth value of the first 8 hex digits is evaluated, and no other digit matters', () => {
  assert.deepEqual(
    ['00000000', '00000001', '00000002', '00000003', '00000004', 'fffffffc', 'ffffffff'].map((head) =>
      sideOf(sha(head)),
    ),
    ['evaluation', 'train', 'train', 'train', 'evaluation', 'evaluation', 'train'],
  );
  assert.equal(sideOf('0'.repeat(8).padEnd(64, 'f')), 'evaluation');
});

test('what is no uidSha has no side', () => {
  for (const text of ['', 'abc', sha('0').toUpperCase().replace('0', 'A'), `${sha('0')}0`, sha('g')]) {
    assert.throws(() => sideOf(text), isInputError(/64 hex digits/u), text);
  }
});

test('about one question in four is on the evaluation side', () => {
  const count = Array.from({ length: 4000 }, (_, index) => sideOf(uidSha(`question ${index}`))).filter(
    (side) => side === 'evaluation',
  ).length;
  assert.ok(Math.abs(count / 4000 - 0.25) < 0.03, `${count} of 4000`);
});

test('a split has the sizes asked for, each problem on its own side, and no overlap between any seeds', () => {
  const splits = ['a', 'b', 'c'].map((seed) => generateSplit({ seed, train: 300, evaluation: 40, levels: [3, 1] }));
  for (const { train, evaluation } of splits) {
    assert.equal(train.length, 300);
    assert.equal(evaluation.length, 40);
    assert.ok(train.every((problem) => sideOf(problem.uidSha) === 'train' && (problem.level ?? 9) <= 2));
    assert.ok(evaluation.every((problem) => sideOf(problem.uidSha) === 'evaluation'));
    assert.equal(new Set([...train, ...evaluation].map((problem) => problem.uid)).size, 340);
  }
  const { sameQuestion, sameWords } = overlapReport(
    splits.flatMap((split) => split.train),
    splits.flatMap((split) => split.evaluation),
  );
  assert.deepEqual([sameQuestion.count, sameWords.count], [0, 0]);
});

test('a side does not depend on how much of the other is asked for', () => {
  const large = generateSplit({ seed: 'a', train: 200, evaluation: 50 });
  assert.deepEqual(generateSplit({ seed: 'a', train: 0, evaluation: 50 }), { train: [], evaluation: large.evaluation });
  assert.deepEqual(generateSplit({ seed: 'a', train: 30, evaluation: 0 }), {
    train: large.train.slice(0, 30),
    evaluation: [],
  });
});

test('impossible sizes and mixes are refused', () => {
  assert.throws(() => generateSplit({ seed: 'a', train: -1, evaluation: 1 }), isInputError(/whole number/u));
  assert.throws(() => generateSplit({ seed: 'a', train: 1, evaluation: 0.5 }), isInputError(/whole number/u));
  assert.throws(() => generateSplit({ seed: 'a', train: 1, evaluation: 1, levels: [0] }), isInputError(/not valid/u));
});
