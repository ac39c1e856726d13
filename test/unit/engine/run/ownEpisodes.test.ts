import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { BY_HAND } from '../../../../src/domain/episode.ts';
import { NO_EPISODE_NOTE, type EpisodeNote } from '../../../../src/domain/episodeNote.ts';
import { NO_PROBLEM_FILTER, OUTCOME_FILTERS, PROBLEM_COLUMNS } from '../../../../src/domain/problem.ts';
import { readEvaluationSamples } from '../../../../src/engine/diagnose/diagnose.ts';
import { HEADLINE_RULE } from '../../../../src/engine/recipe/headlines.ts';
import { describeHandScores, readLostEpisode } from '../../../../src/engine/replay/blame.ts';
import { requireLastEvaluation } from '../../../../src/engine/replay/blameRun.ts';
import { applyEpisodeNoteChanges, findEpisodeLeaf } from '../../../../src/engine/run/ownEpisodes.ts';
import { readDetectorReports } from '../../../../src/engine/taxonomy/taxonomyReport.ts';
import { formatProblemsCsv } from '../../../../src/extension/episodes/episodesSession.ts';
import { summarizeLoss } from '../../../../src/extension/transcript/message/whyLost.ts';
import { buildFindingReport } from '../../../../src/report/finding.ts';
import { writeFindingPage } from '../../../../src/report/findingPage.ts';
import { toErrorMessage } from '../../../../src/shared/errors.ts';
import { openStoreForWriting, type StoreWriter } from '../../../../src/store/write/writer.ts';
import { filledStore, inputErrorLike, newMessage } from '../../store/helpers.ts';
import { importText } from '../exchange/importText.ts';

/** What the episodes of a log return, by their questions; null where the log says nothing. */
const RETURNS: readonly (readonly [question: string, value: number | null])[] = [
  ['How far?', 1],
  ['How long?', 0],
  ['How far?', 0],
  ['How high?', 0.5],
  ['How deep?', null],
  ['How far?', 0],
];

/** A store with one run: the episodes, each of two messages, with the scores that the log gives. */
async function imported(
  t: TestContext,
  scored: boolean,
): Promise<{ readonly store: StoreWriter; readonly run: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'c3-noted-'));
  const store = openStoreForWriting(join(folder, 'c3.sqlite'), { headlines: HEADLINE_RULE });
  t.after(() => {
    store.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const lines = RETURNS.map(([question, value], index) =>
    JSON.stringify({
      messages: [
        { role: 'user', content: question },
        { role: 'assistant', name: 'planner', content: `I look ${index}.` },
        { role: 'assistant', name: 'solver', content: `#### ${index}` },
      ],
      ...(scored && value !== null && { score: value }),
    }),
  );
  const { run } = await importText(store, lines.join('\n'));
  return { store, run };
}

const say = (store: StoreWriter, message: number, changes: Partial<EpisodeNote>): void => {
  const leaf = findEpisodeLeaf(store, message);
  const run = store.messageRun(leaf);
  const note = applyEpisodeNoteChanges(store.episodeNote(leaf) ?? NO_EPISODE_NOTE, changes, store.returnScale(run));
  store.insertEpisodeNote({ run, leaf, ...note, author: 'you', createdAt: '2026' });
};

/** Gives every episode that the log would score its score by hand. */
function scoreAll(store: StoreWriter, score: (value: number) => number | null): void {
  for (const [index, [, value]] of RETURNS.entries()) {
    if (value !== null) {
      say(store, 2 * index + 1, { score: score(value) });
    }
  }
}

const ALL_MESSAGES = Array.from({ length: 2 * RETURNS.length }, (_, index) => index + 1);

const orFault = (read: () => unknown): unknown => {
  try {
    return read();
  } catch (error) {
    return toErrorMessage(error).replaceAll(/(?:imported|recorded)-\S+/gu, 'RUN');
  }
};

/** What every reader says of returns. */
async function readings(store: StoreWriter, run: string): Promise<Readonly<Record<string, unknown>>> {
  const round = { run, phase: 'evaluate', iteration: 2 } as const;
  const rows = store.problems(
    store.problemIds({
      run,
      filter: NO_PROBLEM_FILTER,
      sort: { column: 'appearance', descending: false },
      classes: {},
    }),
  );
  const list = (outcome: (typeof OUTCOME_FILTERS)[number], column: (typeof PROBLEM_COLUMNS)[number]): unknown =>
    store.problemIds({
      run,
      filter: { ...NO_PROBLEM_FILTER, outcome },
      sort: { column, descending: true },
      classes: {},
    });
  const sorted = PROBLEM_COLUMNS.filter((column) => column !== 'byHand' && column !== 'tags');
  const { filled, ...facets } = store.problemFacets(run);
  return {
    episodes: store.episodes({ ...round, offset: 0, limit: 99 }).map(({ leaf, return: value }) => [leaf, value]),
    count: store.countEpisodes(round),
    evaluations: store.evaluationNumbers(run),
    masked: store.maskedEpisodes(run),
    messages: store.messages(ALL_MESSAGES).map(({ return: value, leaves }) => [value, leaves]),
    full: ALL_MESSAGES.map((id) => store.fullMessage(id).return),
    facts: rows.map(({ problem }) => store.facts({ ...round, problem }).map(({ return: value }) => value)),
    rows: rows.map(({ rounds, greedyBefore, sampledBefore, meanReturn, returns, masked }) => ({
      ...{ rounds, greedyBefore, sampledBefore, meanReturn, returns, masked },
    })),
    lists: OUTCOME_FILTERS.map((outcome) => list(outcome, 'appearance')),
    orders: sorted.map((column) => list('all', column)),
    facets,
    filled: filled.filter((column) => column !== 'byHand' && column !== 'tags'),
    openings: rows.map(({ id }) => store.problemOpening(id, null)?.message),
    questions: store.searchQuestions({ query: 'how', limit: 9 }).map(({ problem, message }) => [problem, message]),
    why: ALL_MESSAGES.map((id) => summarizeLoss(store, id)),
    blame: ALL_MESSAGES.map((id) => orFault(() => readLostEpisode(store, id)?.end)),
    selected: orFault(() => requireLastEvaluation(store, run).episodes.map(({ leaf, return: value }) => [leaf, value])),
    detectors: (await readDetectorReports(store, run, false)).detectors.map(({ name, count, cases }) => [
      name,
      count,
      cases,
    ]),
    samples: readEvaluationSamples(store, run, 2, 1),
    findings: ALL_MESSAGES.map((id) => buildFindingReport(store, id).message.return),
  };
}

test('a score by hand is read as that of the log by every reader, and as none once it is taken back', async (t) => {
  const [log, hand, bare] = [await imported(t, true), await imported(t, false), await imported(t, false)];
  const unscored = await readings(bare.store, bare.run);
  scoreAll(hand.store, (value) => value);
  assert.deepEqual(await readings(hand.store, hand.run), await readings(log.store, log.run));
  assert.notDeepEqual(await readings(hand.store, hand.run), unscored);
  scoreAll(hand.store, (value) => 1 - value);
  assert.deepEqual(hand.store.message(2).return, 0, 'the last score counts');
  scoreAll(hand.store, () => null);
  assert.deepEqual(await readings(hand.store, hand.run), unscored);
});

test('a score by hand is named as one wherever it is the return', async (t) => {
  const { store, run } = await imported(t, false);
  say(store, 1, { score: 0, note: 'It looked once.', tags: ['odd', ' odd ', 'late'] });
  assert.equal(store.message(1).byHand, true, 'also of a message before the last');
  assert.equal(store.message(3).byHand, undefined);
  const [episode] = store.episodes({ run, phase: 'evaluate', iteration: 2, offset: 0, limit: 9 });
  assert.equal(episode?.rule, BY_HAND);
  const lost = readLostEpisode(store, 1);
  assert.match(lost === null ? '' : (describeHandScores([lost]) ?? ''), /^The episode was scored by hand/u);
  const page = writeFindingPage(buildFindingReport(store, 1));
  assert.match(page, /0.*, scored by hand/u);
  assert.match(page, /odd, late[\s\S]*It looked once\./u);
  const ids = store.problemIds({
    ...{ run, filter: { ...NO_PROBLEM_FILTER, search: 'tag:odd note:"looked once"' }, classes: {} },
    sort: { column: 'byHand', descending: false },
  });
  const [row, ...others] = store.problems(ids);
  assert.deepEqual(others, []);
  assert.deepEqual([row?.question, row?.handScore, row?.handReturns, row?.tags], ['How far?', 0, 1, ['odd', 'late']]);
  const csv = formatProblemsCsv(
    store.problems(ids).map((one) => ({ ...one, scale: null, problemClass: null, lost: null })),
  );
  assert.match(csv, /,0,1,"odd, late",/u);
  const { filled } = store.problemFacets(run);
  assert.deepEqual([filled.includes('byHand'), filled.includes('tags')], [true, true]);
});

test('beside a return of the log a score by hand is read as said, and changes nothing', async (t) => {
  const { store, run } = await imported(t, true);
  const before = await readings(store, run);
  scoreAll(store, (value) => 1 - value);
  assert.deepEqual(await readings(store, run), before);
  assert.deepEqual(store.episodeNote(1), {
    ...{ score: 0, note: '', tags: [], author: 'you', createdAt: '2026', isReturn: false },
  });
});

test('what cannot be said of an episode is refused in a sentence', (t) => {
  const store = filledStore(t);
  const first = store.insertMessage(newMessage());
  const ends = [0, 1].map((siblingIndex) => store.insertMessage(newMessage({ parent: first, siblingIndex })));
  assert.throws(
    () => findEpisodeLeaf(store, first),
    inputErrorLike(new RegExp(`in 2 episodes; .*: ${ends.join(', ')}`, 'u')),
  );
  assert.equal(findEpisodeLeaf(store, ends[0] ?? 0), ends[0]);
  assert.throws(() => findEpisodeLeaf(store, 999), inputErrorLike(/message 999/));
  const replayed = store.insertMessage(newMessage({ phase: 'replay' }));
  assert.throws(() => findEpisodeLeaf(store, replayed), inputErrorLike(/belongs to a replay/));
  const range = { low: 0, high: 2 };
  assert.equal(applyEpisodeNoteChanges(NO_EPISODE_NOTE, { score: 2 }, range).score, 2);
  for (const [changes, within] of [
    [{ score: 1.01 }, null],
    [{ score: -0.01 }, null],
    [{ score: NaN }, range],
    [{ score: Infinity }, range],
    [{ note: 'x'.repeat(10_001) }, range],
    [{ tags: ['x'.repeat(41)] }, range],
    [{ tags: Array.from({ length: 21 }, (_, index) => String(index)) }, range],
  ] as const) {
    assert.throws(
      () => applyEpisodeNoteChanges(NO_EPISODE_NOTE, changes, within),
      inputErrorLike(/from 0 to [12]|up to/),
      JSON.stringify(changes).slice(0, 60),
    );
  }
});
