import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import {
  findCurrentLabel,
  labelFault,
  NO_FILTER,
  TAXONOMY_THRESHOLDS,
  VERDICTS,
  type CaseLabel,
  type LabelParams,
  type TaxonomyParams,
  type TaxonomyView,
} from '../../../../src/domain/taxonomy.ts';
import {
  readCaseDetail,
  TaxonomySession,
  type TaxonomyEngine,
} from '../../../../src/extension/taxonomy/taxonomySession.ts';
import { RememberedThresholds } from '../../../../src/extension/taxonomy/taxonomyThresholds.ts';
import { C3Error } from '../../../../src/shared/errors.ts';
import { isAnswer, type ReplyMessage } from '../../../../src/shared/protocols/requests.ts';
import {
  ALTERNATIVE_PREVIEW,
  TAXONOMY_REQUESTS,
  type TAXONOMY_PANEL,
  type TaxonomyFromHost,
  type TaxonomyToHost,
} from '../../../../src/shared/protocols/taxonomyProtocol.ts';
import { headline, setHeadline } from '../../../support/headlines.ts';
import { addRequest, addRun, addTree, problem, RUN, temporaryStore } from '../storeFixture.ts';
import { PageInHand } from '../webview/pageInHand.ts';

const READY: TaxonomyToHost = { type: 'ready', filter: NO_FILTER, limit: 50 };

function viewOf({ run, thresholds }: TaxonomyParams): TaxonomyView {
  return {
    run,
    thresholds,
    buckets: 3,
    counts: VERDICTS.map((name) => ({ name, count: 0, published: 0, chance: { value: 0, low: 0, high: 0, n: 39 } })),
    leftOut: { requested: 0, otherDistribution: 0 },
    unmeasured: { alone: 0, classes: [] },
    changed: 0,
    roles: [],
    detectors: [],
    episodes: 0,
    matching: 0,
    rows: [],
    agreement: { n: 0, agreed: 0, kappa: null, standardError: null, reason: 'fewer than two cases', ownWords: 0 },
  };
}

/** A session on a small store whose engine answers when it is let. */
function scene(t: TestContext, engine: Partial<TaxonomyEngine> = {}) {
  const { writer, ...store } = temporaryStore();
  t.after(() => store.remove());
  addRun(writer);
  const [tree] = addTree(writer, {
    iteration: 1,
    problem: problem(1),
    returns: [
      [1, 0],
      [1, null],
    ],
    words: (plan, actor) => (actor === null ? 'p'.repeat(ALTERNATIVE_PREVIEW + plan) : `a${actor}`),
  });
  assert.ok(tree);
  const kept = new Map<string, unknown>();
  const remembered = new RememberedThresholds({
    get: (key) => kept.get(key),
    update: (key, value) => {
      kept.set(key, value);
      return Promise.resolve();
    },
  });
  const asked: TaxonomyParams[] = [];
  const opened: number[] = [];
  const page = new PageInHand<typeof TAXONOMY_PANEL, TaxonomyFromHost>();
  const { posted } = page;
  const session = new TaxonomySession(RUN, page, {
    engine: () => ({
      taxonomy: (params) => {
        asked.push(params);
        return Promise.resolve(viewOf(params));
      },
      label: ({ bucket, name, note }: LabelParams): Promise<CaseLabel> => {
        const label = { message: null, bucket, name, note, author: 'you', createdAt: '2026-01-01' };
        writer.insertLabel(label);
        return Promise.resolve(label);
      },
      ...engine,
    }),
    reader: () => writer,
    thresholds: remembered,
    openMessage: (message) => opened.push(message),
    log: { error: () => undefined },
  });
  const send = (message: TaxonomyToHost): Promise<void> => page.send(session, message);
  return { session, send, page, asked, posted, opened, kept, remembered, writer, tree };
}
const LABEL: TaxonomyToHost = { type: 'request', id: 1, kind: 'label', asked: { bucket: 1, name: 'x', note: '' } };
const replies = (posted: readonly (TaxonomyFromHost | ReplyMessage)[]): ReplyMessage[] =>
  posted.flatMap((message) => (message.type === 'reply' ? [message] : []));
const types = (posted: readonly { readonly type: string }[]): string[] => posted.map(({ type }) => type);

describe('the session of a taxonomy panel', () => {
  it('reads a run once, sends it, and asks again without reading', async (t) => {
    const { send, asked, posted, opened } = scene(t);
    await send(READY);
    assert.deepEqual(types(posted), ['opened', 'working', 'view', 'grown']);
    assert.deepEqual(asked, [{ run: RUN, thresholds: TAXONOMY_THRESHOLDS, filter: NO_FILTER, limit: 50, fresh: true }]);
    await send(READY);
    await send({ type: 'readAgain' });
    assert.deepEqual(
      asked.map(({ fresh }) => fresh),
      [true, false, true],
    );
    await send({ type: 'open', message: 7 });
    assert.deepEqual(opened, [7]);
  });

  it('answers the newest choice only while the engine is busy, and remembers its thresholds for the workspace', async (t) => {
    const answers: (() => void)[] = [];
    const asked: number[] = [];
    const { send, posted, remembered, kept } = scene(t, {
      taxonomy: (params) => {
        asked.push(params.thresholds.shift);
        return new Promise((resolve) => {
          answers.push(() => resolve(viewOf(params)));
        });
      },
    });
    const begun = send({
      type: 'show',
      thresholds: { ...TAXONOMY_THRESHOLDS, shift: 0.1 },
      filter: NO_FILTER,
      limit: 50,
    });
    const others = [0.3, 0.4, 0.5].map((shift) =>
      send({ type: 'show', thresholds: { ...TAXONOMY_THRESHOLDS, shift }, filter: NO_FILTER, limit: 50 }),
    );
    answers[0]?.();
    while (answers.length < 2) {
      await setImmediate();
    }
    answers[1]?.();
    await Promise.all([begun, ...others]);
    assert.deepEqual(asked, [0.1, 0.5]);
    assert.deepEqual(
      posted.flatMap((message) => (message.type === 'view' ? [message.view.thresholds.shift] : [])),
      [0.1, 0.5],
    );
    assert.equal(remembered.get().shift, 0.5);
    for (const broken of [
      null,
      { shift: 0.5 },
      { ...TAXONOMY_THRESHOLDS, shift: -1 },
      { ...TAXONOMY_THRESHOLDS, shift: '1' },
    ]) {
      kept.set('c3.taxonomyThresholds', broken);
      assert.deepEqual(remembered.get(), TAXONOMY_THRESHOLDS);
    }
  });

  it('reports what an engine refuses and continues', async (t) => {
    let refuse = true;
    const { send, page, posted } = scene(t, {
      taxonomy: (params) =>
        refuse ? Promise.reject(new C3Error('engine', 'The engine ended.')) : Promise.resolve(viewOf(params)),
    });
    await send(READY);
    assert.deepEqual(page.failures, ['The engine ended.']);
    refuse = false;
    await send({ type: 'readAgain' });
    assert.ok(types(posted).includes('view'));
  });

  it('appends a label, then shows the case and the counts as they are now', async (t) => {
    const { send, posted, asked, writer } = scene(t);
    await send(READY);
    posted.length = 0;
    const details: unknown[] = [];
    for (const [name, note] of [
      ['Over-Coupling', 'why'],
      ['', ''],
    ] as const) {
      await send({ type: 'request', id: 1, kind: 'label', asked: { bucket: 1, name, note } });
      assert.deepEqual(replies(posted).at(-1), { type: 'reply', id: 1, kind: 'label', answer: null });
      await send({ type: 'show', thresholds: TAXONOMY_THRESHOLDS, filter: NO_FILTER, limit: 50 });
      await send({ type: 'request', id: 2, kind: 'case', asked: { bucket: 1 } });
      const answer = replies(posted).at(-1)?.answer;
      assert.ok(isAnswer(TAXONOMY_REQUESTS, 'case', answer));
      details.push(answer.labels.map((label) => label.name));
    }
    assert.deepEqual(types(posted), ['reply', 'view', 'reply', 'reply', 'view', 'reply']);
    assert.equal(asked.at(-1)?.fresh, false);
    assert.deepEqual(details, [['Over-Coupling'], ['Over-Coupling', '']]);
    assert.equal(writer.labelsOfBucket(1).length, 2);
  });

  it('says in one sentence that labels cannot be written while another process writes', async (t) => {
    const reason = 'Another window has it.';
    const { send, posted } = scene(t, {
      label: () => Promise.reject(new C3Error('store', reason, { code: 'storeHeld' })),
    });
    await send(LABEL);
    assert.deepEqual(posted, [
      { type: 'reply', id: 1, kind: 'label', answer: `Labels cannot be written now: ${reason}` },
    ]);
  });

  it('knows that by the code of the error, whatever its sentence says', async (t) => {
    const reason = 'The disk of this store, which is held by nobody and is being written by hand, is full.';
    const { send, posted } = scene(t, { label: () => Promise.reject(new C3Error('store', reason)) });
    await send(LABEL);
    assert.deepEqual(posted, [{ type: 'reply', id: 1, kind: 'label', answer: reason }]);
  });

  it('says how many buckets there are by now, and changes nothing that is shown', async (t) => {
    const { session, send, posted, asked, writer, tree } = scene(t);
    session.storeChanged();
    assert.equal(posted.length, 0);
    await send(READY);
    // A requested replay is no case of the run.
    addRequest(writer, tree.plan, ['x'], [1]);
    session.storeChanged();
    assert.deepEqual(posted.at(-1), { type: 'grown', buckets: 3 });
    addTree(writer, {
      iteration: 2,
      problem: problem(2),
      returns: [
        [1, 0],
        [1, 1],
      ],
    });
    session.storeChanged();
    assert.deepEqual(posted.at(-1), { type: 'grown', buckets: 6 });
    assert.equal(asked.length, 1);
  });
});

describe('a case', () => {
  it('shows bounded alternatives with their returns, the real one marked', (t) => {
    const { writer, tree } = scene(t);
    const credit = headline(0.5);
    setHeadline(writer.path, tree.plan, credit);
    const plans = readCaseDetail(writer, 1);
    assert.deepEqual(
      plans.alternatives.map((one) => one.credit),
      [credit, null],
      'the one credit of each message',
    );
    assert.deepEqual(
      plans.alternatives.map(({ text, cut, real, returns }) => [text.length, cut, real, returns]),
      [
        [ALTERNATIVE_PREVIEW, false, true, [1, 0]],
        [ALTERNATIVE_PREVIEW, true, false, [1, null]],
      ],
    );
    const { bucket } = addRequest(writer, tree.plan, ['typed'], [null]);
    const asked = readCaseDetail(writer, bucket);
    assert.deepEqual(
      asked.alternatives.map(({ message, real }) => [message === tree.plan, real]),
      [
        [true, true],
        [false, false],
      ],
    );
  });

  it('counts its newest label, unless that takes the one before back', () => {
    const label = (name: string): CaseLabel => ({ name, note: '', author: 'you', createdAt: '2026' });
    assert.deepEqual(
      [
        findCurrentLabel([]),
        findCurrentLabel([label('a'), label('b')])?.name,
        findCurrentLabel([label('a'), label('')]),
      ],
      [null, 'b', null],
    );
  });

  it('takes labels of one line and 80 characters, whatever their script', () => {
    for (const name of ['', 'x'.repeat(80), '\u{1f600}'.repeat(80), '<b>not markup</b>', 'ملصق']) {
      assert.equal(labelFault(name, 'a\nnote'), null, name);
    }
    assert.match(labelFault('x'.repeat(81), '') ?? '', /at most 80 characters; this one has 81/);
    for (const name of ['a\nb', 'a\u0007', ' a', 'a ']) {
      assert.notEqual(labelFault(name, ''), null, JSON.stringify(name));
    }
    assert.match(labelFault('a', 'x'.repeat(2001)) ?? '', /note has at most 2000/);
  });
});
