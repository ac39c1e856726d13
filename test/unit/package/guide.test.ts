/** The README and the guide: short, linked, and with the figures that were measured. */
import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
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
const pages = (await readdir(join(ROOT, GUIDE))).map((name) => `${GUIDE}/${name}`);
const read = (file: string): Promise<string> => readFile(join(ROOT, file), 'utf8');

/** The anchors of a page's headings, as Markdown previews make them. */
function anchors(text: string): readonly string[] {
  return [...text.matchAll(/^#+ (.+)$/gmu)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} -]/gu, '')
      .replaceAll(' ', '-'),
  );
}

it('the README has less than 250 lines', async () => {
  assert.ok((await read('README.md')).split('\n').length < 250);
});

/** Markdown without what is code. */
const prose = (text: string): string => text.replaceAll(/^```[\s\S]*?^```/gmu, '');

it('every link of the README and the guide leads to a file, and to a heading where it names one', async () => {
  for (const file of ['README.md', 'CONTRIBUTING.md', ...pages]) {
    for (const [, target = ''] of prose(await read(file)).matchAll(/\]\(([^)\s]+)\)/gu)) {
      const [path = '', anchor] = target.split('#');
      const to = join(dirname(file), path);
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
const resultsSchema = z.object({
  table: z.object({
    rows: z.array(z.object({ task: z.string(), method: z.string(), measures: z.object({ greedy: measure }) })),
  }),
});

it('the accuracies in the README and the guide are those of the stored results', async () => {
  const { table } = resultsSchema.parse(JSON.parse(await read('test/results/paper-table.json')));
  const greedy = (task: string, method: string): string => {
    const row = table.rows.find((one) => one.task === task && one.method === method);
    assert.ok(row !== undefined, `${task} ${method}`);
    const { mean, standardDeviation } = row.measures.greedy;
    return `${(100 * mean).toFixed(1)} ± ${(100 * standardDeviation).toFixed(1)}`;
  };
  const [readme, measured] = await Promise.all([read('README.md'), read(`${GUIDE}/measured.md`)]);
  for (const [method, label] of Object.entries(METHODS)) {
    const [arithmetic, python] = [greedy('arithmetic', method), greedy('python', method)];
    assert.ok(readme.includes(`| ${label} | ${arithmetic} | ${python} |`), label);
    assert.ok(measured.includes(`| ${label} | ${arithmetic} |`), label);
    assert.ok(measured.includes(`| ${label} | ${python} |`), label);
  }
});
