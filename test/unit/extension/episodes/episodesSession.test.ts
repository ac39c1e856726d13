/** The episodes panel's side of the extension host, on a real store. */

import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import {
  CLEAREST_FIRST,
  LOST_FIRST,
  NO_PROBLEM_FILTER,
  type LostProblem,
  type LostProblemRow,
  type ProblemFilter,
} from '../../../../src/domain/problem.ts';
import { describeJudgeAgreement, type JudgeAgreement } from '../../../../src/domain/run.ts';
import {
  EpisodesSession,
  type EpisodesSurroundings,
  type ProblemClasses,
} from '../../../../src/extension/episodes/episodesSession.ts';
import {
  EPISODES_REQUESTS,
  EPISODES_PANEL,
  NO_PLACE,
  type EpisodesFromHost,
  type EpisodesToHost,
  type ShownProblem,
} from '../../../../src/shared/protocols/episodesProtocol.ts';
import { guardToHost } from '../../../../src/shared/protocols/panel.ts';
import { isAnswer } from '../../../../src/shared/protocols/requests.ts';
import type { StoreWriter } from '../../../../src/store/write/writer.ts';
import { addRun, addTree, problem, RUN, temporaryStore } from '../storeFixture.ts';
import { PageInHand } from '../webview/pageInHand.ts';

const isEpisodesToHost = guardToHost(EPISODES_PANEL);
/** Lets what was asked of the engine arrive. */
const settled = (): Promise<void> => new Promise((done) => setImmediate(done));

interface Desk {
  readonly session: EpisodesSession;
  readonly writer: StoreWriter;
  readonly send: (message: EpisodesToHost) => Promise<void>;
  readonly page: PageInHand<typeof EPISODES_PANEL, EpisodesFromHost>;
  readonly opened: { readonly message: number; readonly beside: boolean }[];
  readonly later: (() => void)[];
}

function desk(t: TestContext, changes: Partial<EpisodesSurroundings> = {}): Desk {
  const { writer, ...made } = temporaryStore();
  t.after(() => made.remove());
  const opened: Desk['opened'] = [];
  const later: Desk['later'] = [];
  const kept = new Map<string, unknown>();
  const page = new PageInHand<typeof EPISODES_PANEL, EpisodesFromHost>();
  const session = new EpisodesSession({ run: null, note: null }, page, {
    reader: () => writer,
    keeper: {
      get: (key) => kept.get(key),
      update: (key, value) => {
        kept.set(key, value);
        return Promise.resolve();
      },
    },
    statusOf: ({ status }) => status,
    classesOf: () => Promise.resolve(new Map()),
    lostProblems: () => Promise.resolve([]),
    askForName: () => Promise.resolve(' mine '),
    save: () => Promise.resolve(true),
    say: () => undefined,
    openTranscript: (_, message, beside) => opened.push({ message, beside }),
    command: () => Promise.resolve(),
    later: (work) => {
      later.push(work);
      return { dispose: () => undefined };
    },
    ...changes,
  });
  const send = (message: EpisodesToHost): Promise<void> => page.send(session, message);
  return { session, send, page, writer, opened, later };
}

const ready = {
  type: 'ready',
  filter: NO_PROBLEM_FILTER,
  sort: { column: 'appearance', descending: false },
  place: NO_PLACE,
} as const;
const asking = (revision: number): EpisodesToHost => ({
  type: 'request',
  id: 1,
  kind: 'rows',
  asked: { revision, offset: 0 },
});
/** The rows of the newest answer; null for an order that is out of date. */
function rows(page: PageInHand<typeof EPISODES_PANEL, EpisodesFromHost>): readonly ShownProblem[] | null {
  const { answer } = page.last('reply');
  assert.ok(isAnswer(EPISODES_REQUESTS, 'rows', answer));
  return answer;
}
const uids = (page: PageInHand<typeof EPISODES_PANEL, EpisodesFromHost>): readonly string[] | undefined =>
  rows(page)?.map(({ uid }) => uid);

test('without a run the page says so, and shows the newest as soon as there is one', async (t) => {
  const { session, send, page, writer } = desk(t);
  await send(ready);
  assert.equal(page.last('empty').type, 'empty');
  addRun(writer);
  addTree(writer, { iteration: 1, problem: problem(1), returns: [[1]] });
  session.storeChanged();
  assert.equal(page.last('opened').run.id, RUN);
  assert.equal(page.last('layout').layout.rows, 1);
});

test('the run of a model judge says how far that is to be believed, and another run nothing', async (t) => {
  const { session, send, page, writer } = desk(t);
  addRun(writer);
  await send(ready);
  assert.equal(page.last('opened').run.judge, null);
  const same = { value: 0.8, low: 0.5, high: 0.9 };
  const judge: JudgeAgreement = {
    ...{ labels: 10, unread: 1 },
    self: { n: 9, same, distance: 0.1 },
    user: { n: 10, same, distance: 0.2 },
  };
  const row = {
    id: 'scored-by-model',
    method: 'c3',
    seed: 7,
    title: 'Scored by a model',
    plannedSteps: 3,
    createdAt: '2026-01-03T00:00:00Z',
  };
  writer.insertRun({ ...row, config: JSON.stringify({ judge }) });
  session.show({ run: 'scored-by-model', note: null });
  assert.equal(page.last('opened').run.judge, describeJudgeAgreement(judge));
});

test('rows of an older order are not given, and a growing run keeps the places of what is looked at', async (t) => {
  const { session, send, page, writer, later } = desk(t);
  addRun(writer);
  for (const number of [1, 2, 3]) {
    addTree(writer, { iteration: 1, problem: problem(number), returns: [[number % 2]] });
  }
  await send({ ...ready, sort: { column: 'question', descending: true } });
  const first = page.last('layout').layout;
  await send(asking(first.revision));
  assert.deepEqual(uids(page), ['q3', 'q2', 'q1']);
  const [three, two] = rows(page) ?? [];
  await send({ type: 'place', place: { active: two?.id ?? null, top: three?.id ?? null, offset: 5 } });
  addTree(writer, { iteration: 1, problem: problem(9), returns: [[1]] });
  session.storeChanged();
  const { layout } = page.last('layout');
  assert.deepEqual([layout.rows, layout.top, layout.active], [4, 1, 2]);
  await send(asking(first.revision));
  assert.equal(rows(page), null);
  // Changes while it rests are one more order, afterwards.
  addTree(writer, { iteration: 1, problem: problem(10), returns: [[1]] });
  session.storeChanged();
  session.storeChanged();
  assert.equal(page.last('layout').layout.rows, 4);
  later.shift()?.();
  assert.equal(page.last('layout').layout.rows, 5);
});

test('a filter is saved under a name, comes back sorted by name, and a spoilt one is left', async (t) => {
  const kept = new Map<string, unknown>([['c3.episodeFilters', [{ name: 'broken' }]]]);
  const { send, page, writer } = desk(t, {
    keeper: {
      get: (key) => kept.get(key),
      update: (key, value) => {
        kept.set(key, value);
        return Promise.resolve();
      },
    },
  });
  addRun(writer);
  await send(ready);
  assert.deepEqual(page.last('saved').filters, []);
  const filter: ProblemFilter = { ...NO_PROBLEM_FILTER, outcome: 'lost' };
  await send({ type: 'saveFilter', filter, sort: CLEAREST_FIRST });
  assert.deepEqual(page.last('saved').filters, [{ name: 'mine', filter, sort: CLEAREST_FIRST }]);
  assert.deepEqual(kept.get('c3.episodeFilters'), page.last('saved').filters);
  await send({ type: 'deleteFilter', name: 'mine' });
  assert.deepEqual(page.last('saved').filters, []);
});

test('classes arrive after the rows, sort and filter them, and their failure is said', async (t) => {
  const classes: ProblemClasses = new Map([[problem(2).uidSha, { name: 'Misleading Plan', cases: 2, of: 3 }]]);
  let fails = true;
  const { send, page, writer } = desk(t, {
    classesOf: () => (fails ? Promise.reject(new Error('no engine here')) : Promise.resolve(classes)),
  });
  addRun(writer);
  for (const number of [1, 2]) {
    addTree(writer, { iteration: 1, problem: problem(number), returns: [[1]] });
  }
  await send(ready);
  assert.equal(page.last('classes').classes.state, 'none');
  await send({ type: 'classify' });
  assert.deepEqual(page.last('classes').classes, { state: 'failed', reason: 'no engine here', names: [] });
  fails = false;
  await send({ type: 'classify' });
  assert.deepEqual(page.last('classes').classes, { state: 'known', reason: null, names: ['Misleading Plan'] });
  await send({
    type: 'list',
    filter: { ...NO_PROBLEM_FILTER, className: 'Misleading Plan' },
    sort: CLEAREST_FIRST,
    place: NO_PLACE,
  });
  const { layout } = page.last('layout');
  await send(asking(layout.revision));
  assert.deepEqual(
    rows(page)?.map(({ uid, problemClass }) => [uid, problemClass]),
    [['q2', { name: 'Misleading Plan', cases: 2, of: 3 }]],
  );
});

const chance = (value: number): LostProblem['start'] => ({ value, low: 0, high: 1, n: 8 });
const FOUND: readonly LostProblemRow[] = [
  { problem: problem(1).uidSha, verdict: 'rare', start: chance(0.1), role: null, drop: null },
  { problem: problem(2).uidSha, verdict: 'undecided', start: chance(0.9), role: null, drop: null },
  { problem: problem(3).uidSha, verdict: 'message', start: chance(0.5), role: 'actor', drop: -0.5 },
];

/** A desk whose run was searched with as many replays as are set, and what the engine answers. */
function searched(
  t: TestContext,
  answers: readonly (readonly LostProblemRow[])[],
  changes: Partial<EpisodesSurroundings> = {},
) {
  const { writer, ...made } = temporaryStore();
  t.after(() => made.remove());
  addRun(writer);
  for (const number of [1, 2, 3]) {
    addTree(writer, { iteration: 1, problem: problem(number), returns: [[0]] });
  }
  const search = { replays: 0, asked: 0 };
  const { session, later, ...rest } = desk(t, {
    reader: () => ({ ...writer, countReplays: () => search.replays }),
    lostProblems: () => Promise.resolve(answers[search.asked++] ?? []),
    ...changes,
  });
  /** Further replays come, and the rests of the list and of the engine end. */
  const grow = async (by: number): Promise<void> => {
    search.replays += by;
    session.storeChanged();
    await settled();
    for (const rested of later.splice(0)) {
      rested();
    }
    await settled();
  };
  return { ...rest, session, search, grow, later };
}

test('what searches found stands beside problems and orders them once; the own order stays', async (t) => {
  const { send, page, search, grow } = searched(t, [FOUND, FOUND]);
  await send({ ...ready, sort: CLEAREST_FIRST });
  assert.deepEqual([search.asked, page.last('layout').layout.facets.filled.includes('lostBy')], [0, false]);
  await grow(4);
  const { layout } = page.last('layout');
  assert.deepEqual([search.asked, layout.sort, layout.facets.filled.includes('lostBy')], [1, LOST_FIRST, true]);
  await send(asking(layout.revision));
  assert.deepEqual(
    rows(page)?.map(({ uid, lost }) => [uid, lost?.verdict]),
    [
      ['q3', 'message'],
      ['q2', 'undecided'],
      ['q1', 'rare'],
    ],
  );
  await send({ type: 'list', filter: NO_PROBLEM_FILTER, sort: CLEAREST_FIRST, place: NO_PLACE });
  await grow(0);
  assert.deepEqual([search.asked, page.last('layout').layout.sort], [1, CLEAREST_FIRST]);
  await grow(4);
  assert.deepEqual([search.asked, page.last('layout').layout.sort], [2, CLEAREST_FIRST]);
});

test('what searches found is saved, too, and a hostile role is a text', async (t) => {
  const saved: string[] = [];
  const save = (_: string, __: string, text: string): Promise<boolean> => {
    saved.push(text);
    return Promise.resolve(true);
  };
  const [rare, , message] = FOUND;
  assert.ok(rare !== undefined && message !== undefined);
  const { send, grow } = searched(t, [[rare, { ...message, role: '=HYPERLINK("x","y")' }]], { save });
  await send({ ...ready, sort: CLEAREST_FIRST });
  await grow(4);
  await send({ type: 'saveCsv' });
  const [header = '', ...lines] = (saved[0] ?? '').trimEnd().split('\r\n');
  assert.match(header, /,chance,chanceLow,chanceHigh,lostVerdict,lostBy,drop,/u);
  assert.match(lines[0] ?? '', /^q3,.*,0\.5,0,1,message,"'=HYPERLINK\(""x"",""y""\)",-0\.5,/u);
  assert.match(lines[1] ?? '', /^q1,.*,0\.1,0,1,rare,,,/u);
  assert.match(lines[2] ?? '', /^q2,.*,,,,,,,/u);
});

test('the engine is not asked again while it answers and rests, but then for what came meanwhile', async (t) => {
  const { session, send, page, search, later } = searched(t, [[], FOUND]);
  await send({ ...ready, sort: CLEAREST_FIRST });
  search.replays = 1;
  session.storeChanged();
  await settled();
  later.shift()?.();
  // A search begins with a request that has no replay yet: its first answer is empty.
  search.replays = 8;
  session.storeChanged();
  await settled();
  assert.deepEqual([search.asked, page.last('layout').layout.sort], [1, CLEAREST_FIRST]);
  for (const rested of later.splice(0)) {
    rested();
  }
  await settled();
  assert.deepEqual([search.asked, page.last('layout').layout.sort], [2, LOST_FIRST]);
});

test('by a column of searches, a run without any is listed by the clearest credit', async (t) => {
  const orders: string[] = [];
  const { writer, ...made } = temporaryStore();
  t.after(() => made.remove());
  addRun(writer);
  const problemIds: typeof writer.problemIds = (query) => {
    orders.push(query.sort.column);
    return writer.problemIds(query);
  };
  const { send, page } = desk(t, { reader: () => ({ ...writer, problemIds }) });
  await send({ ...ready, sort: LOST_FIRST });
  assert.deepEqual([orders, page.last('layout').layout.sort], [['credit'], LOST_FIRST]);
});

test('a problem opens its transcript, in a round where one is named; one that is gone is said', async (t) => {
  const { send, page, writer, opened } = desk(t);
  addRun(writer);
  const [tree] = addTree(writer, { iteration: 1, problem: problem(1), returns: [[1, 0]] });
  await send(ready);
  const [id = 0] = writer.problemIds({ run: RUN, filter: NO_PROBLEM_FILTER, sort: CLEAREST_FIRST, classes: {} });
  await send({ type: 'open', problem: id, round: { phase: 'train', iteration: 1 }, beside: true });
  assert.deepEqual(opened, [{ message: tree?.actors[1] ?? 0, beside: true }]);
  await send({ type: 'open', problem: 999, round: null, beside: false });
  assert.match(page.failures.at(-1) ?? '', /no stored message yet/u);
});

test('the host takes nothing from the page that does not follow the protocol', () => {
  assert.ok(isEpisodesToHost(ready));
  for (const wrong of [
    { ...ready, sort: { column: 'rowid; DROP TABLE problem', descending: false } },
    { ...ready, filter: { ...NO_PROBLEM_FILTER, search: 'x'.repeat(501) } },
    { ...ready, extra: 1 },
    { type: 'rows', revision: 1, offset: 0 },
    { type: 'request', id: 1, kind: 'rows', asked: { revision: 1, offset: 0.5 } },
    { type: 'request', id: 1, kind: 'case', asked: { bucket: 1 } },
    { type: 'open', problem: 1.5, round: null, beside: false },
    { type: 'open', problem: 1, round: { phase: 'replay', iteration: 1 }, beside: false },
    { type: 'deleteFilter', name: 'x'.repeat(81) },
  ]) {
    assert.equal(isEpisodesToHost(wrong), false, JSON.stringify(wrong).slice(0, 80));
  }
});

test('which columns are shown is kept, and what is listed is saved in its order with what was not measured left empty', async (t) => {
  const saved: string[] = [];
  const { session, send, page, writer } = desk(t, {
    save: (name, kind, text) => {
      saved.push(`${name}.${kind}`, text);
      return Promise.resolve(true);
    },
  });
  addRun(writer);
  addTree(writer, { iteration: 1, problem: problem(1), returns: [[1]] });
  addTree(writer, { iteration: 1, problem: problem(2), returns: [[0]] });
  await send(ready);
  const columns = { shown: [], hidden: ['tokens'] };
  await send({ type: 'columns', columns });
  session.show({ run: null, note: null });
  assert.deepEqual(page.last('saved').columns, columns);
  await send({ ...ready, type: 'list', sort: { column: 'appearance', descending: true } });
  await send({ type: 'saveCsv' });
  await send({ type: 'saveData' });
  const [name, csv = '', , data = ''] = saved;
  const lines = csv.trimEnd().split('\r\n');
  assert.equal(name, `episodes-${RUN}.csv`);
  assert.deepEqual(
    lines.map((line) => line.split(',')[0]),
    ['uid', problem(2).uid, problem(1).uid],
  );
  assert.match(lines[1] ?? '', /,,,,,0,1,0,/u, 'no evaluation, a mean return of 0 of one episode');
  assert.deepEqual(
    data
      .trimEnd()
      .split('\n')
      .map((line): unknown => JSON.parse(line)),
    [2, 1].map((number) => {
      const { uid, question, answer, level } = problem(number);
      return { uid, question, answer, ...(level !== null && { level }) };
    }),
  );
});
