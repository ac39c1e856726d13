/**
 * One credit per message: the same headline through every reader and every document, however often the message is
 * replayed.
 */

import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { HEADLINE_RULE } from '../../../../../src/engine/recipe/headlines.ts';
import { describeCredit } from '../../../../../src/extension/sidebar/bucketWords.ts';
import { listBucketNodes } from '../../../../../src/extension/sidebar/bucketsModel.ts';
import { Limits } from '../../../../../src/extension/sidebar/runsModel.ts';
import { TranscriptReading } from '../../../../../src/extension/transcript/reading/transcriptReading.ts';
import { signed as signedInReports } from '../../../../../src/report/words.ts';
import { toHeadlineJson, describeHeadline, type Headline } from '../../../../../src/shared/credit/headline.ts';
import { loadSqlite } from '../../../../../src/store/files/sqlite.ts';
import type { StoreReader } from '../../../../../src/store/read/reader.ts';
import { HEADLINES } from '../../../../../src/store/tables/headlines.ts';
import { openStoreForWriting } from '../../../../../src/store/write/writer.ts';
import { newRecorded } from '../../../../support/recordedStores.ts';
import { c3, copyOf, parseLine, withStore } from '../../../../unit/engine/workspace.ts';

let workspace = '';
let run = '';
before(async () => {
  ({ folder: workspace, run: run } = await newRecorded('pair'));
});
after(() => rmSync(workspace, { recursive: true, force: true }));

const storePath = (folder: string): string => join(folder, '.c3', 'c3.sqlite');

/** A message of the first role of the last step that another was sampled beside. */
function askedMessage(store: StoreReader): number {
  const found = store
    .bucketsOfRun({ run, origin: 'training', offset: 0, limit: 100 })
    .findLast(
      ({ role, alternatives }) =>
        role === 'reasoner' && alternatives.some(({ credit }) => credit !== null && credit.verdict !== 'alone'),
    );
  return found?.alternatives[0]?.message ?? 0;
}

/** The message's credit by every reader of the store that shows one; the name says which. */
function readEverywhere(store: StoreReader, message: number): ReadonlyMap<string, Headline | null | undefined> {
  const own = store.message(message);
  const target = { run, phase: own.phase, iteration: own.iteration, problem: own.problem };
  const rows = new TranscriptReading(store, target).window(store, 0);
  const found = new Map<string, Headline | null | undefined>([
    ['message', own.credit],
    ['messages', store.messages([message])[0]?.credit],
    [
      'transcript',
      store.transcript({ ...target, offset: 0, limit: 1000 }).messages.find(({ id }) => id === message)?.credit,
    ],
    ['chain', store.chain(message).at(-1)?.credit],
    ['tree row', rows.find((row) => row.message === message)?.credit],
    ['clearest of the run', store.clearestMessages(run, 1000).find((one) => one.message === message)?.credit],
  ]);
  for (const { id, alternatives } of store.bucketsFor(message)) {
    found.set(`bucket ${id}`, alternatives.find(({ message: one }) => one === message)?.credit);
  }
  for (const node of listBucketNodes(store, run, 'clearest', null, new Limits())) {
    if (node.kind === 'bucket' && node.message === message) {
      found.set(`buckets view ${node.bucket}`, node.ranked.credit);
    }
  }
  return found;
}

interface Document {
  readonly value: number | null;
  readonly low: number | null;
  readonly high: number | null;
  readonly n: number;
}
const numbersOf = ({ value, low, high, n }: Document): Document => ({ value, low, high, n });
const at = (value: unknown, ...path: readonly (string | number)[]): unknown =>
  path.reduce<unknown>(
    (inner, key) => (typeof inner === 'object' && inner !== null ? Reflect.get(inner, key) : undefined),
    value,
  );

describe('one credit per message', () => {
  it('is read the same in every place after every replay, and pools what was replayed before', async (t) => {
    const folder = copyOf(t, workspace);
    const message = withStore(folder, askedMessage);
    let before: Headline | null = withStore(folder, (store) => store.message(message).credit);
    assert.ok(before);
    for (let press = 1; press <= 3; press++) {
      const replayed = parseLine(
        (
          await c3(folder, [
            'replay',
            String(message),
            '--alternatives',
            '2',
            '--replays',
            '2',
            ...(press === 2 ? ['--text', '9+9'] : []),
            '--json',
          ])
        ).stdout,
      );
      const credit = withStore(folder, (store) => store.message(message).credit);
      assert.ok(credit);
      withStore(folder, (store) => {
        const everywhere = readEverywhere(store, message);
        assert.ok(everywhere.size >= 7 + press, [...everywhere.keys()].join(', '));
        for (const [place, found] of everywhere) {
          assert.deepEqual(found, credit, place);
        }
        const facts = store.facts({
          run,
          phase: 'train',
          iteration: store.message(message).iteration,
          problem: store.message(message).problem,
        });
        assert.equal(facts.find(({ id }) => id === message)?.credit, credit.value);
      });
      const shown = toHeadlineJson(credit);
      assert.deepEqual(at(replayed, 'original', 'credit'), JSON.parse(JSON.stringify(shown)), 'c3 replay --json');
      assert.deepEqual(numbersOf(at(replayed, 'estimates', 'replace') as Document), numbersOf(shown), 'its estimates');
      const reported = parseLine((await c3(folder, ['report', '--message', String(message), '--json'])).stdout);
      assert.deepEqual(
        numbersOf(at(reported, 'message', 'credit') as Document),
        numbersOf(shown),
        'c3 report --message --json',
      );
      assert.equal(at(reported, 'message', 'credit', 'sentence'), describeHeadline(credit));
      const buckets = at(reported, 'buckets') as readonly {
        readonly alternatives: readonly { readonly message: number; readonly credit: Document | null }[];
      }[];
      for (const { alternatives } of buckets) {
        assert.deepEqual(
          numbersOf(
            alternatives.find((one) => one.message === message)?.credit ?? { value: NaN, low: null, high: null, n: 0 },
          ),
          numbersOf(shown),
        );
      }
      const diagnosed = parseLine((await c3(folder, ['diagnose', '--run', run, '--json'])).stdout);
      const clearest = (at(diagnosed, 'clearest') as readonly (Document & { readonly message: number })[]).find(
        (one) => one.message === message,
      );
      assert.deepEqual(clearest === undefined ? null : numbersOf(clearest), numbersOf(shown), 'c3 diagnose --json');
      const classified = parseLine((await c3(folder, ['taxonomy', '--run', run, '--json'])).stdout);
      const cases = [
        ...(at(classified, 'classes') as readonly unknown[]).map((one) => at(one, 'cases')),
        at(classified, 'allSucceeded', 'cases'),
      ].flat() as readonly { readonly message: number; readonly credit: unknown }[];
      assert.ok(cases.length > 0);
      const stored = withStore(folder, (store) => store.messages(cases.map((one) => one.message)));
      const expected = new Map(stored.map((one) => [one.id, one.credit]));
      for (const one of cases) {
        const known = expected.get(one.message) ?? null;
        assert.deepEqual(
          one.credit,
          known === null ? null : JSON.parse(JSON.stringify(toHeadlineJson(known))),
          'c3 taxonomy --json',
        );
      }
      // What was replayed before stays: nothing is dropped for what is newer.
      assert.ok(
        credit.n >= before.n && credit.effectiveN > before.effectiveN && credit.evaluatorCalls >= before.evaluatorCalls,
        JSON.stringify([before, credit]),
      );
      before = credit;
    }
    const page = (await c3(folder, ['report', '--message', String(message), '--out', 'finding.html'])).code;
    assert.equal(page, 0);
    const words = (await c3(folder, ['replay', String(message), '--alternatives', '1', '--replays', '1'])).stdout;
    const last = withStore(folder, (store) => store.message(message).credit);
    assert.ok(last);
    const figure = `${last.value >= 0 ? '+' : ''}${last.value.toFixed(3)}`;
    assert.ok(words.includes(`credit ${figure} `) && words.includes(`replace     ${figure} `), words);
    assert.ok(describeCredit(last).includes(describeHeadline(last)) && signedInReports(last.value).length > 0);
  });

  it('leaves typed texts out of every baseline, and training its own record', async (t) => {
    const folder = copyOf(t, workspace);
    const message = withStore(folder, askedMessage);
    const [before, trained] = withStore(folder, (store) => [
      store.message(message).credit,
      store.message(message).trainingCredit,
    ]);
    await c3(folder, ['replay', String(message), '--alternatives', '0', '--replays', '2', '--text', '1+1', '--json']);
    withStore(folder, (store) => {
      const { credit, trainingCredit } = store.message(message);
      assert.deepEqual(
        [credit?.value, credit?.low, credit?.high, credit?.effectiveN],
        [before?.value, before?.low, before?.high, before?.effectiveN],
        'a typed text beside it is no evidence',
      );
      assert.deepEqual(trainingCredit, trained);
      assert.notEqual(trained, null);
    });
  });

  it('can always be derived again: an older store comes out with the same headlines, and so does one whose writer was killed', async (t) => {
    const folder = copyOf(t, workspace);
    const message = withStore(folder, askedMessage);
    await c3(folder, ['replay', String(message), '--alternatives', '2', '--replays', '2', '--json']);
    const db = new (loadSqlite())(storePath(folder));
    t.after(() => db.close());
    const tables = (): unknown => [
      db.prepare('SELECT * FROM headline ORDER BY pool, token_key').all(),
      db.prepare('SELECT * FROM bucket_pool ORDER BY bucket').all(),
      db.prepare('SELECT bucket, credit, clearest FROM bucket_measure ORDER BY bucket').all(),
      db.prepare('SELECT id, clear_message, clear_role, clear_value, clearness FROM problem ORDER BY id').all(),
    ];
    const reopen = (): void => openStoreForWriting(storePath(folder), { headlines: HEADLINE_RULE }).close();
    const expected = tables();
    assert.ok(JSON.stringify(expected).includes('"undecided"'));
    // As a kill between a replay and its headlines leaves it.
    db.exec('UPDATE headline SET value = 9; INSERT INTO headline_stale SELECT id FROM bucket');
    reopen();
    assert.deepEqual(tables(), expected);
    // As the version before left it.
    db.exec(`DROP TABLE headline; DROP TABLE bucket_pool; DROP TABLE headline_stale; DROP INDEX bucket_measure_clearest; ALTER TABLE bucket_measure DROP COLUMN clearest;
      CREATE TRIGGER credit_measured AFTER INSERT ON credit BEGIN SELECT 1; END; CREATE TRIGGER credit_measured_again AFTER INSERT ON credit BEGIN SELECT 1; END;
      CREATE TRIGGER credit_listed AFTER INSERT ON credit BEGIN SELECT 1; END; ${HEADLINES}`);
    reopen();
    assert.deepEqual(tables(), expected);
  });
});
