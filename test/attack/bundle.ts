/** Hostile bucket files: every line is a bucket or one plain sentence, and what was imported can be written again. */

import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import fc from 'fast-check';
import { readBucketLine } from '../../src/engine/exchange/exchangeBucket.ts';
import { exportBuckets, OWN_KEY } from '../../src/engine/exchange/exchangeExport.ts';
import { importBuckets } from '../../src/engine/exchange/exchangeImport.ts';
import { formatCanonicalJson, JsonNumber, toJsonValue, parseJson } from '../../src/engine/exchange/exchangeJson.ts';
import { HEADLINE_RULE } from '../../src/engine/recipe/headlines.ts';
import { parseRecipe, parseRecipeProtocol } from '../../src/engine/recipe/recipe.ts';
import { C3Error } from '../../src/shared/errors.ts';
import { openStoreForWriting, type StoreWriter } from '../../src/store/write/writer.ts';
import { growth, MOST_GROWTH, seed, tally } from './harness.ts';

const bundles = tally('bundles');
const NOW = '2026-01-01T00:00:00.000Z';

const own = {
  context: 'c',
  answer: 'a',
  credited: 2,
  value_from: 2,
  value_count: 0,
  real: 0,
  alternatives: ['x', 'y'].map((text, j) => ({
    text,
    finish: 'end',
    original: j === 0,
    returns: [new JsonNumber(`${j}.0`)],
    next: [],
    evaluator_calls: 1,
  })),
};
const bucket = (meta: Readonly<Record<string, unknown>>): Record<string, unknown> => ({
  bucket_id: 'bkt_1',
  ctx_hash: 123,
  target_role: 'reasoner',
  question_id: 'q1',
  restart: { roles_topo: ['reasoner', 'actor'], role_outputs_prefix: {}, question: 'How many?' },
  candidates: ['x', 'y'].map((text, j) => ({
    j,
    action_text: text,
    returns: [new JsonNumber(`${j}.0`)],
    next_actions: [],
  })),
  meta: {
    seed: 0,
    decoding: { temperature: 0.7, top_p: 1, top_k: 0, max_new_tokens: 64 },
    credit_n: 2,
    v_extra_start: 2,
    v_extra_n: 0,
    real_j: 0,
    ...meta,
  },
});

/** Values that some reader takes for something else. */
const VALUES: readonly unknown[] = [
  null,
  true,
  false,
  '',
  ' ',
  'x',
  '1',
  '1e308',
  '__proto__',
  'constructor',
  '../../etc/passwd',
  'a'.repeat(70_000),
  '\ud800',
  '\u0000',
  '\u202e',
  '=1+1',
  [],
  {},
  [[]],
  [null],
  { __proto__: 1 },
  { toString: 1 },
  ...[
    '0',
    '-0',
    '1',
    '-1',
    '2',
    '0.5',
    '1e6',
    '1000001',
    '1e9',
    '1e15',
    '9007199254740993',
    '9223372036854775807',
    '9223372036854775808',
    '123456789012345678901234567890',
    '1e200',
    '1e300',
    '1e308',
    '1e309',
    '-1e309',
    '1e-320',
    'NaN',
    'Infinity',
    '-Infinity',
  ].map((text) => new JsonNumber(text)),
];

/** The paths of everything inside a value. */
function pathsOf(value: unknown, path: readonly (string | number)[] = []): (readonly (string | number)[])[] {
  if (typeof value !== 'object' || value === null || value instanceof JsonNumber) {
    return [path];
  }
  return [
    path,
    ...Object.entries(value).flatMap(([key, item]: [string, unknown]) =>
      pathsOf(item, [...path, Array.isArray(value) ? Number(key) : key]),
    ),
  ];
}

/** The value with something else at a path, or without it. */
function replaced(value: unknown, [first, ...rest]: readonly (string | number)[], by: unknown): unknown {
  if (first === undefined) {
    return by;
  }
  if (Array.isArray(value)) {
    return value.map((item: unknown, index) => (index === first ? replaced(item, rest, by) : item));
  }
  if (typeof value !== 'object' || value === null) {
    return value;
  }
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, item]: [string, unknown]) =>
      key !== first ? [[key, item]] : rest.length === 0 && by === undefined ? [] : [[key, replaced(item, rest, by)]],
    ),
  );
}

const PATHS = [bucket({}), bucket({ [OWN_KEY]: own })].map((base) => ({
  base,
  paths: pathsOf(base).filter(({ length }) => length > 0),
}));
const mutated = fc
  .tuple(
    fc.constantFrom(...PATHS),
    fc.array(fc.tuple(fc.nat(), fc.constantFrom(...VALUES, undefined)), { minLength: 1, maxLength: 3 }),
  )
  .map(([{ base, paths }, changes]) => {
    let found: unknown = base;
    for (const [place, value] of changes) {
      found = replaced(found, paths[place % paths.length] ?? [], value);
    }
    return formatCanonicalJson(toJsonValue(found));
  });
const cutLines = fc
  .tuple(mutated, fc.nat(), fc.constantFrom('', '"', '}', '\\', '\u0000', '['))
  .map(([line, cut, put]) => line.slice(0, cut % line.length) + put + line.slice((cut % line.length) + 1));
const lines = fc.oneof(mutated, mutated, cutLines, fc.json(), fc.string({ unit: 'binary', maxLength: 80 }));

const isSentence = (error: unknown): boolean =>
  error instanceof C3Error &&
  error.kind === 'input' &&
  !/[\r\n]|constraint|SQLITE|cannot be written|of undefined|not a function|could not be/iu.test(error.message) &&
  error.message.length < 3_000;

function opened(t: TestContext): { readonly folder: string; readonly store: StoreWriter } {
  const folder = mkdtempSync(join(tmpdir(), 'c3-bundle-'));
  const store = openStoreForWriting(join(folder, 'c3.sqlite'), { headlines: HEADLINE_RULE });
  t.after(() => {
    store.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return { folder, store };
}

/** How much is tried. */
export interface BundleSizes {
  /** Lines that are read. */
  readonly lines: number;
  /** Files that are imported and exported again. */
  readonly imports: number;
  /** Characters of the shortest line whose time is taken. */
  readonly length: number;
  /** Texts of JSON with its numbers. */
  readonly texts: number;
}

/** Attacks with bucket files, as many as the sizes say. */
export function bundleAttacks(sizes: BundleSizes): void {
  describe('a hostile bucket', () => {
    it('is read, or refused in one sentence', () => {
      fc.assert(
        fc.property(lines, (line) => {
          try {
            readBucketLine(line, 'f:1');
          } catch (error) {
            if (!isSentence(error)) {
              bundles.broken(`${line.slice(0, 2_000)} gives ${String(error)}`);
            }
          }
          bundles.held();
        }),
        { seed: seed(), numRuns: sizes.lines },
      );
    });

    it('is imported whole or not at all, and what was imported is exported again as it was', async (t) => {
      const { folder, store } = opened(t);
      let number = 0;
      const property = fc.asyncProperty(lines, async (line) => {
        const path = join(folder, `in-${number++}.jsonl`);
        writeFileSync(path, `${line}\n`);
        const before = store.runs(0, 10_000).length;
        try {
          const { run } = await importBuckets(store, path, NOW);
          const out = `${path}.out`;
          exportBuckets(store, run, parseRecipeProtocol(parseRecipe(store.runConfig(run), run)), out);
          if (readFileSync(out, 'utf8') === '') {
            bundles.broken(`${line.slice(0, 2_000)} is lost on its way`);
          }
          rmSync(out);
        } catch (error) {
          if (!isSentence(error)) {
            bundles.broken(`${line.slice(0, 2_000)} gives ${String(error)}`);
          }
          if (store.runs(0, 10_000).length !== before) {
            bundles.broken(`${line.slice(0, 2_000)} was refused and left a run`);
          }
        }
        rmSync(path);
        bundles.held();
      });
      await fc.assert(property, { seed: seed(), numRuns: sizes.imports });
      assert.equal(existsSync(join(folder, 'in-0.jsonl')), false);
    });

    it('takes time that grows with its length alone', () => {
      const shapes: Readonly<Record<string, (length: number) => string>> = {
        'one text': (length) =>
          JSON.stringify({ ...bucket({}), question_id: 'x'.repeat(length) }).replaceAll('{"text":"0.0"}', '0'),
        'escaped quotes': (length) => `{"a":"${'\\"'.repeat(length / 2)}"}`,
        'an open text': (length) => `{"a":"${'x'.repeat(length)}`,
        keys: (length) => `{${Array.from({ length: length / 10 }, (_, index) => `"k${index}":1`).join(',')}}`,
        'open brackets': (length) => '['.repeat(length),
        blanks: (length) => ' '.repeat(length),
        numbers: (length) => `[${'1,'.repeat(length / 2)}1]`,
        'one number': (length) => '9'.repeat(length),
        candidates: (length) =>
          formatCanonicalJson(
            toJsonValue({
              ...bucket({}),
              candidates: Array.from({ length: Math.min(4_000, length / 60) }, (_, j) => ({
                j,
                action_text: 'x',
                returns: [new JsonNumber('1.0')],
                next_actions: [],
              })),
            }),
          ),
      };
      for (const [what, make] of Object.entries(shapes)) {
        const ratio = growth(sizes.length, (length) => {
          try {
            readBucketLine(make(length), 'f:1');
          } catch (error) {
            assert.ok(isSentence(error), String(error));
          }
        });
        if (ratio > MOST_GROWTH) {
          bundles.broken(`${what}: ten times the line takes ${ratio.toFixed(0)} times as long`);
        }
        bundles.held();
      }
    });
  });

  describe('JSON with its numbers', () => {
    it('is written as it was read, whatever it holds', () => {
      fc.assert(
        fc.property(fc.json({ stringUnit: 'binary' }), (text) => {
          const once = formatCanonicalJson(parseJson(text));
          if (formatCanonicalJson(parseJson(once)) !== once) {
            bundles.broken(text);
          }
          bundles.held();
        }),
        { seed: seed(), numRuns: sizes.texts },
      );
    });
  });
}
