import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { branchOf, formatBranch } from '../../../../../src/extension/documents/branchOf.ts';
import { formatContextDocument } from '../../../../../src/extension/documents/contextDocument.ts';
import { TranscriptReading } from '../../../../../src/extension/transcript/reading/transcriptReading.ts';
import {
  NO_FILTER,
  type TranscriptFilter,
  type TranscriptTarget,
} from '../../../../../src/shared/protocols/transcriptProtocol.ts';
import { headline, setHeadline } from '../../../../support/headlines.ts';
import { addRequest, addRun, addTree, problem, RUN, temporaryStore } from '../../storeFixture.ts';

const store = temporaryStore();
const { writer } = store;
const target: TranscriptTarget = { run: RUN, phase: 'train', iteration: 1, problem: problem(1).uidSha };
let tree: ReturnType<typeof addTree>;

before(() => {
  addRun(writer);
  tree = addTree(writer, {
    iteration: 1,
    problem: problem(1),
    returns: [
      [1, 0],
      [0, null],
    ],
  });
  addTree(writer, { iteration: 1, problem: problem(2), returns: [[1]] });
  for (const [index, value] of [0.5, -0.5].entries()) {
    const actor = tree[0]?.actors[index] ?? -1;
    setHeadline(writer.path, actor, headline(value, { low: null, high: null }));
  }
});
after(() => store.remove());

function shown(
  filter: Partial<TranscriptFilter>,
  classes: ConstructorParameters<typeof TranscriptReading>[3] = null,
): readonly (readonly [number | null, boolean, string])[] {
  const reading = new TranscriptReading(writer, target, { ...NO_FILTER, ...filter }, classes);
  return reading.window(writer, 0).map((row) => [row.message, row.match, `${row.position}/${row.siblings}`]);
}

test('a filter leaves what matches with what is above it, each at its own place among all', () => {
  const [p0, p1] = tree;
  assert.ok(p0 && p1);
  const [a0, a1] = p0.actors;
  const [b0, b1] = p1.actors;
  assert.deepEqual(shown({ role: 'reasoner' }), [
    [null, true, '1/1'],
    [p0.plan, true, '1/2'],
    [p1.plan, true, '2/2'],
  ]);
  assert.deepEqual(shown({ credit: 'negative' }), [
    [null, true, '1/1'],
    [p0.plan, false, '1/2'],
    [a1, true, '2/2'],
  ]);
  assert.deepEqual(shown({ credit: 'positive', outcome: 'won' }), [
    [null, true, '1/1'],
    [p0.plan, false, '1/2'],
    [a0, true, '1/2'],
  ]);
  assert.deepEqual(
    shown({ role: 'actor', outcome: 'lost' }).map(([id]) => id),
    [null, p0.plan, a1, p1.plan, b0],
  );
  assert.deepEqual(
    shown({ outcome: 'none' }).map(([id]) => id),
    [null, p1.plan, b1],
  );
  assert.deepEqual(
    shown({ outcome: 'between' }).map(([id]) => id),
    [null, p0.plan],
  );
  assert.deepEqual(
    shown({ role: 'nobody' }).map(([id]) => id),
    [null],
  );
});

test('a filter by class keeps the members of the class, and none before they are known', () => {
  const member = tree[1]?.actors[0] ?? -1;
  assert.deepEqual(
    shown({ label: 'class:Misleading Plan' }, new Map([['Misleading Plan', new Set([member])]])).map(([id]) => id),
    [null, tree[1]?.plan, member],
  );
  assert.deepEqual(
    shown({ label: 'class:Misleading Plan' }).map(([id]) => id),
    [null],
  );
});

test('a filter counts what it leaves, and says what it hides', () => {
  const reading = new TranscriptReading(writer, target, { ...NO_FILTER, credit: 'negative' });
  const replayed = { requests: 0, replays: 0, messages: 0, matching: 0 };
  assert.deepEqual(reading.sizes, { rows: 3, messages: 6, matching: 1, replayed, lanes: [] });
  assert.ok(reading.hides(tree[1]?.plan ?? -1));
  assert.ok(!reading.hides(tree[0]?.plan ?? -1));
  assert.deepEqual(reading.placeAt(2), { message: tree[0]?.actors[1], index: 2, descendants: 0, ancestors: [0, 1] });
  assert.equal(reading.placeAt(0), null);
});

test('a message that the filter hides has the nearest row before it that is left', () => {
  const [p0, p1] = tree;
  assert.ok(p0 && p1);
  const plans = new TranscriptReading(writer, target, { ...NO_FILTER, role: 'reasoner' });
  assert.deepEqual(
    [...p0.actors, ...p1.actors].map((id) => plans.nearest(id)),
    [1, 1, 2, 2],
  );
  const won = new TranscriptReading(writer, target, { ...NO_FILTER, credit: 'negative' });
  assert.deepEqual(
    [p0.actors[0], p1.plan, p1.actors[1]].map((id) => won.nearest(id ?? -1)),
    [1, 2, 2],
  );
  assert.deepEqual(
    [p0.plan, -1].map((id) => won.nearest(id)),
    [null, null],
    'one that is there, and one that is not of this transcript',
  );
  assert.equal(
    new TranscriptReading(writer, target, { ...NO_FILTER, role: 'nobody' }).nearest(p1.plan),
    0,
    'the question is always left',
  );
});

test('a search finds rows of this transcript, counts what the filter hides and what is elsewhere in the run', () => {
  const all = new TranscriptReading(writer, target);
  assert.deepEqual(all.search(writer, 'answer'), {
    query: 'answer',
    rows: [2, 3, 5, 6],
    total: 4,
    hidden: 0,
    elsewhere: 1,
  });
  assert.deepEqual(
    all.search(writer, 'answer 1.'),
    { query: 'answer 1.', rows: [3, 5, 6], total: 3, hidden: 0, elsewhere: 0 },
    'every word, each as a beginning',
  );
  const some = new TranscriptReading(writer, target, { ...NO_FILTER, credit: 'negative' });
  assert.deepEqual(some.search(writer, 'ANSW'), { query: 'ANSW', rows: [2], total: 1, hidden: 3, elsewhere: 1 });
  assert.deepEqual(all.search(writer, '  ').total, 0);
  assert.deepEqual(all.search(writer, '"unheard').rows, []);
  assert.deepEqual(all.search(writer, 'what is 1').rows, [0], 'the question is the first row');
  assert.deepEqual(some.search(writer, 'QUEST').rows, [0], 'which no filter hides');
  assert.deepEqual(all.search(writer, 'question 2').rows, [], 'that of another problem is not here');
});

test('a branch goes down to its message and on by the first continuation; its document holds no ids', () => {
  const [p0] = tree;
  assert.ok(p0);
  const branch = branchOf(writer, p0.plan);
  assert.deepEqual(
    branch.messages.map(({ message }) => message),
    [p0.plan, p0.actors[0]],
  );
  assert.deepEqual([branch.return, branch.otherContinuations], [1, 1]);
  assert.deepEqual(
    branchOf(writer, p0.actors[1] ?? -1).messages.map(({ message }) => message),
    [p0.plan, p0.actors[1]],
  );
  assert.equal(
    formatBranch(branch),
    '──── question\nQuestion 1: what is 1 + 1?\n──── reasoner\nplan 0\n──── actor\nanswer 0.0\n──── return\n1\n',
  );
  assert.match(formatBranch(branchOf(writer, tree[1]?.actors[1] ?? -1)), /──── return\nnot measured\n$/u);
});

test('what a request sampled is searched and filtered with the rest', () => {
  const before = new TranscriptReading(writer, target);
  const asked = tree[0]?.actors[0] ?? -1;
  const { alternatives } = addRequest(writer, asked, ['another answer'], [0]);
  const after = before.refreshed(writer);
  assert.notEqual(after, before);
  assert.equal(after.refreshed(writer), after);
  assert.deepEqual(
    after.search(writer, 'another').rows.map((row) => after.placeAt(row)?.message),
    alternatives,
  );
  assert.ok(shown({ outcome: 'lost', role: 'actor' }).some(([id]) => id === alternatives[0]));
  // The run alone, and the replays alone with what is above them.
  assert.equal(after.sizes.messages, 6);
  assert.deepEqual(after.sizes.replayed, { requests: 1, replays: 1, messages: 1, matching: 1 });
  assert.deepEqual(
    after.sizes.lanes.map(({ message }) => message),
    [-asked],
  );
  const [run, replays] = (['run', 'replays'] as const).map((lane) =>
    after.filtered(writer, { ...NO_FILTER, lane }, null),
  );
  assert.deepEqual(run?.sizes, {
    rows: 7,
    messages: 6,
    matching: 6,
    replayed: { requests: 1, replays: 1, messages: 1, matching: 0 },
    lanes: [],
  });
  const rows = replays?.window(writer, 0) ?? [];
  const plan = tree[0]?.plan ?? -1;
  assert.deepEqual(
    rows.map(({ key, match }) => [key, match]),
    [
      [null, true],
      [plan, false],
      [asked, false],
      [-asked, false],
      [alternatives[0], true],
    ],
  );
  assert.deepEqual(replays?.sizes.lanes, [], 'a lane that is asked for is open');
});

test('the document of a context has a row per token with its byte, its id and its bytes; without a tokenizer it has the bytes and says why', () => {
  const message = {
    ...writer.fullMessage(tree[0]?.plan ?? -1),
    context: 'a\u202e\n',
    promptTokens: 3,
    tokens: Int32Array.from([9]),
    logprobs: Float32Array.from([-0.5]),
  };
  const text = formatContextDocument(message, {
    message: message.id,
    context: [
      { ids: [1], text: 'a' },
      { ids: [2, 3], text: '\u202e' },
      { ids: [4], text: '\n' },
    ],
    answer: [{ ids: [9], text: 'x' }],
    exact: true,
    storedPromptTokens: 4,
  });
  const lines = text.split('\n').map((line) => line.trim().replaceAll(/ +/gu, ' '));
  assert.ok(lines.includes('0 1 61 │a│'), text);
  assert.ok(lines.includes('1 2+3 e2 80 ae │⟨U+202E⟩│'), text);
  assert.ok(lines.includes('4 4 0a │⟨LF⟩│'), text);
  assert.ok(lines.includes('0 9 78 │x│ -0.5000'), text);
  assert.ok(!text.includes('has changed'));
  const plain = formatContextDocument(message, 'the folder is gone.');
  assert.match(plain, /cannot be shown: the folder is gone\./u);
  assert.match(plain, /0 {2}│a⟨U\+202E⟩⟨LF⟩│/u);
});
