/**
 * Hostile inputs and outputs of the command line: endless lines, pipes and devices where a file is meant, full disks,
 * formulas in tables.
 */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { importBuckets } from '../../src/engine/exchange/exchangeImport.ts';
import { exportWeights } from '../../src/engine/exchange/exportWeights.ts';
import { creditLines } from '../../src/engine/lines/creditLines.ts';
import { gradeLines, createMathLineGrader } from '../../src/engine/lines/gradeLines.ts';
import { readInputLines } from '../../src/engine/lines/lineModel.ts';
import { writeOut } from '../../src/files/outFile.ts';
import { readRegular } from '../../src/files/regularFile.ts';
import type { ModelRuntime } from '../../src/runtime/modelRuntime.ts';
import { C3Error } from '../../src/shared/errors.ts';
import { decodeFloat32, decodeInt32 } from '../../src/store/tokens.ts';
import type { StoreWriter } from '../../src/store/types.ts';
import { loadProblems } from '../../src/tasks/files/load.ts';
import { formatTableAsCsv } from '../../webview/dashboard/chart/dataTable.ts';
import { c3Apart, makeWorkspace, parseLine } from '../unit/engine/workspace.ts';
import { seed, tally } from './harness.ts';

const inputs = tally('inputs and outputs');

let folder = '';
let run = '';

const drained = async (lines: AsyncIterable<string>): Promise<number> => {
  let count = 0;
  for await (const line of lines) {
    count += line.length > 0 ? 1 : 0;
  }
  return count;
};
const isPlain = (error: unknown, says: RegExp): boolean =>
  error instanceof C3Error && says.test(error.message) && !error.message.includes('\n');

/** The cells of a CSV text, as RFC 4180 has them. */
function cellsOf(csv: string): string[] {
  return [...csv.matchAll(/(?:^|,|\r\n)(?:"((?:[^"]|"")*)"|([^",\r\n]*))/gu)].map(
    ([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain ?? '',
  );
}

/** How much is tried. */
export interface InputsSizes {
  /** Inputs that are cut at drawn places. */
  readonly cuts: number;
  /** Commands that are given a pipe or a device. */
  readonly commands: number;
  /** Tables of hostile names. */
  readonly tables: number;
}

/** Attacks with inputs and outputs, as many as the sizes say. */
export function inputsAttacks(sizes: InputsSizes): void {
  before(async () => {
    folder = await makeWorkspace();
    run = String(
      parseLine(
        (
          await c3Apart(folder, [
            'run',
            'tiny.c3.yaml',
            '--override',
            'steps=6',
            '--override',
            'instances_per_step=6',
            '--json',
          ])
        ).stdout,
      )['run'],
    );
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  describe('standard input', () => {
    it('of one endless line is refused before it is held', async () => {
      const chunk = Buffer.alloc(1 << 20, 0x61);
      for (const use of [
        readInputLines,
        (input: NodeJS.ReadableStream) => creditLines(input, 'loo'),
        (input: NodeJS.ReadableStream) => gradeLines(input, createMathLineGrader('strict')),
      ]) {
        let given = 0;
        const endless = Readable.from(
          (function* megabytes() {
            for (; given < 700; given++) {
              yield chunk;
            }
          })(),
        );
        await inputs.attempt('a line of 700 MB', async () => {
          await assert.rejects(drained(use(endless)), (error) =>
            isPlain(
              error,
              /^standard input, line 1: the line is longer than \d+ bytes; write one request on each line\.$/u,
            ),
          );
          assert.ok(given < 64, `${given} MB were read`);
        });
      }
    });

    it('that is no text, or fails, is refused in one sentence', async () => {
      await inputs.attempt('bytes that are no UTF-8', () =>
        assert.rejects(drained(readInputLines(Readable.from([Buffer.from([0x22, 0xff, 0xfe, 0x0a])]))), (error) =>
          isPlain(error, /^standard input, line 1: the line is not UTF-8/u),
        ),
      );
      const failing = new Readable({
        read() {
          this.destroy(new Error('EIO: i/o error, read'));
        },
      });
      await inputs.attempt('an input that fails', () =>
        assert.rejects(drained(readInputLines(failing)), (error) =>
          isPlain(error, /^Cannot read standard input: EIO/u),
        ),
      );
    });

    it('cut anywhere gives the same lines', () => {
      const property = fc.asyncProperty(
        fc.array(
          fc.string({ unit: 'grapheme', maxLength: 20 }).map((text) => text.replaceAll(/[\r\n\ufeff]/gu, ' ')),
          { maxLength: 8 },
        ),
        fc.array(fc.nat(60), { maxLength: 10 }),
        async (lines, cuts) => {
          const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(''));
          const places = [0, ...cuts.map((cut) => Math.min(cut, bytes.length)).sort((a, b) => a - b), bytes.length];
          const chunks = places.slice(1).map((end, index) => bytes.subarray(places[index], end));
          const found: string[] = [];
          for await (const line of readInputLines(Readable.from(chunks, { objectMode: true }))) {
            found.push(line);
          }
          if (JSON.stringify(found) !== JSON.stringify(lines)) {
            inputs.broken(`${JSON.stringify(lines)} cut at ${cuts.join(', ')} gives ${JSON.stringify(found)}`);
          }
          inputs.held();
        },
      );
      return fc.assert(property, { seed: seed(), numRuns: sizes.cuts });
    });
  });

  describe(
    'pipes, devices and folders where a file is meant',
    { skip: process.platform === 'win32' ? 'Windows has no such files' : false },
    () => {
      const places: Record<string, string> = {};
      before(() => {
        execFileSync('mkfifo', [join(folder, 'pipe')]);
        symlinkSync('pipe', join(folder, 'link-to-pipe'));
        symlinkSync('/dev/zero', join(folder, 'link-to-zero'));
        Object.assign(places, {
          'a pipe': join(folder, 'pipe'),
          'a link to a pipe': join(folder, 'link-to-pipe'),
          'an endless device': '/dev/zero',
          'a link to a device': join(folder, 'link-to-zero'),
          'a silent device': '/dev/tty',
          'a folder': folder,
        });
      });

      it('are refused by all that reads files, without waiting', async () => {
        for (const [what, path] of Object.entries(places)) {
          // The store is not reached: the file is read first.
          const readers = [
            () => readRegular(path, 1e6, 'choose another'),
            () => loadProblems(path),
            () => importBuckets({} as StoreWriter, path, '2026-01-01T00:00:00Z'),
          ];
          for (const reader of readers) {
            await inputs.attempt(what, () =>
              assert.rejects(reader(), (error) => isPlain(error, /Cannot read .*(?:it is not a regular file|ENXIO)/u)),
            );
          }
        }
      });

      it('are refused by the command line wherever it takes a path', async () => {
        const commands = [
          ['run', 'pipe'],
          ['plan', 'pipe'],
          ['run', 'tiny.c3.yaml', '--override', 'protocol=pipe'],
          ['run', 'tiny.c3.yaml', '--override', 'task.train_file=pipe'],
          ['run', 'tiny.c3.yaml', '--override', 'task.evaluation_file=link-to-zero'],
          ['import', 'pipe'],
          ['bench', 'model', '--config', 'pipe'],
          ['import', '/dev/zero'],
        ];
        for (const command of commands.slice(0, sizes.commands)) {
          await inputs.attempt(command.join(' '), async () => {
            const { code, stderr } = await c3Apart(folder, command, { shell: 'ulimit -t 20' });
            assert.ok(
              code === 2 && /c3: .*it is not a regular file.*\.\n$/u.test(stderr),
              `${String(code)}: ${stderr}`,
            );
          });
        }
      });
    },
  );

  describe('a full disk', { skip: process.platform === 'win32' ? 'ulimit is of Unix' : false }, () => {
    it('leaves nothing of a report or an export, and exits with 1', async () => {
      const commands = [
        ['report', '--run', run, '--out', 'full.html'],
        ['export', '--run', run, '--format', 'buckets', '--out', 'full.jsonl'],
      ];
      for (const command of commands) {
        await inputs.attempt(command.join(' '), async () => {
          const inside = readdirSync(folder).length;
          // The process may write 33 KB into a file, as much as the store's index of its log needs: what a full disk
          // looks like to it.
          const { code, stderr } = await c3Apart(folder, command, { shell: 'ulimit -f 33' });
          assert.ok(
            code === 1 && /full\.\w+ cannot be written completely: .*the incomplete file was removed/u.test(stderr),
            `${String(code)}: ${stderr}`,
          );
          assert.equal(readdirSync(folder).length, inside);
        });
      }
    });

    it('or a failure in between leaves no part of a file', async () => {
      const path = join(folder, 'part.txt');
      await inputs.attempt('a piece that cannot be made', () => {
        assert.throws(() => {
          writeOut(
            path,
            (function* pieces() {
              yield 'x';
              throw new C3Error('store', 'no more');
            })(),
          );
        }, /^C3Error: no more$/u);
        assert.equal(existsSync(path), false);
      });
      await inputs.attempt('a file that is there', () => {
        writeFileSync(path, 'mine');
        assert.throws(
          () => writeOut(path, ['x']),
          (error) => isPlain(error, /already exists and was left unchanged/u),
        );
      });
    });
  });

  describe('what leaves the machine', () => {
    it('names the model of an adapter without its path', async () => {
      const model = join(mkdtempSync(join(tmpdir(), 'c3-secret-')), 'the-model');
      mkdirSync(model);
      const named: (string | null)[] = [];
      const runtime = {
        saveAdapter: (_: string, out: string, base: string | null) => Promise.resolve((named.push(base), [out])),
      } as Pick<ModelRuntime, 'saveAdapter'> as ModelRuntime;
      await exportWeights(runtime, 'snapshot', 'adapter', join(model, 'out'), model);
      if (named[0] !== 'the-model') {
        inputs.broken(`the exported adapter names ${String(named[0])}`);
      }
      inputs.held();
    });

    it('holds no cell that a spreadsheet would read as a formula', () => {
      const starts = [
        '=',
        '+',
        '-',
        '@',
        '\t',
        '\r',
        '\n',
        '\r\n',
        '\uff1d',
        '\uff0b',
        '\uff0d',
        '\uff20',
        '\u2212',
        '\ufe63',
        ' =',
        '\u00a0=',
        '\u200b=',
        '\ufeff=',
        '\u0000=',
        '\u3000\uff1d',
        '\u2028+',
        '"=',
        ',=',
      ];
      const cell = fc
        .tuple(fc.constantFrom(...starts), fc.string({ unit: 'binary', maxLength: 12 }))
        .map(([start, rest]) => start + rest);
      const property = fc.property(fc.array(cell, { minLength: 1, maxLength: 4 }), (raws) => {
        const csv = formatTableAsCsv({ columns: raws.map((name) => ({ name, numeric: false })), rows: [] });
        for (const text of cellsOf(csv)) {
          if (/^[\s\p{C}]*[=+\-@\u2212\ufe62\ufe63\ufe66\ufe6b\uff0b\uff0d\uff1d\uff20]|^[\t\r\n]/u.test(text)) {
            inputs.broken(`the cell ${JSON.stringify(text)}`);
          }
        }
        inputs.held();
      });
      fc.assert(property, { seed: seed(), numRuns: sizes.tables });
    });
  });

  describe('a blob of an odd length', () => {
    it('is a damaged store, said in one sentence', () => {
      for (let length = 0; length < 64; length++) {
        for (const read of [decodeInt32, decodeFloat32]) {
          try {
            if (read(Buffer.alloc(length)).length !== length / 4) {
              inputs.broken(`${length} bytes are read as ${read(Buffer.alloc(length)).length} numbers`);
            }
          } catch (error) {
            if (length % 4 === 0 || !isPlain(error, /the store is damaged/u)) {
              inputs.broken(`${length} bytes: ${String(error)}`);
            }
          }
          inputs.held();
        }
      }
    });
  });
}
