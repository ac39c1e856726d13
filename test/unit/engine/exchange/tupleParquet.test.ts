import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects } from 'hyparquet';
import { flattenLists, ParquetTuples } from '../../../../src/engine/exchange/tupleParquet.ts';
import { TUPLE_COLUMNS, type TupleHeader, type TupleRow } from '../../../../src/engine/exchange/tupleSchema.ts';
import { OutFile } from '../../../../src/files/outFile.ts';
import { temporaryFolder } from '../../training/tinyRun.ts';

const HEADER: TupleHeader = {
  ...{ schema: 'c3-tuples', version: 1, run: 'r', method: 'c3', seed: 0, estimator: 'loo', model: 'm', tokenizer: 't' },
  ...{ sampling: { temperature: 1, topP: 1, topK: 0, maxNewTokens: 8 }, c3: '0', command: 'c3', columns: {} },
};

const makeRow = (message: number, prompt: number): TupleRow => ({
  ...{ run: 'r', uid: `problem ${message}`, problem: 'sha', role: 'solver', bucket: 2 ** 40 + message, message },
  ...{ iteration: 1, stage: 0, position: 1, turn: 0, snapshot: 's', finish: 'end' },
  prompt: Int32Array.from({ length: prompt }, (_, at) => message * 1000 + at),
  tokens: Int32Array.from([message, 2]),
  logprobs: Float32Array.from([-0.1 * message, -0]),
  advantage: Math.fround(0.1 * message),
  weight: 0.1 * message,
});

describe('tuples in Parquet', () => {
  it('go to the file in row groups of bounded size, and are read back to the bit', async (t) => {
    const folder = temporaryFolder(t);
    const path = join(folder, 'many.parquet');
    const rows = Array.from({ length: 13 }, (_, index) => makeRow(index + 1, 100_000));
    using file = new OutFile(path);
    const writer = new ParquetTuples(file, HEADER);
    const sizes = rows.map((row) => {
      writer.write(row);
      return readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
    });
    // Half a million values fill a group: six rows each.
    assert.equal(sizes[4], 0);
    assert.ok((sizes[5] ?? 0) > 0 && sizes[5] === sizes[10]);
    assert.ok((sizes[11] ?? 0) > (sizes[10] ?? 0));
    writer.finish();
    file.finish();
    const read = await asyncBufferFromFile(path);
    const { row_groups: groups } = await parquetMetadataAsync(read);
    assert.deepEqual(
      groups.map((one) => one.num_rows),
      [6n, 6n, 1n],
    );
    const found: Readonly<Record<string, unknown>>[] = await parquetReadObjects({ file: read });
    assert.deepEqual(
      found.map((row) => [row['group'], row['prompt_ids'], row['logprobs'], row['advantage'], row['weight']]),
      rows.map((row) => [BigInt(row.bucket), [...row.prompt], [...row.logprobs], row.advantage, row.weight]),
    );
  });

  it('have the levels of missing and empty lists', () => {
    assert.deepEqual(flattenLists([Int32Array.from([5, 6]), null, new Int32Array(), Int32Array.from([7])]), {
      values: [5, 6, null, null, 7],
      definitionLevels: [2, 2, 0, 1, 2],
      repetitionLevels: [0, 1, 0, 0, 0],
      maxDefinitionLevel: 2,
    });
  });

  it('have the columns that the guide lists', () => {
    const page = readFileSync(join(import.meta.dirname, '../../../../media/guide/exporting.md'), 'utf8');
    const listed = [...page.matchAll(/^\| `(\w+)` \| (text|double|float|int\d+|list of \w+) \|/gmu)];
    assert.deepEqual(
      listed.map(([, name, type]) => [name, type]),
      TUPLE_COLUMNS.map(({ name, type }) => [name, type]),
    );
  });
});
