import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeSelection } from '../../../../src/domain/selection.ts';
import { readSelection } from '../../../../src/engine/commandLine/onlyFlag.ts';
import { NO_MARKS } from '../../../../src/engine/replay/divideLosses.ts';
import { selectEpisodes, type Selectable } from '../../../../src/engine/replay/selectEpisodes.ts';

const episode = (number: number, level: number | null, source: string): Selectable => ({
  problem: { uid: `p-${number}`, uidSha: `sha${number}`, level, source },
  messages: [10 * number, 10 * number + 1],
});
const STRANGE = 'a=b <img src=x> \u202e"; DROP TABLE label; --';
const ALL = [episode(1, 1, 'gsm8k'), episode(2, 2, 'gsm8k'), episode(3, 2, 'math'), episode(4, null, STRANGE)];
const MARKS = {
  classes: new Map([
    ['sha1', 'Misleading Plan'],
    ['sha3', 'Over-Coupling'],
  ]),
  labels: new Map([
    [20, STRANGE],
    [31, 'slip'],
  ]),
};
const select = (...only: readonly string[]): readonly string[] =>
  selectEpisodes(ALL, readSelection(only), MARKS, 'lost episode').map(({ problem }) => problem.uid);

test('an episode is selected where every key has one of its values', () => {
  assert.deepEqual(select(), ['p-1', 'p-2', 'p-3', 'p-4']);
  assert.deepEqual(select('level=2'), ['p-2', 'p-3']);
  assert.deepEqual(select('level=1', 'level=none'), ['p-1', 'p-4']);
  assert.deepEqual(select('level=2', 'source=gsm8k'), ['p-2']);
  assert.deepEqual(select('class=misleading plan'), ['p-1']);
  assert.deepEqual(select('class=not classified', 'level=2'), ['p-2']);
  assert.deepEqual(select('episode=31', 'episode=10'), ['p-1', 'p-3']);
  assert.deepEqual(select('uid=p-4'), ['p-4']);
  assert.deepEqual(select('label=slip'), ['p-3']);
});

test('a name of any characters is a name and nothing else', () => {
  assert.deepEqual(select(`label=${STRANGE}`), ['p-2']);
  assert.deepEqual(select(`source= ${STRANGE} `), ['p-4']);
  assert.equal(
    describeSelection(readSelection([`label=${STRANGE}`, 'level=2', 'level=3'])),
    'label a=b <img src=x> ·"; DROP TABLE label; --, level 2 or 3',
  );
});

test('five values of a key are all named, and of six the last is left out', () => {
  const levels = (count: number): readonly string[] =>
    Array.from({ length: count }, (_, index) => `level=${index + 1}`);
  assert.equal(describeSelection(readSelection(levels(5))), 'level 1 or 2 or 3 or 4 or 5');
  assert.equal(describeSelection(readSelection(levels(6))), 'level 1 or 2 or 3 or 4 or 5 or …');
});

test('what none has is refused, with what there is', () => {
  for (const [only, words] of [
    [
      ['level=9'],
      /No lost episode has level 9; by level, with the number of episodes: 2 \(2\), 1 \(1\), none \(1\)\.$/u,
    ],
    [
      ['class=Evaluator Ambiguity'],
      /; by class, with the number of episodes: not classified \(2\), Misleading Plan \(1\), Over-Coupling \(1\)\.$/u,
    ],
    [['episode=12'], /; by episode, with the number of episodes: 11 \(1\), 21 \(1\), 31 \(1\), 41 \(1\)\.$/u],
    [
      ['label=\u202enone'],
      /has label ·none; by label, with the number of episodes: a=b <img src=x> ·"; DROP TABLE label; -- \(1\), slip \(1\)\.$/u,
    ],
    [['level=1', 'source=math'], /No lost episode has level 1, source math together/u],
  ] as const) {
    assert.throws(() => select(...only), words);
  }
  assert.throws(
    () => selectEpisodes(ALL, readSelection(['label=x']), NO_MARKS, 'episode'),
    /none of 4 has a label\.$/u,
  );
  const many = Array.from({ length: 500 }, (_, at) => episode(at, at, 'x'.repeat(10_000)));
  assert.throws(
    () => selectEpisodes(many, readSelection(['level=x']), NO_MARKS, 'episode'),
    ({ message }: Error) => message.endsWith('11 (1) and 488 more.') && message.length < 320,
  );
  assert.deepEqual(selectEpisodes([], readSelection(['level=1']), NO_MARKS, 'episode'), []);
});

test('only what can be asked of an episode is a condition', () => {
  for (const [given, words] of [
    ['weather=rain', /--only selects no episodes by "weather"; give class=, episode=, label=, level=, source=, uid=$/u],
    ['levle=3', /uid=: did you mean level=\?$/u],
    ['level', /--only level needs a value, such as level=3/u],
    ['class= ', /--only class needs a value, such as class="Misleading Plan"/u],
    ['', /--only selects no episodes by ""/u],
    ['__proto__=x', /selects no episodes by "__proto__"/u],
  ] as const) {
    assert.throws(() => readSelection([given]), words);
  }
  assert.throws(() => readSelection(Array.from({ length: 1001 }, () => 'level=1')), /at most 1000 times/u);
});
