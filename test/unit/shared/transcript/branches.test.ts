import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  takeBeginning,
  showInvisibleControls,
  hasInvisibleControls,
  splitAtInvisible,
  showHidden,
} from '../../../../src/shared/text/visible.ts';
import { findFirstDifference, findParting, type Branch } from '../../../../src/shared/transcript/branches.ts';
import { compareBranches, describeParting } from '../../../../src/shared/transcript/comparison.ts';
import { groupTokens } from '../../../../src/shared/transcript/contextTokens.ts';
import { placeNodes } from '../../../../src/shared/transcript/protocolGraph.ts';

function branch(texts: readonly (readonly [role: string, text: string])[], question = 'q'): Branch {
  return {
    message: 1,
    title: 't',
    question,
    return: 1,
    outcome: 'won',
    otherContinuations: 0,
    messages: texts.map(([role, text], index) => ({
      message: index + 1,
      role,
      turn: 0,
      text,
      tokens: 2,
      return: null,
    })),
  };
}

test('the first difference of two texts is a whole character, and a text that continues differs where the other ends', () => {
  assert.equal(findFirstDifference('abc', 'abc'), null);
  assert.deepEqual(findFirstDifference('abc', 'abd'), { character: 2, unit: 2 });
  assert.deepEqual(findFirstDifference('ab', 'abc'), { character: 2, unit: 2 });
  assert.deepEqual(findFirstDifference('', 'x'), { character: 0, unit: 0 });
  // 😀 and 😁 share their first UTF-16 unit; a lone surrogate is a character of its own.
  assert.deepEqual(findFirstDifference('x😀', 'x😁'), { character: 1, unit: 1 });
  assert.deepEqual(findFirstDifference('😀a', '😀b'), { character: 1, unit: 2 });
  assert.deepEqual(findFirstDifference('\ud83d', '😀'), { character: 0, unit: 0 });
});

test('branches part at a question, a text, a role, an end, or not at all', () => {
  const one = branch([
    ['planner', 'add'],
    ['actor', '5'],
  ]);
  assert.deepEqual(findParting(one, one), { kind: 'same' });
  assert.deepEqual(
    findParting(
      one,
      branch([
        ['planner', 'add'],
        ['actor', '6'],
      ]),
    ),
    { kind: 'text', index: 1, character: 0 },
  );
  assert.deepEqual(
    findParting(
      one,
      branch([
        ['planner', 'add'],
        ['critic', '5'],
      ]),
    ),
    { kind: 'role', index: 1 },
  );
  assert.deepEqual(findParting(one, branch([['planner', 'add']])), { kind: 'end', index: 1 });
  assert.deepEqual(findParting(one, branch([], 'qq')), { kind: 'question', character: 1 });
});

test('a comparison shows the text around the parting and says it in words', () => {
  const shared = '😀'.repeat(200);
  const comparison = compareBranches(
    branch([
      ['planner', `${shared}left`],
      ['actor', 'four'],
    ]),
    branch([['planner', `${shared}right 😀`]]),
  );
  assert.equal(describeParting(comparison), 'They diverge in message 1 (planner), at character 201.');
  const { left, right } = comparison;
  assert.deepEqual([left.parted?.rest, right.parted?.rest], ['left', 'right 😀']);
  assert.equal(left.parted?.before, '😀'.repeat(80));
  assert.ok(left.parted.cut);
  assert.deepEqual([left.messages, left.tokens, left.characters], [2, 4, 208]);
  assert.equal(
    describeParting(
      compareBranches(
        branch([['a', 'x']]),
        branch([
          ['a', 'x'],
          ['b', 'y'],
        ]),
      ),
    ),
    'They are the same for 1 message; then the first ends.',
  );
});

test('what cannot be seen in a text is made visible, and nothing else is changed', () => {
  assert.equal(showHidden('a b\n\t\r\0\x1b[31m\x7f'), 'a b⟨LF⟩⟨TAB⟩⟨CR⟩⟨U+0000⟩⟨U+001B⟩[31m⟨U+007F⟩');
  assert.equal(showHidden('\u202eevil\u200b\ufeff\u00a0\ud800'), '⟨U+202E⟩evil⟨U+200B⟩⟨U+FEFF⟩⟨U+00A0⟩⟨U+D800⟩');
  assert.equal(showHidden('é 中 😀 <script>'), 'é 中 😀 <script>');
});

test('what acts in a text unseen is shown by its code; blanks, line ends and emoji stay', () => {
  assert.equal(
    showInvisibleControls('a\u202eb\u202c\n\t\r\u2028\u001b[31m \ud800 \ufeff\u00ad\u2066 \u{e0041}a\ufe0f'),
    'a⟨U+202E⟩b⟨U+202C⟩\n\t⟨CR⟩⟨U+2028⟩⟨U+001B⟩[31m ⟨U+D800⟩ ⟨U+FEFF⟩⟨U+00AD⟩⟨U+2066⟩ ⟨U+E0041⟩a⟨U+FE0F⟩',
  );
  const harmless = 'é 中 \u00a0\u3000 👨‍👩‍👧 👩🏽‍💻 ❤️ 1️⃣ <script>';
  assert.equal(showInvisibleControls(harmless), harmless);
  assert.deepEqual([hasInvisibleControls(harmless), hasInvisibleControls('a\u200db')], [false, true]);
  assert.deepEqual(splitAtInvisible('a\u202e\u202eb\u200bc\u200bd', 2), [
    { text: 'a', written: null },
    { text: '⟨U+202E⟩⟨U+202E⟩', written: '\u202e\u202e' },
    { text: 'b', written: null },
    { text: '⟨U+200B⟩', written: '\u200b' },
    { text: 'c⟨U+200B⟩d', written: null },
  ]);
  assert.deepEqual(
    [takeBeginning('a😀b', 2), takeBeginning('a😀b', 3), takeBeginning('ab', 5), takeBeginning('\ud83d\ud83d', 1)],
    ['a', 'a😀', 'ab', '\ud83d'],
  );
});

test('tokens that share a character are together, and the pieces join to the text', () => {
  const bytes = [...Buffer.from('aé😀b')];
  const decode = (ids: readonly number[]): string => Buffer.from(ids).toString('utf8');
  const { spans, exact } = groupTokens(bytes, 'aé😀b', decode);
  assert.ok(exact);
  assert.deepEqual(
    spans.map(({ ids, text }) => [ids.length, text]),
    [
      [1, 'a'],
      [2, 'é'],
      [4, '😀'],
      [1, 'b'],
    ],
  );
  const lossy = groupTokens([1, 2], 'ab', (ids) => ids.map((id) => (id === 1 ? 'A' : 'b')).join(''));
  assert.equal(lossy.exact, false);
  assert.deepEqual(
    lossy.spans.map(({ text }) => text),
    ['A', 'b'],
  );
  assert.equal(
    groupTokens([97], 'ab', decode).exact,
    false,
    'a text that goes on after the tokens is not said to be exact',
  );
});

test('parallel roles of a protocol share a column', () => {
  const node = (id: string, parents: readonly number[]): Parameters<typeof placeNodes>[0]['nodes'][number] => ({
    id,
    role: id,
    turn: 0,
    parents,
    scored: false,
  });
  const placed = placeNodes({
    name: 'p',
    nodes: [node('plan', []), node('a', [0]), node('b', [0]), node('end', [1, 2]), node('after', [0, 3])],
  });
  assert.deepEqual(
    placed.map(({ column, row }) => [column, row]),
    [
      [0, 0],
      [1, 0],
      [1, 1],
      [2, 0],
      [3, 0],
    ],
  );
});
