import assert from 'node:assert/strict';
import { test } from 'node:test';
import { classifyDraws } from '../../../src/domain/replay.ts';

const replay = (
  alternative: number,
  replayIndex: number,
  leaf: number,
): { alternative: number; replayIndex: number; leaf: number } => ({ alternative, replayIndex, leaf });
const keys =
  (...named: readonly (readonly [number, string])[]) =>
  (message: number): string =>
    new Map(named).get(message) ?? assert.fail(`message ${message} is not asked for`);

test('how replays drew is read from the streams of two continuations of the same index', () => {
  const replays = [replay(1, 0, 11), replay(1, 1, 12), replay(2, 0, 21), replay(2, 1, 22)];
  assert.equal(classifyDraws(replays, keys([11, 'a'], [21, 'a'])), 'common');
  assert.equal(classifyDraws(replays, keys([11, 'a'], [21, 'b'])), 'independent');
  assert.equal(classifyDraws(replays, keys([11, ''], [21, ''])), 'unseeded');
  assert.equal(classifyDraws(replays, keys([11, ''], [21, 'b'])), 'independent');
  // The first alternative may lack the replay that the second has.
  assert.equal(
    classifyDraws([replay(1, 0, 11), replay(2, 1, 22), replay(3, 0, 31)], keys([11, 'a'], [31, 'a'])),
    'common',
  );
  // The first index may have one replay alone.
  assert.equal(
    classifyDraws([replay(1, 0, 11), replay(1, 1, 12), replay(2, 1, 22)], keys([12, 'a'], [22, 'a'])),
    'common',
  );
});

test('without two continuations to compare nothing is said', () => {
  const never = (): string => assert.fail('nothing is read');
  assert.equal(classifyDraws([], never), null);
  assert.equal(classifyDraws([replay(1, 0, 11), replay(1, 1, 12)], never), null, 'one alternative');
  assert.equal(classifyDraws([replay(1, 0, 1), replay(2, 0, 2)], never), null, 'messages that end the episode');
  assert.equal(classifyDraws([replay(1, 0, 11), replay(2, 1, 22)], never), null, 'other indices');
});

test('pairs share their numbers two by two', () => {
  const same = (leaf: number): string => `stream ${leaf % 10}`;
  const pairs = [
    replay(1, 0, 10),
    replay(1, 1, 11),
    replay(1, 2, 12),
    replay(2, 0, 20),
    replay(3, 1, 31),
    replay(4, 2, 42),
  ];
  assert.equal(classifyDraws(pairs, same), 'paired');
  // One that was cancelled has pairs all the same.
  assert.equal(classifyDraws(pairs.slice(0, 5), same), 'paired');
  assert.equal(
    classifyDraws(pairs, () => ''),
    'unseeded',
  );
  assert.equal(classifyDraws([...pairs, replay(5, 0, 50)], same), 'common', 'a number of three');
  assert.equal(classifyDraws([...pairs, replay(2, 1, 21)], same), 'common', 'an alternative that was continued twice');
  assert.equal(classifyDraws([replay(1, 0, 10), replay(2, 0, 20)], same), 'common', 'one pair is all there is');
  assert.equal(
    classifyDraws([replay(1, 0, 10), replay(1, 1, 11), replay(2, 0, 20)], same),
    'common',
    'one other message, continued once',
  );
});
