import assert from 'node:assert/strict';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { z } from 'zod';
import { c3, contentsOf, errorOf, makeWorkspace, parseLine, withStore } from '../../../unit/engine/workspace.ts';

let workspace = '';
let done: Record<string, unknown> = {};
let run = '';
before(async () => {
  workspace = await makeWorkspace();
  done = parseLine((await c3(workspace, ['run', 'tiny.c3.yaml', '--json'])).stdout);
  run = String(done['run']);
});
after(() => rmSync(workspace, { recursive: true, force: true }));

const returns = z.array(z.number().nullable());
const replaySchema = z.object({
  bucket: z.int(),
  draws: z.string(),
  original: z.unknown(),
  alternatives: z.array(z.unknown()),
});
const rowSchema = z.object({
  text: z.string(),
  returns,
  credit: z.object({ value: z.number().nullable() }).nullable(),
});
const findingSchema = z.object({
  buckets: z.array(
    z.object({
      bucket: z.int(),
      continuation: z.object({ draws: z.string().nullable() }),
      verified: z.unknown(),
      removal: z.unknown(),
      alternatives: z.array(
        z.object({
          text: z.object({ text: z.string() }),
          returns,
          credit: z.object({ value: z.number().nullable() }).nullable(),
        }),
      ),
    }),
  ),
});

const read = (name: string): string => readFileSync(join(workspace, name), 'utf8');

describe('c3 report', () => {
  it('writes a run as a page and as data, which say what the run itself said', async () => {
    const page = await c3(workspace, ['report', '--run', run, '--out', 'run.html']);
    assert.deepEqual([page.code, page.stdout], [0, `${join(workspace, 'run.html')}\n`], page.stderr);
    assert.match(read('run.html'), /^<!doctype html>\n[^]*<\/html>\n$/u);
    const data = await c3(workspace, ['report', '--run', run, '--out', 'run.json', '--json']);
    const printed = parseLine(data.stdout);
    assert.deepEqual(JSON.parse(read('run.json')), printed);
    const { store: _, ...summary } = done;
    assert.deepEqual(printed['summary'], summary);
    assert.deepEqual(printed['cost'], {
      evaluatorCalls: done['evaluatorCalls'],
      reusedEvaluations: done['reusedEvaluations'],
      tokens: done['tokens'],
      decisions: done['decisions'],
      seconds: done['seconds'],
    });
    assert.deepEqual([printed['report'], printed['version']], ['run', 2]);
    assert.ok(
      !read('run.html').includes(workspace) && !read('run.json').includes(workspace),
      'no path of this machine',
    );
  });

  it('writes a message with what replaying it showed', async () => {
    const message = withStore(
      workspace,
      (store) => store.bucketsOfRun({ run, origin: 'training', offset: 0, limit: 1 })[0]?.alternatives[0]?.message ?? 0,
    );
    const replayed = replaySchema.parse(
      parseLine(
        (
          await c3(workspace, [
            'replay',
            String(message),
            '--alternatives',
            '2',
            '--replays',
            '2',
            '--text',
            '',
            '--json',
          ])
        ).stdout,
      ),
    );
    const printed = findingSchema.parse(
      parseLine((await c3(workspace, ['report', '--message', String(message), '--json'])).stdout),
    );
    const found = printed.buckets.find(({ bucket }) => bucket === replayed.bucket);
    assert.ok(found !== undefined);
    assert.equal(found.continuation.draws, replayed.draws);
    assert.deepEqual(found.verified, { identical: 8, different: 0, notComparable: 0, unverified: 0 });
    const expected = [replayed.original, ...replayed.alternatives]
      .map((row) => rowSchema.parse(row))
      .map((row) => [row.text, row.returns, row.credit?.value ?? null]);
    const sorted = (rows: readonly unknown[]): string[] => rows.map((row) => JSON.stringify(row)).sort();
    assert.deepEqual(
      sorted(found.alternatives.map(({ text, returns: own, credit }) => [text.text, own, credit?.value ?? null])),
      sorted(expected),
    );
    assert.notEqual(found.removal, null);
  });

  it('leaves a file that is there as it was, and says what is wrong with its arguments', async () => {
    await c3(workspace, ['report', '--run', run, '--out', 'kept.html']);
    const before = contentsOf(workspace);
    const wrong = [
      [['--run', run, '--out', 'kept.html'], /kept\.html already exists and was left unchanged/u],
      [['--run', run, '--out', 'nowhere/run.html'], /nowhere\/run\.html cannot be written/u],
      [['--run', 'none', '--out', 'none.html'], /There is no run none/u],
      [['--message', '999999', '--json'], /There is no message 999999/u],
      [['--message', '1e3', '--json'], /--message needs a whole number/u],
      [['--run', run, '--message', '1', '--json'], /either --run RUN or --message ID/u],
      [['--out', 'x.html'], /either --run RUN or --message ID/u],
      [['--run', run], /needs --out/u],
    ] as const;
    for (const [args, expected] of wrong) {
      const result = await c3(workspace, ['report', ...args]);
      assert.equal(result.code, 2, args.join(' '));
      assert.match(errorOf(result), expected);
      assert.equal(result.stdout, '');
    }
    assert.deepEqual(contentsOf(workspace), before);
    assert.ok(!existsSync(join(workspace, 'none.html')));
  });
});
