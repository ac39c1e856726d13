/** The README, the guide and the records: short, linked, and with the figures that were measured. */

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { it } from 'node:test';
import { z } from 'zod';

const ROOT = join(import.meta.dirname, '..', '..', '..');
const GUIDE = 'media/guide';
const METHODS = {
  sft: 'SFT',
  mappo: 'MAPPO',
  magrpo: 'MAGRPO',
  c3_no_replay: 'C3 without replay',
  c3_full_mean: 'C3 with full mean',
  c3: 'C3',
} as const;
const RECORDS = 'test/results';
const pages = (await readdir(join(ROOT, GUIDE))).map((name) => `${GUIDE}/${name}`);
const records = (await readdir(join(ROOT, RECORDS)))
  .filter((name) => name.endsWith('.md'))
  .map((name) => `${RECORDS}/${name}`);
const read = (file: string): Promise<string> => readFile(join(ROOT, file), 'utf8');

/** The anchors of a page's headings, as Markdown previews make them. */
function anchors(text: string): readonly string[] {
  return [...text.matchAll(/^#+ (.+)$/gmu)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
      .replaceAll(' ', '-'),
  );
}

it('the README has less than 120 lines', async () => assert.ok((await read('README.md')).split('\n').length < 120));

/** Markdown without what is code. */
const prose = (text: string): string => text.replaceAll(/^```[\s\S]*?^```/gmu, '');

it('every link of the README, the guide and the records leads to a file, and to a heading where it names one', async () => {
  for (const file of ['README.md', 'CONTRIBUTING.md', ...pages, ...records]) {
    for (const [, target = ''] of prose(await read(file)).matchAll(/\]\(([^)\s]+)\)/gu)) {
      const [path = '', anchor] = target.split('#');
      const to = path === '' ? file : join(dirname(file), path);
      assert.ok(existsSync(join(ROOT, to)), `${file}: ${target}`);
      assert.ok(anchor === undefined || anchors(await read(to)).includes(anchor), `${file}: ${target}`);
    }
  }
});

it('every page of the guide is in its contents, in the README and in the command', async () => {
  const [contents, readme, command] = await Promise.all([
    read(`${GUIDE}/README.md`),
    read('README.md'),
    read('src/extension/documents/guide.ts'),
  ]);
  for (const page of pages.filter((name) => !name.endsWith('/README.md'))) {
    const name = page.slice(GUIDE.length + 1);
    assert.ok(contents.includes(`](${name})`), name);
    assert.ok(readme.includes(`](${page})`), name);
    assert.match(command, new RegExp(`^ {2}'?${name.replace('.md', '')}'?: '`, 'mu'), name);
  }
  for (const [, page = ''] of (await read('package.json')).matchAll(/c3\.openGuide\?%5B%22([\w-]+)%22%5D/gu)) {
    assert.ok(pages.includes(`${GUIDE}/${page}.md`), page);
  }
});

const measure = z.object({ mean: z.number(), standardDeviation: z.number() });
const bounded = z.object({ value: z.number(), low: z.number().nullable(), high: z.number().nullable() });
const resultsSchema = z.object({
  runs: z.array(z.object({ task: z.string(), budget: z.string(), method: z.string(), run: z.string() })),
  table: z.object({
    rows: z.array(
      z.object({
        task: z.string(),
        budget: z.string(),
        method: z.string(),
        seeds: z.array(z.number()),
        measures: z.object({ pass1: measure, greedy: measure }),
      }),
    ),
    comparisons: z.array(
      z.object({
        task: z.string(),
        budget: z.string(),
        first: z.string(),
        second: z.string(),
        measure: z.string(),
        difference: bounded,
      }),
    ),
  }),
});
const BUDGETS = { calls: 'calls', tokens: 'tokens', seconds: 'time' };

it('the accuracies in the README, the guide and the record are those of the stored results', async () => {
  const { table, runs } = resultsSchema.parse(JSON.parse(await read('test/results/paper-table.json')));
  const [readme, measured, record] = await Promise.all([
    read('README.md'),
    read(`${GUIDE}/measured.md`),
    read(`${RECORDS}/paper-table.md`),
  ]);
  const words = ({ mean, standardDeviation }: z.infer<typeof measure>): string =>
    `${(100 * mean).toFixed(1)} ± ${(100 * standardDeviation).toFixed(1)}`;
  const runsOf = (task: string, budget: string, method: string): string[] =>
    runs.filter((one) => one.task === task && one.budget === budget && one.method === method).map(({ run }) => run);
  for (const [method, label] of Object.entries(METHODS)) {
    const cells = ['arithmetic', 'python'].flatMap((task) => {
      const atCalls = new Set(runsOf(task, 'calls', method));
      return Object.entries(BUDGETS).map(([budget, name]) => {
        const row = table.rows.find((one) => one.task === task && one.budget === budget && one.method === method);
        const same = budget !== 'calls' && runsOf(task, budget, method).every((run) => atCalls.has(run));
        if (row !== undefined && !same) {
          const [pass1, greedy] = [words(row.measures.pass1), words(row.measures.greedy)];
          const line = `| ${[task, name, label, row.seeds.length, pass1, greedy].join(' | ')} |`;
          assert.ok(record.includes(line), line);
        }
        const measuredCell = same ? 'same' : row === undefined ? 'not measured' : words(row.measures.pass1);
        return budget !== 'calls' && atCalls.size === 0 ? '' : measuredCell;
      });
    });
    const line = `| ${[label, ...cells].join(' | ')} |`.replaceAll('|  |', '| |').replaceAll('|  |', '| |');
    assert.ok(measured.includes(line), line);
  }
  const differences = table.comparisons.filter(
    (one) => one.first === 'magrpo' && one.second === 'c3' && one.measure === 'pass1',
  );
  assert.equal(differences.length, 6);
  for (const { difference } of differences) {
    const points = (value: number): string => (100 * value).toFixed(1);
    const { value, low, high } = difference;
    const bounds = [low, high].map((bound) => points(bound ?? Number.NaN)).join(', ');
    const text = `${value < 0 ? '' : '+'}${points(value)} [${bounds}]`;
    assert.ok(
      readme.includes(`| ${text}, `) && measured.includes(`| ${text}, `) && record.includes(`| ${text} |`),
      text,
    );
  }
});

const mapSchema = z.object({
  cells: z.array(
    z.object({
      roles: z.number(),
      rho: bounded,
      difference: z.object({ value: z.number(), low: z.number(), high: z.number(), n: z.number() }),
      verdict: z.string(),
    }),
  ),
});

it('the map in its record is that of the stored results', async () => {
  const { cells } = mapSchema.parse(JSON.parse(await read('test/results/rho-map.json')));
  const lines = (await read(`${RECORDS}/rho-map.md`)).split('\n');
  const points = (share: number): string => (100 * share).toFixed(1);
  for (const { roles, rho, difference, verdict } of cells) {
    const { value, low, high, n } = difference;
    const parts = [
      `| ${roles} | ${rho.value.toFixed(2)} |`,
      `| ${value < 0 ? '' : '+'}${points(value)} [${points(low)}, ${points(high)}] |`,
      `| ${n} | ${verdict} |`,
    ];
    assert.ok(
      lines.some((line) => parts.every((part) => line.includes(part))),
      parts.join(' '),
    );
  }
});
