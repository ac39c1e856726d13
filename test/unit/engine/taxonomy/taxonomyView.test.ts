import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { listCases, classifyStudy, studyBucket } from '../../../../src/diagnostics/taxonomy.ts';
import {
  NO_FILTER,
  PRECEDENCE,
  TAXONOMY_THRESHOLDS,
  VERDICTS,
  type TaxonomyFilter,
  type TaxonomyThresholds,
  type TaxonomyView,
} from '../../../../src/domain/taxonomy.ts';
import { TaxonomyDesk } from '../../../../src/engine/taxonomy/taxonomyDesk.ts';
import { parseThresholds } from '../../../../src/engine/taxonomy/taxonomyReport.ts';
import {
  readBuckets,
  studyRun,
  createTaxonomyView,
  type RunBucket,
} from '../../../../src/engine/taxonomy/taxonomyView.ts';
import { C3Error } from '../../../../src/shared/errors.ts';
import type { Label } from '../../../../src/store/types.ts';
import { parseProtocol } from '../../../../src/team/parseProtocol.ts';
import { addRequest, addRun, addTree, problem, RUN, temporaryStore } from '../../extension/storeFixture.ts';

function bucket(id: number, role: string, returns: readonly (readonly number[])[]): RunBucket {
  const alternatives = returns.map((one, index) => ({
    message: 100 * id + index,
    original: false,
    returns: one,
    evaluatorCalls: one.length,
  }));
  return {
    id,
    message: null,
    role,
    origin: 'training',
    iteration: 1,
    problem: 'i',
    question: `question ${id}`,
    terminal: role === 'actor',
    fullReturn: 1,
    alternatives,
  };
}

// Misleading, ambiguous, shifted by 0.5, over-coupled, unclassified (too few), unclassified (no rule), no failure.
const BUCKETS = [
  bucket(1, 'reasoner', [
    [0, 0],
    [0, 0],
  ]),
  bucket(2, 'reasoner', [
    [0.6, 0.6],
    [0.6, 0.6],
  ]),
  bucket(3, 'reasoner', [
    [0.5, 0.5],
    [1, 1],
  ]),
  bucket(4, 'reasoner', [
    [1, 0, 1, 1],
    [0, 1, 0, 1],
    [1, 0, 0, 0],
  ]),
  bucket(5, 'actor', [[0]]),
  bucket(6, 'actor', [[1], [0]]),
  bucket(7, 'actor', [[1], [1]]),
];
const READ = await studyRun(
  { buckets: BUCKETS, leftOut: { requested: 2, otherDistribution: 0 } },
  { detectors: [], episodes: 0 },
);

function label(id: number, of: number, name: string): Label {
  return { id, message: null, bucket: of, name, note: '', author: 'you', createdAt: '2026-01-01' };
}

function view(
  labels: readonly Label[],
  filter: Partial<TaxonomyFilter> = {},
  thresholds: TaxonomyThresholds = TAXONOMY_THRESHOLDS,
  limit = 50,
): TaxonomyView {
  return createTaxonomyView({ labelsOfRun: () => [...labels] }, READ, {
    run: RUN,
    thresholds,
    filter: { ...NO_FILTER, ...filter },
    limit,
    fresh: false,
  });
}
const ids = ({ rows }: TaxonomyView): number[] => rows.map((row) => row.bucket);

describe('a view of the taxonomy', () => {
  it('counts every bucket once, in the order of precedence, with what the paper would count', () => {
    assert.deepEqual(
      view([]).counts.map(({ name, count, published }) => [name, count, published]),
      VERDICTS.map((name) => (name === 'unclassified' ? [name, 2, 2] : [name, 1, 1])),
    );
    assert.deepEqual(view([]).unmeasured, { alone: 1, classes: [] });
    // What is alike everywhere is the same however it is dealt; in bucket 6 either of two returns is the real one.
    const chance = view([]).counts.map((one) => one.chance);
    assert.deepEqual(chance[1], { value: 1, low: 1, high: 1, n: 39 });
    assert.deepEqual([chance[2]?.low, chance[2]?.high], [0, 2]);
    const tried = view([], {}, { ...TAXONOMY_THRESHOLDS, shift: 0.6, misleading: 0 });
    // The misleading bucket becomes ambiguous: all its returns are alike. The shifted one varies within no message, so
    // it is left.
    assert.deepEqual(
      tried.counts.map(({ count, published }) => [count, published]),
      [
        [0, 1],
        [2, 1],
        [0, 1],
        [1, 1],
        [3, 2],
        [1, 1],
      ],
    );
    assert.deepEqual(
      [tried.changed, tried.buckets, tried.rows[0]?.published, tried.rows[0]?.verdict],
      [2, 7, 'Misleading Plan', 'Evaluator Ambiguity'],
    );
  });

  it('agrees with the classes of the command line whatever the thresholds', () => {
    for (const thresholds of [
      TAXONOMY_THRESHOLDS,
      { shift: 0.5, ambiguity: 2, misleading: 0.1, significance: 1 },
      { shift: 0, ambiguity: 0, misleading: 5, significance: 0.5 },
    ]) {
      const shown = view([], {}, thresholds);
      const classified = BUCKETS.map((bucket) => ({ bucket, verdict: classifyStudy(studyBucket(bucket), thresholds) }));
      for (const name of PRECEDENCE) {
        const cases = listCases(name, classified);
        assert.deepEqual(
          shown.rows
            .filter(({ verdict }) => verdict === name)
            .map(({ bucket: id, message, evidence }) => [id, message, evidence]),
          cases.map(({ bucket: id, message, evidence }) => [id, message, evidence]),
        );
        assert.equal(shown.counts.find((one) => one.name === name)?.count, cases.length);
      }
    }
  });

  it('lists what the filters let through, and no more rows than asked for', () => {
    const labels = [
      label(1, 1, 'Misleading Plan'),
      label(2, 2, 'Over-Coupling'),
      label(3, 3, 'a word of mine'),
      label(4, 5, 'unclassified'),
    ];
    assert.deepEqual(ids(view(labels)), [1, 2, 3, 4, 5, 6, 7]);
    assert.deepEqual(ids(view(labels, { verdict: 'all succeeded' })), [7]);
    assert.deepEqual(view(labels).leftOut, { requested: 2, otherDistribution: 0 });
    assert.deepEqual(ids(view(labels, { verdict: 'unclassified' })), [5, 6]);
    assert.deepEqual(ids(view(labels, { role: 'actor', labels: 'unlabelled' })), [6, 7]);
    assert.deepEqual(ids(view(labels, { labels: 'labelled' })), [1, 2, 3, 5]);
    assert.deepEqual(ids(view(labels, { labels: 'disagreement' })), [2]);
    const short = view(labels, {}, TAXONOMY_THRESHOLDS, 2);
    assert.deepEqual([ids(short), short.matching, short.roles], [[1, 2], 7, ['reasoner', 'actor']]);
  });

  it('takes the newest label of a case, and none where it was taken back; other words agree with no class', () => {
    const labels = [
      label(1, 1, 'Over-Coupling'),
      label(2, 1, 'Misleading Plan'),
      label(3, 2, 'Over-Coupling'),
      label(4, 2, ''),
      label(5, 3, 'odd'),
      label(6, 4, 'Evaluator Ambiguity'),
      label(7, 5, 'unclassified'),
      label(8, 99, 'Over-Coupling'),
    ];
    const { agreement, rows } = view(labels);
    assert.deepEqual(
      rows.map((row) => row.label?.name ?? null),
      ['Misleading Plan', null, 'odd', 'Evaluator Ambiguity', 'unclassified', null, null],
    );
    // Three compared: 1 and 5 alike, 4 not. po = 2/3; margins of 1/3 each agree in two classes: pe = 2/9; kappa = 4/7.
    assert.deepEqual([agreement.n, agreement.agreed, agreement.ownWords], [3, 2, 1]);
    assert.ok(Math.abs((agreement.kappa?.value ?? 0) - 4 / 7) < 1e-12);
    assert.equal(view([label(1, 1, 'Misleading Plan')]).agreement.kappa, null);
  });

  it('refuses thresholds that are none', () => {
    for (const shift of [Number.NaN, -1, Infinity]) {
      assert.throws(() => view([], {}, { ...TAXONOMY_THRESHOLDS, shift }), C3Error);
    }
  });
});

describe('what is read of a run', () => {
  const protocol = parseProtocol(
    '[{"role": "reasoner", "prompt": "Plan."}, {"role": "actor", "prompt": "Act.", "depends_on": ["reasoner"]}]',
    'pair.json',
  );

  it('holds what was trained on and sampled, not what was asked for, and is kept until it is asked for anew', async (t) => {
    const { writer, ...store } = temporaryStore();
    t.after(() => store.remove());
    addRun(writer);
    const [tree] = addTree(writer, {
      iteration: 1,
      problem: problem(1),
      returns: [
        [1, 0],
        [1, 1],
      ],
    });
    assert.ok(tree);
    addRequest(writer, tree.plan, ['asked for'], [1]);
    const { buckets: found, leftOut } = await readBuckets(writer, RUN, protocol);
    assert.deepEqual(leftOut, { requested: 1, otherDistribution: 0 });
    assert.deepEqual(
      found.map(({ role, terminal, origin, alternatives }) => [
        role,
        terminal,
        origin,
        alternatives.map(({ returns }) => returns),
      ]),
      [
        [
          'reasoner',
          false,
          'training',
          [
            [1, 0],
            [1, 1],
          ],
        ],
        ['actor', true, 'training', [[1], [0]]],
        ['actor', true, 'training', [[1], [1]]],
      ],
    );
    const desk = new TaxonomyDesk();
    let read = 0;
    const ask = async (fresh: boolean, run = RUN): Promise<number> =>
      (
        await desk.view(writer, { run, thresholds: TAXONOMY_THRESHOLDS, filter: NO_FILTER, limit: 9, fresh }, () => {
          read += 1;
          return protocol;
        })
      ).buckets;
    assert.deepEqual([await ask(false), read], [3, 1]);
    addTree(writer, {
      iteration: 2,
      problem: problem(2),
      returns: [
        [1, 0],
        [1, 1],
      ],
    });
    assert.deepEqual([await ask(false), read], [3, 1]);
    assert.deepEqual([await ask(true), read], [6, 2]);
    for (const other of ['b', 'c']) {
      addRun(writer, other);
    }
    assert.deepEqual([await ask(false, 'b'), await ask(false), await ask(false, 'c'), read], [0, 6, 0, 4]);
    // Two are kept: the one asked for longest ago is read again.
    assert.deepEqual([await ask(false), read, await ask(false, 'b'), read], [6, 4, 0, 4 + 1]);
  });
});

describe('thresholds on the command line', () => {
  it('change what is named and keep the rest', () => {
    assert.deepEqual(parseThresholds([]), TAXONOMY_THRESHOLDS);
    assert.deepEqual(parseThresholds(['shift=0.35', 'misleading=1e-2']), {
      ...TAXONOMY_THRESHOLDS,
      shift: 0.35,
      misleading: 0.01,
    });
  });

  it('are refused with the nearest name or the bounds', () => {
    assert.throws(() => parseThresholds(['shft=1']), /did you mean shift\?/);
    for (const wrong of ['shift', 'shift=', 'shift=x', 'shift=-1', 'shift=Infinity', 'shift=NaN']) {
      assert.throws(() => parseThresholds([wrong]), /--thresholds shift= needs a number from 0 to 1000000/, wrong);
    }
    assert.throws(() => parseThresholds(['significance=1.01']), /from 0 to 1,/);
  });
});
