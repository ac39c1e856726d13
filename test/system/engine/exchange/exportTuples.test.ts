/** `c3 export --format tuples`, read back by another reader, against the rows of the store. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects } from 'hyparquet';
import { loadTokenizer } from '../../../../src/policy/tokenizer.ts';
import { isRecord } from '../../../../src/shared/guard.ts';
import { makeSignalAbortedWhen } from '../../../support/signals.ts';
import { c3, makeWorkspace, parseLine, withStore } from '../../../unit/engine/workspace.ts';

let workspace = '';
let run = '';
let untrained = '';
before(async () => {
  workspace = await makeWorkspace();
  const start = async (...overrides: string[]): Promise<string> => {
    const asked = overrides.flatMap((override) => ['--override', override]);
    const { code, stdout, stderr } = await c3(workspace, ['run', 'tiny.c3.yaml', '--json', ...asked]);
    assert.equal(code, 0, stderr);
    return String(parseLine(stdout)['run']);
  };
  run = await start('evaluation.instances=0');
  untrained = await start('method=sft', 'evaluation.before=false');
});
after(() => rmSync(workspace, { recursive: true, force: true }));

const exportTo = (out: string, ...more: string[]): ReturnType<typeof c3> =>
  c3(workspace, ['export', '--run', run, '--format', 'tuples', '--out', out, ...more]);

type Row = Readonly<Record<string, unknown>>;

const linesOf = (out: string): Row[] =>
  readFileSync(join(workspace, out), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => parseLine(`${line}\n`));

async function readLines(out: string, ...more: string[]): Promise<{ readonly header: Row; readonly rows: Row[] }> {
  const { code, stderr } = await exportTo(out, ...more);
  assert.equal(code, 0, stderr);
  const [header, ...rows] = linesOf(out);
  return { header: header ?? {}, rows };
}

describe('c3 export --format tuples', () => {
  it('has the stored tokens and log-probabilities of each learned message once', async () => {
    const { header, rows } = await readLines('all.jsonl');
    const tokenizer = await loadTokenizer(join(workspace, 'team'));
    const expected = withStore(workspace, (store) =>
      store
        .bucketsOfRun({ run, origin: 'training', offset: 0, limit: 100 })
        .flatMap(({ id }) => store.bucketView(id).alternatives.map(({ message }) => ({ id, message })))
        .map(({ id, message }) => ({ id, message, full: store.fullMessage(message), own: store.message(message) }))
        .map(({ id, message, full, own }) => ({
          run,
          step: own.iteration,
          stage: 0,
          message,
          group: id,
          problem: store.problem(own.problem).uid,
          role: own.role,
          position: own.position,
          turn: own.turn,
          snapshot: own.snapshot,
          finish: own.finish,
          prompt_ids: [...tokenizer.encode(full.context)],
          message_ids: [...full.tokens],
          logprobs: [...full.logprobs],
          reference_logprobs: null,
        }))
        .toSorted((one, other) => one.message - other.message),
    );
    assert.ok(expected.length > 16);
    assert.deepEqual(
      rows.map(({ advantage, weight, ...row }) => row),
      expected,
    );
    // The weights of a step's tokens add up to 1, and its advantages are not all 0.
    for (const step of [1, 2]) {
      const own = rows.filter((row) => row['step'] === step);
      const sum = own.reduce((total, row) => total + Number(row['weight']) * [row['message_ids']].flat().length, 0);
      assert.ok(Math.abs(sum - 1) < 1e-12, String(sum));
    }
    assert.ok(rows.some(({ advantage }) => advantage !== 0));
    assert.deepEqual(
      [header['schema'], header['version'], header['run'], header['method'], header['command']],
      ['c3-tuples', 1, run, 'c3', `c3 export --run ${run} --format tuples --out all.jsonl`],
    );
    assert.equal(header['model'], expected[0]?.snapshot);
    assert.match(String(header['tokenizer']), /^[0-9a-f]{64}$/u);
    assert.deepEqual(Object.keys(isRecord(header['columns']) ? header['columns'] : {}), Object.keys(rows[0] ?? {}));
    const { rows: second } = await readLines('second.jsonl', '--step', '2');
    assert.deepEqual(
      second,
      rows.filter((row) => row['step'] === 2),
    );
  });

  it('has the same in Parquet, with the types of the schema', async () => {
    const { header, rows } = await readLines('same.jsonl');
    const { code, stdout, stderr } = await exportTo('same.parquet', '--json');
    assert.equal(code, 0, stderr);
    assert.deepEqual(parseLine(stdout), { out: join(workspace, 'same.parquet'), tuples: rows.length, steps: 2 });
    const file = await asyncBufferFromFile(join(workspace, 'same.parquet'));
    const { schema, key_value_metadata: pairs } = await parquetMetadataAsync(file);
    const leaves = schema.filter((one) => one.type !== undefined).map((one) => one.type);
    assert.deepEqual(
      leaves,
      [
        'BYTE_ARRAY INT32 INT32 INT64 INT64 BYTE_ARRAY BYTE_ARRAY INT32 INT32',
        'BYTE_ARRAY BYTE_ARRAY INT32 INT32 FLOAT FLOAT FLOAT DOUBLE',
      ].flatMap((types) => types.split(' ')),
    );
    const found = await parquetReadObjects({ file });
    assert.deepEqual(
      found.map((row: Row) => ({
        ...row,
        message: Number(row['message']),
        group: Number(row['group']),
        reference_logprobs: row['reference_logprobs'] ?? null,
      })),
      rows,
    );
    const about = new Map(pairs?.map(({ key, value }) => [key, value]));
    assert.deepEqual([about.get('run'), about.get('version')], [run, '1']);
    assert.deepEqual(JSON.parse(about.get('columns') ?? ''), header['columns']);
  });

  it('opens with pyarrow, where it is installed', (t) => {
    const script = 'import pyarrow.parquet as p, json; print(json.dumps(p.read_table("same.parquet").to_pylist()))';
    const { status, stdout } = spawnSync('python3', ['-c', script], { cwd: workspace, encoding: 'utf8' });
    if (status !== 0) {
      t.diagnostic('pyarrow is not installed, so its reading of the file is not compared');
      return;
    }
    assert.deepEqual(JSON.parse(stdout), linesOf('same.jsonl').slice(1));
  });

  it('refuses what it cannot write, and leaves nothing', async () => {
    writeFileSync(
      join(workspace, 'log.json'),
      '[{"role": "user", "content": "2+2"}, {"role": "assistant", "content": "4"}]',
    );
    const imported = await c3(workspace, ['import', 'log.json', '--json']);
    assert.equal(imported.code, 0, imported.stderr);
    const [log = ''] = /imported-[0-9a-f-]+/u.exec(imported.stdout) ?? [];
    writeFileSync(join(workspace, 'taken.jsonl'), 'mine');
    const before = readdirSync(workspace).toSorted();
    for (const [args, code, words] of [
      [['--run', 'none', '--out', 'x.jsonl'], 2, /none/u],
      [['--run', untrained, '--out', 'x.jsonl'], 2, /learned from no message; train it first/u],
      [['--run', log, '--out', 'x.jsonl'], 2, /recorded by another program/u],
      [['--run', run, '--out', 'x.csv'], 2, /ends neither in \.jsonl nor in \.parquet/u],
      [['--run', run, '--out', 'taken.jsonl'], 2, /already exists and was left unchanged/u],
      [['--run', run, '--out', 'x.parquet', '--step', '3'], 2, /has 2 finished steps; --step 3/u],
      [['--run', run, '--out', 'x.parquet', '--step', '0'], 2, /--step 0 is not one of them/u],
    ] as const) {
      const { code: found, stdout, stderr } = await c3(workspace, ['export', '--format', 'tuples', ...args]);
      assert.deepEqual(
        [found, stdout, stderr.trimEnd().split('\n').length],
        [code, '', 1],
        `${args.join(' ')}: ${stderr}`,
      );
      assert.match(stderr, words);
    }
    assert.equal(readFileSync(join(workspace, 'taken.jsonl'), 'utf8'), 'mine');
    assert.deepEqual(readdirSync(workspace).toSorted(), before);
  });

  it('refuses a tokenizer that is not the one of the run', async () => {
    const path = join(workspace, 'team', 'tokenizer_config.json');
    const kept = readFileSync(path);
    writeFileSync(path, `${kept.toString('utf8')}\n`);
    const { code, stderr } = await exportTo('other.jsonl');
    writeFileSync(path, kept);
    assert.equal(code, 1, stderr);
    assert.match(stderr, /tokenizer in .* has changed/u);
  });

  it('leaves nothing when it is cancelled', async () => {
    const unfinished = (): string[] => readdirSync(workspace).filter((name) => name.startsWith('gone.parquet.'));
    const signal = makeSignalAbortedWhen(() => unfinished().length > 0);
    const cancelled = await c3(workspace, ['export', '--run', run, '--format', 'tuples', '--out', 'gone.parquet'], {
      signal,
    });
    assert.notEqual(cancelled.code, 0, cancelled.stderr);
    assert.ok(signal.aborted);
    assert.deepEqual(
      readdirSync(workspace).filter((name) => name.startsWith('gone')),
      [],
    );
  });
});
