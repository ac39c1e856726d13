import assert from 'node:assert/strict';
import { test } from 'node:test';
import { groupEqualAlternatives, sortByInterest, worstMark, type Alternative } from '../../../src/domain/replay.ts';
import type { VerificationMark } from '../../../src/domain/verification.ts';

let next = 1;

function alternative(text: string, parts: Partial<Alternative> = {}): Alternative {
  const message = next++;
  return {
    message,
    index: message,
    text,
    original: false,
    tokenCount: 1,
    finish: 'end',
    returns: [1],
    evaluatorCalls: 1,
    credit: null,
    bucketCredit: null,
    verified: null,
    verification: null,
    ...parts,
  };
}

function mark(state: VerificationMark['state']): VerificationMark {
  return { state, label: state, detail: state };
}

test('alternatives with equal texts are one, in the order of the first of each; a typed one is another', () => {
  const groups = groupEqualAlternatives([
    alternative('a'),
    alternative('b'),
    alternative('a'),
    alternative('a', { finish: 'typed' }),
    alternative('a'),
  ]);
  assert.deepEqual(
    groups.map(({ first, all }) => [first.text, first.finish, all.length]),
    [
      ['a', 'end', 3],
      ['b', 'end', 1],
      ['a', 'typed', 1],
    ],
  );
  assert.deepEqual(groupEqualAlternatives([]), []);
  // One that arrives later, and comes before the others, is one of them.
  const [late, early] = [alternative('a'), alternative('a')];
  assert.equal(groupEqualAlternatives([late])[0]?.key, groupEqualAlternatives([early, late])[0]?.key);
  // Blanks are a part of a text.
  assert.equal(groupEqualAlternatives([alternative('a'), alternative('a ')]).length, 2);
});

test('of what re-executing equal alternatives showed the worst counts', () => {
  const worst = (...states: readonly (VerificationMark['state'] | null)[]): string | undefined => {
    const alternatives = states.map((state) => alternative('a', { verification: state === null ? null : mark(state) }));
    const [group] = groupEqualAlternatives(alternatives);
    return group === undefined ? undefined : worstMark(group)?.state;
  };
  assert.equal(worst('identical', 'identical'), 'identical');
  assert.equal(worst('identical', 'different', 'notComparable'), 'different');
  assert.equal(worst('unverified', 'identical', null), 'unverified');
  assert.equal(worst(null), undefined);
});

test('what was said in the run and what somebody typed stand before what was sampled', () => {
  const groups = groupEqualAlternatives([
    alternative('sampled'),
    alternative('typed', { finish: 'typed' }),
    alternative('said', { original: true }),
    alternative('sampled too'),
  ]);
  assert.deepEqual(
    sortByInterest(groups).map(({ first }) => first.text),
    ['said', 'typed', 'sampled', 'sampled too'],
  );
});
