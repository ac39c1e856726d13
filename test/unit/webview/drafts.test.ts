import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DRAFTS_LENGTH, MOST_DRAFTS, type ReplayDraft } from '../../../src/shared/protocols/replayDraft.ts';
import { isTranscriptState, NO_FILTER } from '../../../src/shared/protocols/transcriptProtocol.ts';
import { hasSameFields, addDraft, type ReplayFields } from '../../../webview/transcript/replay/drafts.ts';
import {
  describeMatching,
  describeReplayProgress,
  labelSettleButton,
  describeSettleProgress,
  describeTranscriptSize,
} from '../../../webview/transcript/replay/replayWords.ts';

const fields: ReplayFields = {
  alternatives: '3',
  replays: '2',
  text: '',
  independent: false,
  snapshot: null,
  temperature: '',
  model: '',
};
const ofMessages = (drafts: readonly ReplayDraft[]): readonly number[] => drafts.map(({ message }) => message);

/** Whether a panel's state takes the drafts. */
function fits(drafts: readonly ReplayDraft[]): boolean {
  const target = { run: 'r', phase: 'train', iteration: 1, problem: 'i' };
  return isTranscriptState({
    version: 5,
    target,
    selected: null,
    collapsed: [],
    opened: [],
    filter: NO_FILTER,
    query: '',
    asWritten: false,
    keysOpen: false,
    whyOpen: true,
    compared: null,
    top: null,
    drafts,
    scroll: 0,
  });
}

test('a message has one draft, its newest; another change makes it the newest of all, and what was asked for is none', () => {
  const first = addDraft(addDraft([], 1, { ...fields, text: 'one' }), 2, { ...fields, text: 'two' });
  const changed = addDraft(first, 1, { ...fields, text: 'one more' });
  assert.deepEqual(
    changed.map(({ message, text }) => [message, text]),
    [
      [2, 'two'],
      [1, 'one more'],
    ],
  );
  assert.deepEqual(ofMessages(first), [1, 2], 'what was there is not changed');
  assert.deepEqual(ofMessages(addDraft(changed, 2, null)), [1]);
  assert.deepEqual(addDraft([], 5, null), []);
});

test('the oldest drafts give way, by their number and by their characters, and the state takes what is left', () => {
  let drafts: readonly ReplayDraft[] = [];
  for (let message = 1; message <= MOST_DRAFTS + 3; message++) {
    drafts = addDraft(drafts, message, { ...fields, alternatives: '5' });
  }
  assert.deepEqual(
    ofMessages(drafts),
    Array.from({ length: MOST_DRAFTS }, (_, index) => index + 4),
  );
  const half = 'x'.repeat(DRAFTS_LENGTH / 2);
  drafts = addDraft(addDraft(drafts, 50, { ...fields, text: half }), 51, { ...fields, text: half });
  assert.equal(drafts.length, MOST_DRAFTS, 'exactly as many as there is room for');
  drafts = addDraft(drafts, 52, { ...fields, text: 'y' });
  assert.deepEqual(ofMessages(drafts), [51, 52]);
  drafts = addDraft(drafts, 53, { ...fields, text: 'z'.repeat(DRAFTS_LENGTH) });
  assert.deepEqual(ofMessages(drafts), [53], 'the longest message that can be replayed is kept whole');
  assert.equal(drafts[0]?.text.length, DRAFTS_LENGTH);
  assert.ok(fits(drafts));
});

test('whatever is typed into the fields, the state takes it', () => {
  const long = '9'.repeat(DRAFTS_LENGTH + 10);
  const drafts = addDraft([], 1, {
    alternatives: long,
    replays: long,
    text: long,
    independent: true,
    snapshot: long,
    temperature: long,
    model: long,
  });
  assert.equal(drafts.length, 1);
  assert.ok(fits(drafts));
});

test('fields that stand as offered are no draft, and any one that does not is', () => {
  assert.ok(hasSameFields({ ...fields }, fields));
  const changes: readonly Partial<ReplayFields>[] = [
    { alternatives: '4' },
    { replays: '' },
    { text: ' ' },
    { independent: true },
    { snapshot: 'a' },
    { temperature: '1' },
    { model: '/m' },
  ];
  for (const change of changes) {
    assert.ok(!hasSameFields({ ...fields, ...change }, fields), JSON.stringify(change));
  }
});

test('a replay says how far it is, where it was cancelled, and when it is of another message', () => {
  const state = { message: 1, status: 'running', bucket: null, done: 0, total: 0, error: null, settle: null } as const;
  assert.equal(describeReplayProgress(null, true), '');
  assert.equal(describeReplayProgress(state, true), 'Preparing');
  assert.equal(describeReplayProgress({ ...state, done: 3, total: 1200 }, true), '3 of 1,200');
  assert.equal(describeReplayProgress({ ...state, done: 4, total: 4 }, true), 'Verifying replays');
  assert.equal(
    describeReplayProgress({ ...state, done: 3, total: 4 }, false),
    'Another message is being replayed: 3 of 4',
  );
  assert.equal(
    describeReplayProgress({ ...state, status: 'cancelled', done: 3, total: 4 }, true),
    'Cancelled after 3 of 4; finished replays are kept.',
  );
  assert.equal(describeReplayProgress({ ...state, status: 'cancelled', done: 3, total: 4 }, false), '');
  assert.equal(
    describeReplayProgress({ ...state, status: 'cancelled', done: 4, total: 4 }, true),
    'Verification was cancelled; all replays are kept.',
  );
  assert.equal(describeReplayProgress({ ...state, status: 'failed', error: 'no' }, true), '');
  assert.equal(describeReplayProgress({ ...state, status: 'done' }, true), '');
});

test('settling a credit says how far it is and how it ended', () => {
  const state = {
    message: 1,
    status: 'running',
    bucket: null,
    done: 0,
    total: 12,
    error: null,
    settle: { most: 12, spent: null },
  } as const;
  const undecided = { verdict: 'undecided' } as const;
  assert.equal(labelSettleButton(12), 'Settle with about 12 replays');
  assert.equal(labelSettleButton(1), 'Settle with about 1 replay');
  assert.equal(describeSettleProgress({ ...state, settle: null }, undecided), '', 'another replay is none of its');
  assert.equal(describeSettleProgress(state, undecided), 'Preparing');
  assert.equal(describeSettleProgress({ ...state, done: 4 }, undecided), '4 of at most 12 replays');
  assert.equal(
    describeSettleProgress({ ...state, status: 'cancelled', done: 4 }, undecided),
    'Cancelled after 4 replays; finished replays are kept.',
  );
  assert.equal(
    describeSettleProgress({ ...state, status: 'done', done: 12, settle: { most: 12, spent: 8 } }, { verdict: 'hurt' }),
    'Settled with 8 replays.',
  );
  assert.equal(
    describeSettleProgress({ ...state, status: 'done', done: 12, settle: { most: 12, spent: 12 } }, undecided),
    'Still undecided after 12 replays.',
  );
  assert.equal(
    describeSettleProgress({ ...state, status: 'failed', error: 'no' }, undecided),
    '',
    'the form says what failed',
  );
});

test('a transcript counts what the run sampled apart from what replays sampled', () => {
  const none = { requests: 0, replays: 0, messages: 0, matching: 0 };
  const replayed = { requests: 3, replays: 12, messages: 77, matching: 5 };
  assert.equal(describeTranscriptSize({ messages: 1, replayed: none }), '1 message');
  assert.equal(describeTranscriptSize({ messages: 10, replayed }), '10 messages · 12 replays in 3 requests');
  assert.equal(describeMatching({ messages: 10, matching: 2, replayed: none }), '2 of 10 messages');
  assert.equal(describeMatching({ messages: 10, matching: 2, replayed }), '2 of 10 messages, 5 of 77 replayed');
});
