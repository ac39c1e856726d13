import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  placeBelowSeen,
  findTranscriptTarget,
  TranscriptOutline,
} from '../../../../../src/extension/transcript/reading/transcriptOutline.ts';
import type { TranscriptTarget } from '../../../../../src/shared/protocols/transcriptProtocol.ts';
import { PREVIEW, WINDOW } from '../../../../../src/shared/protocols/transcriptProtocol.ts';
import { addRequest, addRun, addTree, problem, RUN, temporaryStore } from '../../storeFixture.ts';

const store = temporaryStore();
const { writer } = store;
const first = problem(1);
const target: TranscriptTarget = { run: RUN, phase: 'train', iteration: 1, problem: first.uidSha };
let tree: ReturnType<typeof addTree>;

before(() => {
  addRun(writer);
  tree = addTree(writer, {
    iteration: 1,
    problem: first,
    returns: [
      [1, 0],
      [0, null],
    ],
    words: (plan, actor) => (actor === null ? 'p'.repeat(PREVIEW + 50) : `answer ${plan}.${actor}`),
  });
  addTree(writer, { iteration: 1, problem: problem(2), returns: [[1]] });
  addTree(writer, { iteration: 2, problem: first, returns: [[1]] });
});
after(() => store.remove());

function ids(): { readonly plans: readonly number[]; readonly actors: readonly number[] } {
  return { plans: tree.map(({ plan }) => plan), actors: tree.flatMap(({ actors }) => actors) };
}

test('rows are the question and the messages of this problem and iteration, depth first', () => {
  const outline = TranscriptOutline.read(writer, target);
  const rows = outline.window(writer, target, 0);
  const {
    plans: [p0, p1],
    actors: [a0, a1, a2, a3],
  } = ids();
  assert.deepEqual(
    rows.map((row) => row.message),
    [null, p0, a0, a1, p1, a2, a3],
  );
  assert.deepEqual(
    rows.map((row) => row.depth),
    [0, 1, 2, 2, 1, 2, 2],
  );
  assert.deepEqual(
    rows.map((row) => row.parent),
    [null, 0, 1, 1, 0, 4, 4],
  );
  assert.deepEqual(
    rows.map((row) => row.descendants),
    [6, 2, 0, 0, 2, 0, 0],
  );
  assert.deepEqual(
    rows.map((row) => `${row.position}/${row.siblings}`),
    ['1/1', '1/2', '1/2', '2/2', '2/2', '1/2', '2/2'],
  );
  assert.deepEqual(
    rows.map((row) => row.index),
    [0, 1, 2, 3, 4, 5, 6],
  );
  assert.equal(outline.rows, 7);
  assert.equal(rows[0]?.text, first.question);
  assert.equal(rows[1]?.text.length, PREVIEW);
});

test('a plan returns the mean of what was scored under it; a masked episode has no return', () => {
  const rows = TranscriptOutline.read(writer, target).window(writer, target, 0);
  assert.deepEqual(
    rows.map((row) => row.return),
    [null, 0.5, 1, 0, 0, 0, null],
  );
});

test('a message is placed with the rows above it; a message of another transcript has no place', () => {
  const outline = TranscriptOutline.read(writer, target);
  const { plans, actors } = ids();
  assert.deepEqual(outline.place(actors[2] ?? -1), { message: actors[2], index: 5, descendants: 0, ancestors: [0, 4] });
  assert.deepEqual(outline.place(plans[0] ?? -1)?.ancestors, [0]);
  const elsewhere = writer.transcript({
    run: RUN,
    phase: 'train',
    iteration: 2,
    problem: first.uidSha,
    offset: 0,
    limit: 1,
  }).messages[0];
  assert.equal(outline.place(elsewhere?.id ?? -1), null);
});

test('what a replay request sampled is in a lane below the message that was asked about, and opens its transcript', () => {
  const before = TranscriptOutline.read(writer, target);
  const asked = ids().actors[1] ?? -1;
  const { alternatives } = addRequest(writer, asked, ['other', 'another'], [1, 0]);
  const outline = TranscriptOutline.read(writer, target);
  assert.notEqual(outline.signature, before.signature);
  const rows = outline.window(writer, target, 0);
  const {
    plans: [p0, p1],
    actors: [a0, a1, a2, a3],
  } = ids();
  assert.deepEqual(
    rows.map((row) => row.key),
    [null, p0, a0, a1, -asked, ...alternatives, p1, a2, a3],
  );
  assert.deepEqual(
    rows.filter((row) => row.branch && row.lane === null).map((row) => row.message),
    alternatives,
  );
  assert.equal(rows[1]?.descendants, 5);
  assert.equal(rows[5]?.return, 1);
  // The run's own messages are numbered, and counted, as before; replays among themselves.
  const places = rows.map((row) => `${row.position}/${row.siblings}`);
  assert.deepEqual(places, ['1/1', '1/2', '1/2', '2/2', '1/1', '1/2', '2/2', '2/2', '1/2', '2/2']);
  assert.deepEqual([rows[4]?.message, rows[4]?.lane], [asked, { requests: 1, replays: 2 }]);
  assert.deepEqual([rows[4]?.depth, rows[5].depth], [3, 4]);
  assert.deepEqual(outline.lanes, [{ message: -asked, index: 4, descendants: 2, ancestors: [0, 1, 3] }]);
  const six = { messages: 6, matching: 6 };
  assert.deepEqual(outline.counts, {
    own: six,
    replayed: { messages: 2, matching: 2 },
    made: { requests: 1, replays: 2 },
  });
  for (const id of [...alternatives, asked]) {
    assert.deepEqual(findTranscriptTarget(writer, id), target);
  }
  const other = TranscriptOutline.read(writer, { ...target, iteration: 2 });
  assert.equal(other.rows, 3, 'a branch of one iteration is none of another');
});

test('a request about a sampled message leads back to the transcript of the run', () => {
  const sampled =
    TranscriptOutline.read(writer, target)
      .window(writer, target, 0)
      .find((row) => row.branch && row.lane === null)?.message ?? -1;
  const { alternatives } = addRequest(writer, sampled, ['third'], [1]);
  assert.deepEqual(findTranscriptTarget(writer, alternatives[0] ?? -1), target);
  assert.deepEqual(TranscriptOutline.read(writer, target).place(alternatives[0] ?? -1)?.ancestors, [0, 1, 3, 4, 5, 6]);
  // A further request about the same message is in the same lane.
  addRequest(writer, ids().actors[1] ?? -1, ['fourth'], [0]);
  const rows = TranscriptOutline.read(writer, target).window(writer, target, 0);
  assert.deepEqual(
    rows.map(({ lane }) => lane).filter((lane) => lane !== null),
    [
      { requests: 2, replays: 3 },
      { requests: 1, replays: 1 },
    ],
  );
});

test('long transcripts travel in windows of equal size that join without a gap', () => {
  const wide = problem(3);
  addTree(writer, { iteration: 1, problem: wide, returns: Array.from({ length: 150 }, () => [1, 0]) });
  const wideTarget = { ...target, problem: wide.uidSha };
  const outline = TranscriptOutline.read(writer, wideTarget);
  assert.equal(outline.rows, 451);
  const windows = [0, WINDOW, 2 * WINDOW].map((offset) => outline.window(writer, wideTarget, offset));
  assert.deepEqual(
    windows.map((rows) => rows.length),
    [200, 200, 51],
  );
  assert.deepEqual(
    windows.flat().map((row) => row.index),
    Array.from({ length: 451 }, (_, index) => index),
  );
});

test('voters who do not see each other are side by side, numbered as their episode', () => {
  // Two episodes of three voters: the first and the second see nobody, the third sees the first.
  const sight = new Map([
    ['one', new Set<string>()],
    ['two', new Set<string>()],
    ['three', new Set(['one'])],
  ]);
  const chains = [
    { id: 1, parent: null },
    { id: 3, parent: 1 },
    { id: 4, parent: 3 },
    { id: 2, parent: null },
    { id: 5, parent: 2 },
  ];
  const roles = new Map([
    [1, 'one'],
    [2, 'one'],
    [3, 'two'],
    [5, 'two'],
    [4, 'three'],
  ]);
  assert.deepEqual(placeBelowSeen(chains, sight, roles), [
    { id: 1, parent: null },
    { id: 3, parent: null, beside: 1 },
    { id: 4, parent: 1, beside: 3 },
    { id: 2, parent: null },
    { id: 5, parent: null, beside: 2 },
  ]);
  // Alternatives of the last voter are beside the others too, and numbered among themselves.
  const last = [
    { id: 1, parent: null },
    { id: 3, parent: 1 },
    { id: 5, parent: 1 },
  ];
  assert.deepEqual(placeBelowSeen(last, sight, roles), [
    { id: 1, parent: null },
    { id: 3, parent: null, among: 1 },
    { id: 5, parent: null, among: 1 },
  ]);
  // Those that others follow have episodes of their own below them.
  const inner = [...last, { id: 4, parent: 5 }];
  assert.deepEqual(placeBelowSeen(inner, new Map([...sight, ['three', new Set(['one', 'two'])]]), roles), inner);
  // Replays of a message that is not among them stay below it.
  const replays = [
    { id: 3, parent: 1 },
    { id: 6, parent: 3 },
  ];
  assert.deepEqual(placeBelowSeen(replays, sight, new Map([...roles, [6, 'two']])), [
    { id: 3, parent: 1 },
    { id: 6, parent: 1, beside: 3 },
  ]);
});

test('voters in the lane of a replayed voter are side by side too', () => {
  const question = problem(9);
  const [voted] = addTree(writer, { iteration: 1, problem: question, returns: [[1]] });
  assert.ok(voted);
  const [asked, other] = [voted.plan, voted.actors[0] ?? -1];
  const { bucket, alternatives } = addRequest(writer, asked, ['another'], [1]);
  const { iteration } = writer.message(alternatives[0] ?? -1);
  const answer = (parent: number, siblingIndex: number): number =>
    writer.insertMessage({ ...writer.fullMessage(other), phase: 'replay', iteration, parent, bucket, siblingIndex });
  const instead = alternatives[0] ?? -1;
  const [c1, c2, i1, i2] = [answer(asked, 0), answer(asked, 1), answer(instead, 0), answer(instead, 1)];
  const sight = new Map([
    ['reasoner', new Set<string>()],
    ['actor', new Set<string>()],
  ]);
  const transcript = { ...target, problem: question.uidSha };
  const rows = TranscriptOutline.read(writer, transcript, sight).window(writer, transcript, 1);
  assert.deepEqual(
    rows.map(({ key, depth, position, siblings }) => [key, depth, position, siblings]),
    [
      [asked, 1, 1, 1],
      [-asked, 2, 1, 1],
      [c1, 3, 1, 2],
      [c2, 3, 2, 2],
      [instead, 3, 1, 1],
      [i1, 3, 1, 2],
      [i2, 3, 2, 2],
      [other, 1, 1, 1],
    ],
  );
});

test('voters beside each other show what training learned, until one of them is replayed', () => {
  const question = problem(10);
  const plans = addTree(writer, { iteration: 1, problem: question, returns: [[1], [0]] });
  const messages = plans.flatMap(({ plan, actors }) => [plan, ...actors]);
  const credit = { estimator: 'ccpo', low: null, high: null, n: 2, evaluatorCalls: 2, interval: 'none' };
  for (const [index, id] of messages.entries()) {
    writer.insertCredit(writer.message(id).bucket ?? -1, id, { ...credit, value: index / 4 });
  }
  const sight = new Map([
    ['reasoner', new Set<string>()],
    ['actor', new Set<string>()],
  ]);
  const transcript = { ...target, problem: question.uidSha };
  const learned = (outline: TranscriptOutline): readonly (number | undefined)[] =>
    outline
      .window(writer, transcript, 1)
      .filter(({ branch }) => !branch)
      .map((row) => row.learned?.value);
  const outline = TranscriptOutline.read(writer, transcript, sight);
  assert.deepEqual(learned(outline), [0, 0.25, 0.5, 0.75]);
  assert.deepEqual(learned(outline.filtered(new Set(messages.slice(0, 1)))), [0]);
  assert.deepEqual(learned(TranscriptOutline.read(writer, transcript)), Array(4).fill(undefined));
  addRequest(writer, messages[0] ?? -1, ['other'], [1]);
  assert.deepEqual(learned(TranscriptOutline.read(writer, transcript, sight)), [undefined, 0.25, 0.5, 0.75]);
});

test('the rows of voters have the depth of the first one, also under a filter and as the store grows', () => {
  const question = problem(8);
  addTree(writer, { iteration: 1, problem: question, returns: [[1], [0]] });
  const voted: TranscriptTarget = { ...target, problem: question.uidSha };
  const sight = new Map([
    ['reasoner', new Set<string>()],
    ['actor', new Set<string>()],
  ]);
  const shape = (outline: TranscriptOutline): readonly string[] =>
    outline
      .window(writer, voted, 1)
      .map(({ role, depth, position, siblings }) => `${role} ${[depth, position, siblings].map(String).join(' ')}`);
  const outline = TranscriptOutline.read(writer, voted, sight);
  const both = ['reasoner 1 1 2', 'actor 1 1 2', 'reasoner 1 2 2', 'actor 1 2 2'];
  assert.deepEqual(shape(outline), both);
  assert.deepEqual(shape(outline.again(writer, voted)), both);
  const last = outline.keyAt(4) ?? 0;
  assert.deepEqual(shape(outline.filtered(new Set([last]))), ['actor 1 2 2']);
  assert.deepEqual(shape(TranscriptOutline.read(writer, voted)), [
    'reasoner 1 1 2',
    'actor 2 1 1',
    'reasoner 1 2 2',
    'actor 2 1 1',
  ]);
});
