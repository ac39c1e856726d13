/** The episodes panel's side of the extension host, on a real store. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import {
  EpisodesSession,
  type EpisodesSurroundings,
  type ProblemClasses,
} from '../../../../src/extension/episodes/episodesSession.ts';
import {
  EPISODES_REQUESTS,
  isEpisodesToHost,
  NO_PLACE,
  type EpisodesFromHost,
  type EpisodesToHost,
  type ShownProblem,
} from '../../../../src/shared/protocols/episodesProtocol.ts';
import { judgeWords, type JudgeAgreement } from '../../../../src/domain/run.ts';
import { isAnswer } from '../../../../src/shared/protocols/requests.ts';
import { CLEAREST_FIRST, NO_PROBLEM_FILTER, type ProblemFilter } from '../../../../src/domain/problem.ts';
import type { StoreWriter } from '../../../../src/store/write/writer.ts';
import { addRun, addTree, problem, RUN, temporaryStore } from '../storeFixture.ts';

interface Desk {
  readonly session: EpisodesSession;
  readonly writer: StoreWriter;
  readonly posted: EpisodesFromHost[];
  readonly opened: { readonly message: number; readonly beside: boolean }[];
  readonly later: (() => void)[];
}

function desk(t: TestContext, changes: Partial<EpisodesSurroundings> = {}): Desk {
  const { writer, ...made } = temporaryStore();
  t.after(() => {
    made.remove();
  });
  const posted: EpisodesFromHost[] = [];
  const opened: Desk['opened'] = [];
  const later: Desk['later'] = [];
  const kept = new Map<string, unknown>();
  const session = new EpisodesSession(null, null, {
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
    askForName: () => Promise.resolve(' mine '),
    save: () => Promise.resolve(true),
    say: () => undefined,
    post: (message) => {
      posted.push(message);
    },
    openTranscript: (_, message, beside) => {
      opened.push({ message, beside });
    },
    command: () => undefined,
    failed: () => undefined,
    later: (work) => {
      later.push(work);
    },
    ...changes,
  });
  return { session, writer, posted, opened, later };
}

function last<Type extends EpisodesFromHost['type']>(
  posted: readonly EpisodesFromHost[],
  type: Type,
): Extract<EpisodesFromHost, { type: Type }> {
  const found = posted.findLast((message) => message.type === type);
  assert.ok(found !== undefined, type);
  return found as Extract<EpisodesFromHost, { type: Type }>;
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
function rows(posted: readonly EpisodesFromHost[]): readonly ShownProblem[] | null {
  const { answer } = last(posted, 'reply');
  assert.ok(isAnswer(EPISODES_REQUESTS, 'rows', answer));
  return answer;
}
const uids = (posted: readonly EpisodesFromHost[]): readonly string[] | undefined =>
  rows(posted)?.map(({ uid }) => uid);

test('without a run the page says so, and shows the newest as soon as there is one', async (t) => {
  const { session, writer, posted } = desk(t);
  await session.receive(ready);
  assert.equal(last(posted, 'empty').type, 'empty');
  addRun(writer);
  addTree(writer, { iteration: 1, problem: problem(1), returns: [[1]] });
  session.storeChanged();
  assert.equal(last(posted, 'opened').run.id, RUN);
  assert.equal(last(posted, 'layout').layout.rows, 1);
});

test('the run of a model judge says how far that is to be believed, and another run nothing', async (t) => {
  const { session, writer, posted } = desk(t);
  addRun(writer);
  await session.receive(ready);
  assert.equal(last(posted, 'opened').run.judge, null);
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
  session.show('scored-by-model', null);
  assert.equal(last(posted, 'opened').run.judge, judgeWords(judge));
});

test('rows of an older order are not given, and a growing run keeps the places of what is looked at', async (t) => {
  const { session, writer, posted, later } = desk(t);
  addRun(writer);
  for (const number of [1, 2, 3]) {
    addTree(writer, { iteration: 1, problem: problem(number), returns: [[number % 2]] });
  }
  await session.receive({ ...ready, sort: { column: 'question', descending: true } });
  const first = last(posted, 'layout').layout;
  await session.receive(asking(first.revision));
  assert.deepEqual(uids(posted), ['q3', 'q2', 'q1']);
  const [three, two] = rows(posted) ?? [];
  await session.receive({ type: 'place', place: { active: two?.id ?? null, top: three?.id ?? null, offset: 5 } });
  addTree(writer, { iteration: 1, problem: problem(9), returns: [[1]] });
  session.storeChanged();
  const { layout } = last(posted, 'layout');
  assert.deepEqual([layout.rows, layout.top, layout.active], [4, 1, 2]);
  await session.receive(asking(first.revision));
  assert.equal(rows(posted), null);
  // Changes while it rests are one more order, afterwards.
  addTree(writer, { iteration: 1, problem: problem(10), returns: [[1]] });
  session.storeChanged();
  session.storeChanged();
  assert.equal(last(posted, 'layout').layout.rows, 4);
  later.shift()?.();
  assert.equal(last(posted, 'layout').layout.rows, 5);
});

test('a filter is saved under a name, comes back sorted by name, and a spoilt one is left', async (t) => {
  const kept = new Map<string, unknown>([['c3.episodeFilters', [{ name: 'broken' }]]]);
  const { session, writer, posted } = desk(t, {
    keeper: {
      get: (key) => kept.get(key),
      update: (key, value) => {
        kept.set(key, value);
        return Promise.resolve();
      },
    },
  });
  addRun(writer);
  await session.receive(ready);
  assert.deepEqual(last(posted, 'saved').filters, []);
  const filter: ProblemFilter = { ...NO_PROBLEM_FILTER, outcome: 'lost' };
  await session.receive({ type: 'saveFilter', filter, sort: CLEAREST_FIRST });
  assert.deepEqual(last(posted, 'saved').filters, [{ name: 'mine', filter, sort: CLEAREST_FIRST }]);
  assert.deepEqual(kept.get('c3.episodeFilters'), last(posted, 'saved').filters);
  await session.receive({ type: 'deleteFilter', name: 'mine' });
  assert.deepEqual(last(posted, 'saved').filters, []);
});

test('classes arrive after the rows, sort and filter them, and their failure is said', async (t) => {
  const classes: ProblemClasses = new Map([[problem(2).uidSha, { name: 'Misleading Plan', cases: 2, of: 3 }]]);
  let fails = true;
  const { session, writer, posted } = desk(t, {
    classesOf: () => (fails ? Promise.reject(new Error('no engine here')) : Promise.resolve(classes)),
  });
  addRun(writer);
  for (const number of [1, 2]) {
    addTree(writer, { iteration: 1, problem: problem(number), returns: [[1]] });
  }
  await session.receive(ready);
  assert.equal(last(posted, 'classes').classes.state, 'none');
  await session.receive({ type: 'classify' });
  assert.deepEqual(last(posted, 'classes').classes, { state: 'failed', reason: 'no engine here', names: [] });
  fails = false;
  await session.receive({ type: 'classify' });
  assert.deepEqual(last(posted, 'classes').classes, { state: 'known', reason: null, names: ['Misleading Plan'] });
  await session.receive({
    type: 'list',
    filter: { ...NO_PROBLEM_FILTER, className: 'Misleading Plan' },
    sort: CLEAREST_FIRST,
    place: NO_PLACE,
  });
  const { layout } = last(posted, 'layout');
  await session.receive(asking(layout.revision));
  assert.deepEqual(
    rows(posted)?.map(({ uid, problemClass }) => [uid, problemClass]),
    [['q2', { name: 'Misleading Plan', cases: 2, of: 3 }]],
  );
});

test('a problem opens its transcript, in a round where one is named; one that is gone is said', async (t) => {
  const { session, writer, posted, opened } = desk(t);
  addRun(writer);
  const [tree] = addTree(writer, { iteration: 1, problem: problem(1), returns: [[1, 0]] });
  await session.receive(ready);
  const [id = 0] = writer.problemIds({ run: RUN, filter: NO_PROBLEM_FILTER, sort: CLEAREST_FIRST, classes: {} });
  await session.receive({ type: 'open', problem: id, round: { phase: 'train', iteration: 1 }, beside: true });
  assert.deepEqual(opened, [{ message: tree?.actors[1] ?? 0, beside: true }]);
  await session.receive({ type: 'open', problem: 999, round: null, beside: false });
  assert.match(last(posted, 'failed').message, /no stored message yet/u);
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
  const { session, writer, posted } = desk(t, {
    save: (name, kind, text) => {
      saved.push(`${name}.${kind}`, text);
      return Promise.resolve(true);
    },
  });
  addRun(writer);
  addTree(writer, { iteration: 1, problem: problem(1), returns: [[1]] });
  addTree(writer, { iteration: 1, problem: problem(2), returns: [[0]] });
  await session.receive(ready);
  const columns = { shown: [], hidden: ['tokens'] };
  await session.receive({ type: 'columns', columns });
  session.show(null, null);
  assert.deepEqual(last(posted, 'saved').columns, columns);
  await session.receive({ ...ready, type: 'list', sort: { column: 'appearance', descending: true } });
  await session.receive({ type: 'saveCsv' });
  await session.receive({ type: 'saveData' });
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
