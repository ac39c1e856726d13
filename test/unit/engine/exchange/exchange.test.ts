import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { measureFidelity, measurePublishedFidelity } from '../../../../src/diagnostics/fidelity.ts';
import { measurePublishedInfluence } from '../../../../src/diagnostics/influence.ts';
import { measurePublishedVariance } from '../../../../src/diagnostics/variance.ts';
import {
  readOriginBuckets,
  readSampleBuckets,
  type StoredBucket,
} from '../../../../src/engine/diagnose/diagnoseBuckets.ts';
import { readBucketLine } from '../../../../src/engine/exchange/exchangeBucket.ts';
import { exportBuckets } from '../../../../src/engine/exchange/exchangeExport.ts';
import { importBuckets } from '../../../../src/engine/exchange/exchangeImport.ts';
import {
  formatCanonicalJson,
  JsonNumber,
  toJsonValue,
  parseJson,
} from '../../../../src/engine/exchange/exchangeJson.ts';
import { parseRecipe, parseRecipeProtocol } from '../../../../src/engine/recipe/recipe.ts';
import { growEpisodes } from '../../../../src/replay/episodes.ts';
import { recordTrainingTree } from '../../../../src/replay/recordTree.ts';
import { C3Error } from '../../../../src/shared/errors.ts';
import { openStoreForWriting, type StoreWriter } from '../../../../src/store/write/writer.ts';
import {
  CountingEvaluator,
  problems,
  LOO,
  NEVER,
  PAIR,
  ROUND,
  RUN,
  starts,
  storeFor,
  world,
} from '../../replay/helpers.ts';

interface Scene {
  readonly folder: string;
  readonly store: StoreWriter;
}

function scene(t: TestContext): Scene {
  const folder = mkdtempSync(join(tmpdir(), 'c3-exchange-'));
  const store = openStoreForWriting(join(folder, 'c3.sqlite'));
  t.after(() => {
    store.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return { folder, store };
}

const NOW = '2026-01-01T00:00:00.000Z';

/** A bucket as the authors' writer writes it: sorted keys, no blanks, Python's floats. */
const line = (changes: Readonly<Record<string, unknown>> = {}): string =>
  formatCanonicalJson(
    toJsonValue({
      bucket_id: 'bkt_6ba1e57bcc9982b6',
      ctx_hash: 123,
      target_role: 'reasoner',
      question_id: 'q1',
      restart: { roles_topo: ['reasoner', 'actor'], role_outputs_prefix: {}, question: 'How many?' },
      candidates: ['x', 'y'].map((text, j) => ({
        j,
        action_text: text,
        returns: [new JsonNumber(`${j}.0`)],
        next_actions: [`after ${text}`],
      })),
      meta: { seed: 0, method: 'c3' },
      ...changes,
    }),
  );

async function imported(
  { folder, store }: Scene,
  lines: readonly string[],
): Promise<{ run: string; back: string; buckets: StoredBucket[] }> {
  const path = join(folder, `in-${lines.length}-${Math.floor(performance.now() * 1000)}.jsonl`);
  writeFileSync(path, lines.map((one) => `${one}\n`).join(''));
  const { run } = await importBuckets(store, path, NOW);
  const protocol = parseRecipeProtocol(parseRecipe(store.runConfig(run), run));
  const out = `${path}.out`;
  exportBuckets(store, run, protocol, out);
  const [sample] = store.diagnosticSamples(run);
  return { run, back: readFileSync(out, 'utf8'), buckets: [...readSampleBuckets(store, sample?.id ?? 0, protocol)] };
}

describe('JSON as Python has it', () => {
  it('keeps numbers as they are and sorts keys by code points', () => {
    const text = '{"z":1.0,"a":9223372036854775806,"\u{1F600}":[1e-07,-0.0,NaN],"\uFFFD":{"é":"\\u0000\\n\u2028\\""}}';
    const parsed = parseJson(text);
    assert.equal(
      formatCanonicalJson(parsed),
      '{"a":9223372036854775806,"z":1.0,"\uFFFD":{"é":"\\u0000\\n\u2028\\""},"\u{1F600}":[1e-07,-0.0,NaN]}',
    );
    assert.deepEqual(formatCanonicalJson(parseJson(' [ 1 , {"a" : true , "a":null} , "" ] ')), '[1,{"a":null},""]');
  });

  it('refuses what is no JSON', () => {
    for (const text of [
      '',
      '{',
      '[1,]',
      '{"a":1,}',
      '01',
      '1.',
      '"a',
      '"\n"',
      '{a:1}',
      '[1 2]',
      'nul',
      '{"a"}',
      '1 2',
      '"\\x"',
      `${'['.repeat(70)}${']'.repeat(70)}`,
      '['.repeat(1e6),
    ]) {
      assert.throws(() => parseJson(text), /not valid JSON: .* at character \d+$/u, text.slice(0, 20));
    }
    assert.equal(parseJson(`"${'a\\n'.repeat(300_000)}"`), 'a\n'.repeat(300_000));
  });
});

describe('a bucket', () => {
  it('has the published name', () => {
    const bucket = readBucketLine(
      '{"ctx_hash":123,"question_id":"q1","target_role":"actor","meta":{"seed":0},"restart":{"roles_topo":["actor"],"role_outputs_prefix":{}},"candidates":[{"action_text":"x","returns":[1]},{"action_text":"y","returns":[0.5,true]}]}',
      'f:1',
    );
    assert.equal(bucket.id, 'bkt_6ba1e57bcc9982b6');
    assert.deepEqual(bucket.candidates, [
      { text: 'x', returns: [1], next: [] },
      { text: 'y', returns: [0.5, 1], next: [] },
    ]);
    // The line is filled in as the authors' writer does.
    assert.match(
      bucket.line,
      /^\{"bucket_id":"bkt_6ba1e57bcc9982b6","candidates":\[\{"action_text":"x","j":0,"next_actions":\[\],"returns":\[1\]\},/u,
    );
  });

  it('has its candidates in the order of j, and its segments clipped into range', () => {
    const candidate = (j: number): object => ({ j, action_text: `t${j}`, returns: [j], next_actions: [] });
    const of = (meta: object): ReturnType<typeof readBucketLine> =>
      readBucketLine(line({ candidates: [2, 0, 3, 1].map(candidate), meta }), 'f:1');
    assert.deepEqual(
      of({}).candidates.map(({ text }) => text),
      ['t0', 't1', 't2', 't3'],
    );
    const segments = (meta: object): unknown[] => {
      const { credited, valueFrom, valueCount, real } = of(meta);
      return [credited, valueFrom, valueCount, real];
    };
    assert.deepEqual(segments({}), [4, 4, 0, 0]);
    assert.deepEqual(segments({ credit_n: 2, v_extra_start: 2, v_extra_n: 9, real_j: 1 }), [2, 2, 2, 1]);
    assert.deepEqual(segments({ credit_n: 9, v_extra_start: -3, v_extra_n: 'x', real_j: 7 }), [4, 0, 0, null]);
  });

  it('names line and key of what is wrong', () => {
    const wrong: [string, RegExp][] = [
      ['[]', /f:7: the line must be a JSON object/],
      ['{"a":', /f:7: not valid JSON/],
      [line({ ctx_hash: -1 }), /f:7: ctx_hash must/],
      [line({ ctx_hash: new JsonNumber('9223372036854775808') }), /f:7: ctx_hash must/],
      [line({ ctx_hash: new JsonNumber('1.0') }), /f:7: ctx_hash must/],
      [line({ target_role: ' ' }), /f:7: target_role must/],
      [line({ question_id: '' }), /f:7: question_id must/],
      [line({ restart: [] }), /f:7: restart must/],
      [line({ restart: { roles_topo: ['a', 'a'], role_outputs_prefix: {} } }), /f:7: restart\.roles_topo must/],
      [
        line({ restart: { roles_topo: [], role_outputs_prefix: { a: 1 } } }),
        /f:7: restart\.role_outputs_prefix\.a must/,
      ],
      [line({ candidates: [] }), /f:7: candidates must/],
      [
        line({ candidates: [{ j: 1, action_text: 'x', returns: [1], next_actions: [] }] }),
        /f:7: candidates\[0\]\.j must/,
      ],
      [
        line({ candidates: [{ j: 0, action_text: 1, returns: [1], next_actions: [] }] }),
        /f:7: candidates\[0\]\.action_text must/,
      ],
      [
        line({ candidates: [{ j: 0, action_text: 'x', returns: [], next_actions: [] }] }),
        /f:7: candidates\[0\]\.returns must/,
      ],
      [
        line({ candidates: [{ j: 0, action_text: 'x', returns: [1, new JsonNumber('NaN')], next_actions: [] }] }),
        /f:7: candidates\[0\]\.returns\[1\] must be a number from -1e6 to 1e6/,
      ],
      [
        line({ candidates: [{ j: 0, action_text: 'x', returns: [new JsonNumber('1e999')], next_actions: [] }] }),
        /returns\[0\] must be a number from -1e6 to 1e6/,
      ],
      [
        line({ candidates: [{ j: 0, action_text: 'x', returns: [1], next_actions: [2] }] }),
        /f:7: candidates\[0\]\.next_actions\[0\] must/,
      ],
    ];
    for (const [text, pattern] of wrong) {
      assert.throws(
        () => readBucketLine(text, 'f:7'),
        (error) =>
          error instanceof C3Error &&
          error.kind === 'input' &&
          pattern.test(error.message) &&
          !error.message.includes('\n'),
        text,
      );
    }
  });
});

describe('an imported file', () => {
  it('is written again byte for byte, whatever keys and numbers it holds', async (t) => {
    const lines = [
      line({ meta: { seed: 0, z: [1, { deep: null }], temperature: new JsonNumber('7e-1') }, extra: 'ключ 😀' }),
      line({
        ctx_hash: new JsonNumber('9223372036854775807'),
        question_id: 5,
        bucket_id: 'theirs',
        target_role: 'actor',
        restart: { roles_topo: ['reasoner', 'actor'], role_outputs_prefix: { reasoner: 'do it' } },
      }),
    ];
    const { back, buckets, run } = await imported(scene(t), lines);
    assert.equal(back, `${lines.join('\n')}\n`);
    assert.deepEqual(
      buckets.map(({ role, view }) => [
        role,
        view.origin,
        view.alternatives.map(({ text, returns, original }) => [text, returns, original]),
      ]),
      [
        [
          'reasoner',
          'diagnostic',
          [
            ['x', [0], true],
            ['y', [1], false],
          ],
        ],
        [
          'actor',
          'diagnostic',
          [
            ['x', [0], true],
            ['y', [1], false],
          ],
        ],
      ],
    );
    assert.deepEqual(
      buckets[0]?.alternatives.map(({ next }) => next),
      [['after x'], ['after y']],
    );
    assert.match(run, /^imported-/u);
  });

  it('skips blank lines and comments, and stores nothing where a line is wrong', async (t) => {
    const here = scene(t);
    const { buckets } = await imported(here, ['# written by hand', '', line(), '   ']);
    assert.equal(buckets.length, 1);
    assert.equal((await imported(here, [`\ufeff${line()}`])).buckets.length, 1, 'a byte order mark comes first');
    const before = here.store.counts();
    await assert.rejects(imported(here, [line(), '# note', line({ ctx_hash: 'x' })]), /\.jsonl:3: ctx_hash must/);
    await assert.rejects(
      imported(here, [line(), line({ restart: { roles_topo: ['actor', 'reasoner'], role_outputs_prefix: {} } })]),
      /roles_topo of bucket 2 differs/,
    );
    await assert.rejects(imported(here, ['# nothing']), /holds no buckets/);
    await assert.rejects(importBuckets(here.store, join(here.folder, 'absent'), NOW), /Cannot read .*absent/);
    writeFileSync(join(here.folder, 'latin'), Buffer.from([0x7b, 0xff, 0x7d]));
    await assert.rejects(importBuckets(here.store, join(here.folder, 'latin'), NOW), /latin:1: the line is not UTF-8/);
    assert.deepEqual(here.store.counts(), before);
  });

  it('keeps other numbers of next messages than of returns', async (t) => {
    const candidates = [
      { j: 0, action_text: 'x', returns: [1], next_actions: ['a', 'a', 'b'] },
      { j: 1, action_text: 'y', returns: [0, 1, 1], next_actions: ['b'] },
      { j: 2, action_text: 'z', returns: [0, 1], next_actions: [] },
    ];
    const { buckets } = await imported(scene(t), [line({ candidates }), line({ candidates, target_role: 'actor' })]);
    for (const bucket of buckets) {
      assert.deepEqual(
        bucket.alternatives.map(({ returns, next }) => [returns, next]),
        candidates.map(({ returns, next_actions }) => [returns, next_actions]),
      );
    }
  });

  it('measures as the published definitions do', async (t) => {
    const rows = Array.from({ length: 12 }, (_, b) =>
      Array.from({ length: 6 }, (__, j) =>
        Array.from({ length: 1 + ((b * 3 + j * 5) % 4) }, (___, m) => ((b * 17 + j * 31 + m * 7) % 23) / 11 - 0.5),
      ),
    );
    const { buckets } = await imported(
      scene(t),
      rows.map((returns, b) =>
        line({
          question_id: `q${b}`,
          meta: { seed: 0, credit_n: 4, v_extra_start: 4, v_extra_n: 2, real_j: 1 },
          candidates: returns.map((own, j) => ({
            j,
            action_text: `t${j}`,
            returns: own,
            next_actions: own.map((__, m) => `s${(b + j + m) % 3}`),
          })),
        }),
      ),
    );
    const close = (actual: number | null | undefined, expected: number): void =>
      assert.ok(Math.abs((actual ?? NaN) - expected) <= 1e-9, `${String(actual)} is not ${expected}`);
    // NumPy and SciPy on the authors' definitions.
    close(measureFidelity(buckets, 'loo').real?.value, 0.8204276211947296);
    close(measureFidelity(buckets, 'loo').all?.value, 0.8242675099330777);
    close(measurePublishedFidelity(buckets, 'full_mean', true).all, 0.8278466079844028);
    close(measurePublishedVariance(buckets, 'loo')?.mean, 0.20544054431513);
    close(measurePublishedInfluence(buckets), 0.18738300245436);
  });
});

describe('an exported run', () => {
  it('comes back with the same alternatives, returns, masks, next messages, contexts and credit', async (t) => {
    const of = problems(3);
    const store = storeFor(t, of);
    const { settings } = world(PAIR, {
      evaluator: new CountingEvaluator((text) => (text.endsWith('7') ? null : text.length % 2 === 0 ? 1 : 0)),
    });
    for (const root of of) {
      recordTrainingTree(store, await growEpisodes(settings, starts([root]), [3, 4], NEVER), PAIR, ROUND, LOO);
    }
    const before = [...readOriginBuckets(store, RUN, 'training', PAIR)];
    const folder = mkdtempSync(join(tmpdir(), 'c3-export-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    const out = join(folder, 'out.jsonl');
    const report = exportBuckets(store, RUN, PAIR, out);
    assert.deepEqual([report.buckets + report.leftOut, before.length], [12, 12]);
    const text = readFileSync(out, 'utf8');
    const first = readBucketLine(text.split('\n')[0] ?? '', 'f:1');
    assert.deepEqual(
      [first.contextHash, first.targetRole, first.roles, first.question],
      [before[0]?.view.contextKey, 'reasoner', ['reasoner', 'actor'], 'Question 0?'],
    );
    assert.deepEqual(
      first.candidates.map(({ next }) => next.length),
      first.candidates.map(() => 4),
    );
    const there = scene(t);
    const { run } = await importBuckets(there.store, out, NOW);
    const protocol = parseRecipeProtocol(parseRecipe(there.store.runConfig(run), run));
    const after = [...readOriginBuckets(there.store, run, 'diagnostic', protocol)];
    const kept = before.filter(({ alternatives }) =>
      alternatives.some(({ returns }) => returns.some((value) => value !== null)),
    );
    assert.ok(
      kept.some(({ alternatives }) => alternatives.some(({ returns }) => returns.includes(null))),
      'something is masked',
    );
    assert.deepEqual(
      after.map(({ role, alternatives, view }) => [role, view.contextKey, alternatives]),
      kept.map(({ role, alternatives, view }) => [role, view.contextKey, alternatives]),
    );
    const again = join(folder, 'again.jsonl');
    exportBuckets(there.store, run, protocol, again);
    assert.equal(readFileSync(again, 'utf8'), text);
    // What is there already is not touched.
    assert.throws(() => exportBuckets(store, RUN, PAIR, out), /already exists/);
    assert.equal(readFileSync(out, 'utf8'), text);
    assert.throws(() => exportBuckets(store, RUN, PAIR, join(folder, 'no', 'where')), /cannot be written/);
    assert.ok(!existsSync(join(folder, 'no')));
  });

  it('refuses a part of its own that is not what the bucket says', async (t) => {
    const here = scene(t);
    const own = (changes: object): string =>
      line({
        meta: {
          seed: 0,
          c3_replay: {
            context: 'c',
            answer: '',
            credited: 2,
            value_from: 2,
            value_count: 0,
            real: null,
            alternatives: ['x', 'y'].map((text, j) => ({
              text,
              finish: 'end',
              original: false,
              returns: [j],
              next: [],
              evaluator_calls: 1,
            })),
            ...changes,
          },
        },
      });
    assert.equal((await imported(here, [own({})])).buckets.length, 1);
    await assert.rejects(
      imported(here, [own({ alternatives: [] })]),
      /c3_replay\.alternatives are not those of candidates/,
    );
    await assert.rejects(imported(here, [own({ credited: -1 })]), /:1: meta\.c3_replay\.credited/);
    await assert.rejects(imported(here, [own({ answer: 5 })]), /meta\.c3_replay\.answer/);
  });
});
