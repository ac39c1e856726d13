import assert from 'node:assert/strict';
import { test } from 'node:test';
import { distinctQuestions, splitFingerprint, uidSha } from '../../../src/tasks/uid.ts';

// Expected digests by sha256sum.

test('the uidSha of a plain question is the SHA-256 of its text', () =>
  assert.equal(uidSha('x'), '2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881'));

test('composition, line ends and whitespace at the end do not change the uidSha', () => {
  const expected = '76f9e8fbf9f40ee29d806547ee9cb00feb9c26a5c58e41b18e39ad09a94ee595';
  for (const text of [
    'caf\u00e9\nau lait',
    'cafe\u0301\r\nau lait',
    'caf\u00e9\rau lait',
    'caf\u00e9\nau lait \t\r\n\n',
  ]) {
    assert.equal(uidSha(text), expected, JSON.stringify(text));
  }
  for (const text of ['caf\u00e9 \nau lait', ' caf\u00e9\nau lait', 'caf\u00e9\n\nau lait', 'Caf\u00e9\nau lait']) {
    assert.notEqual(uidSha(text), expected, JSON.stringify(text));
  }
});

test('the fingerprint of a split is the SHA-256 of its sorted uidShas, whatever their order', () => {
  const given = ['b', 'a'];
  assert.equal(splitFingerprint(given), '7e18f737311b2dc3b2f269dd78396b0351f14fb66efa879f768cb23181883c78');
  assert.deepEqual(given, ['b', 'a']);
  assert.notEqual(splitFingerprint(['a', 'b', 'b']), splitFingerprint(['a', 'b']));
});

test('of equal questions the first is kept', () => {
  const items = [
    { uidSha: 'p', at: 0 },
    { uidSha: 'q', at: 1 },
    { uidSha: 'p', at: 2 },
    { uidSha: 'r', at: 3 },
    { uidSha: 'q', at: 4 },
  ];
  assert.deepEqual(
    [...distinctQuestions(items)].map((item) => item.at),
    [0, 1, 3],
  );
});
