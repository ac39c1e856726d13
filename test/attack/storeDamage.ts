/**
 * Damaged stores: single bits that flip in a real store, and bytes that become others. Whatever happens to the file,
 * `c3 doctor` finds it or every reader gives the same answers; and no reader crashes, hangs, or fails without a plain
 * sentence.
 */

import assert from 'node:assert/strict';
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { HEADLINE_RULE } from '../../src/engine/recipe/headlines.ts';
import { C3Error } from '../../src/shared/errors.ts';
import { sealPath } from '../../src/store/files/seal.ts';
import { loadSqlite } from '../../src/store/files/sqlite.ts';
import { openStoreForReading } from '../../src/store/read/reader.ts';
import { examineStore } from '../../src/store/repair/examine.ts';
import { salvageStore, type Salvaged } from '../../src/store/repair/salvage.ts';
import { openStoreForWriting } from '../../src/store/write/writer.ts';
import { tamper } from '../support/tamper.ts';
import { numbersFrom } from '../unit/store/helpers.ts';
import { seed, tally } from './harness.ts';
import { answersOf, browse } from './readEverything.ts';
import { recordedStore, type RecordedStore } from './recordedStore.ts';

const flips = tally('bit flips');
const copies = tally('copies of what is whole');
const bytes = tally('random bytes in a store');
/** Reading a damaged file takes no longer than this. */
const MOST_MILLISECONDS = 10_000;

const PAGE_BYTES = 4096;

let recorded: RecordedStore;
let healthy: Buffer;
let answers: string;
let folder: string;
let path: string;

/** The answers, or the sentence with which the store refused. @throws for anything but a typed error */
async function answersIn(file: string): Promise<string> {
  try {
    const store = openStoreForReading(file);
    try {
      browse(store);
      return await answersOf(store, recorded.run);
    } finally {
      store.close();
    }
  } catch (error) {
    if (!(error instanceof C3Error) || error.message.includes('\n')) {
      throw error;
    }
    return `refused: ${error.message}`;
  }
}

function putDown(content: Uint8Array, sealed: boolean): void {
  for (const suffix of ['', '-wal', '-shm', '.seal']) {
    rmSync(path + suffix, { force: true });
  }
  writeFileSync(path, content);
  if (sealed) {
    copyFileSync(sealPath(recorded.path), sealPath(path));
  }
}

function flipped(bit: number): Buffer {
  const content = Buffer.from(healthy);
  content.writeUInt8((content[bit >> 3] ?? 0) ^ (1 << (bit & 7)), bit >> 3);
  return content;
}

/** How much is tried. */
export interface StoreDamageSizes {
  /** Bits that flip. */
  readonly flips: number;
  /** Bits that flip in a store that is written to afterwards. */
  readonly written: number;
  /** Bits that change a number. */
  readonly numbers: number;
  /** Stores with pages that are gone. */
  readonly copies: number;
  /** Stores with random bytes. */
  readonly mutations: number;
}

/** Damage to stores, as many as the sizes say. */
export function storeDamageAttacks(sizes: StoreDamageSizes): void {
  before(async () => {
    recorded = await recordedStore();
    folder = mkdtempSync(join(tmpdir(), 'c3-damage-'));
    path = join(folder, 'c3.sqlite');
    healthy = readFileSync(recorded.path);
    answers = await answersIn(recorded.path);
  });
  after(() => {
    rmSync(recorded.folder, { recursive: true, force: true });
    rmSync(folder, { recursive: true, force: true });
  });

  describe('a bit that flips in a store', () => {
    it('is found by the examination of a store that its writer closed, or changes no answer', async () => {
      putDown(healthy, true);
      assert.deepEqual(examineStore(path, true).findings, []);
      const draw = numbersFrom(seed());
      const counted = { found: 0, harmless: 0, refusedByReaders: 0 };
      for (let trial = 0; trial < sizes.flips; trial++) {
        const bit = draw(8 * healthy.length);
        putDown(flipped(bit), true);
        const { findings } = examineStore(path, true);
        const read = await answersIn(path);
        if (read.startsWith('refused')) {
          counted.refusedByReaders++;
        }
        if (findings.length > 0) {
          counted.found++;
        } else if (read === answers) {
          counted.harmless++;
        } else {
          flips.broken(`bit ${bit} changes an answer and is not found`);
        }
        flips.held();
      }
      console.log(`bit flips: ${JSON.stringify(counted)}`);
    });

    it('stays found when somebody writes to the store afterwards', async () => {
      const draw = numbersFrom(seed() + 1);
      for (let trial = 0; trial < sizes.written; trial++) {
        const bit = draw(8 * healthy.length);
        putDown(flipped(bit), true);
        await flips.attempt(`bit ${bit}, written to`, () => {
          try {
            const store = openStoreForWriting(path);
            store.insertRun({
              id: `later ${trial}`,
              method: 'c3',
              seed: 1,
              title: '',
              config: '{}',
              plannedSteps: 1,
              createdAt: '2026',
            });
            store.close();
          } catch (error) {
            assert.ok(error instanceof C3Error, String(error));
          }
          assert.notDeepEqual(examineStore(path, true).findings, []);
        });
      }
    });

    it('in the numbers of a taxonomy is found: a return of 1 that becomes 0', async () => {
      putDown(healthy, true);
      // The header of a row says by one bit whether a number is 0 or 1.
      let tried = 0;
      for (let at = 0; at < healthy.length && tried < sizes.numbers; at++) {
        if (healthy[at] !== 9) {
          continue;
        }
        putDown(flipped(8 * at), true);
        const read = await answersIn(path);
        if (read === answers || read.startsWith('refused')) {
          continue;
        }
        tried++;
        await flips.attempt(`byte ${at}`, () =>
          assert.match(examineStore(path, false).findings.join(' '), /is not as C3 left it/),
        );
      }
      assert.ok(tried > 0, 'a flip changes a number');
    });

    it('is not called healthy without the seal: the examination says what it cannot know', async () => {
      putDown(healthy, false);
      await flips.attempt('a store without a seal', () => {
        const { findings, extent } = examineStore(path, true);
        assert.deepEqual(findings, []);
        assert.match(extent, /has no seal .*a number that changed alone cannot be found/);
      });
    });
  });

  describe('what is whole of a store', () => {
    const into = (): string => {
      const target = join(folder, 'copy.sqlite');
      for (const suffix of ['', '-wal', '-shm', '.seal']) {
        rmSync(target + suffix, { force: true });
      }
      return target;
    };
    const counted = (tables: readonly Salvaged[], name: string): number =>
      tables.find(({ table }) => table === name)?.copied ?? 0;

    it('is copied: of a healthy one all, with the same answers, into a store that is whole and sealed', async () => {
      putDown(healthy, true);
      const target = into();
      await copies.attempt('a healthy store', async () => {
        const tables = salvageStore(path, target, HEADLINE_RULE);
        assert.deepEqual(
          tables.filter(({ left, unreadable }) => left + unreadable > 0),
          [],
        );
        assert.equal(await answersIn(target), answers);
        const { findings, extent } = examineStore(target, true);
        assert.deepEqual(findings, []);
        assert.match(extent, /Every byte is as C3 left it/);
        assert.ok(readFileSync(path).equals(healthy));
      });
      await copies.attempt('a file that is there', () => {
        const before = readFileSync(target);
        assert.throws(
          () => salvageStore(path, target, HEADLINE_RULE),
          (error) =>
            error instanceof C3Error &&
            error.kind === 'input' &&
            /already exists and was left unchanged/.test(error.message),
        );
        assert.ok(readFileSync(target).equals(before));
      });
    });

    it('is copied without a message whose text was changed, and without what follows from it', async () => {
      putDown(healthy, true);
      const db = new (loadSqlite())(path);
      tamper(db, "UPDATE text SET body = body || ' ' WHERE id = (SELECT message FROM decision ORDER BY id LIMIT 1)");
      db.close();
      await copies.attempt('a changed text', async () => {
        const target = into();
        const tables = salvageStore(path, target, HEADLINE_RULE);
        assert.ok(tables.some(({ table, left }) => table === 'text' && left > 0));
        assert.ok(tables.some(({ table, left }) => table === 'episode' && left > 0));
        assert.deepEqual(examineStore(target, true).findings, []);
        assert.doesNotMatch(await answersIn(target), /^refused/);
      });
    });

    it('is copied around pages that are gone, or the copy is refused in one sentence and leaves nothing', async () => {
      const draw = numbersFrom(seed() + 2);
      let messages = 0;
      for (let trial = 0; trial < sizes.copies; trial++) {
        const content = Buffer.from(healthy);
        for (let wiped = 0; wiped < 2; wiped++) {
          const page = draw(healthy.length / PAGE_BYTES);
          content.fill(draw(2) === 0 ? 0 : 0xa5, page * PAGE_BYTES, (page + 1) * PAGE_BYTES);
        }
        putDown(content, true);
        const target = into();
        await copies.attempt(`trial ${trial}`, () => {
          try {
            messages += counted(salvageStore(path, target, HEADLINE_RULE), 'decision');
            assert.deepEqual(examineStore(target, true).findings, []);
          } catch (error) {
            assert.ok(error instanceof C3Error && !error.message.includes('\n'), String(error));
            assert.equal(existsSync(target), false);
          }
          assert.ok(readFileSync(path).equals(content));
        });
      }
      assert.ok(messages > 0);
    });
  });

  describe('random bytes in a store', () => {
    it('never crash a reader or a writer, hang it, or fail without a plain sentence', async () => {
      const mutation = fc.array(
        fc.record({
          at: fc.nat({ max: healthy.length - 1 }),
          length: fc.integer({ min: 1, max: 64 }),
          value: fc.integer({ min: 0, max: 255 }),
        }),
        { minLength: 1, maxLength: 12 },
      );
      const cut = fc.option(fc.nat({ max: healthy.length }), { freq: 6 });
      await fc.assert(
        fc.asyncProperty(mutation, cut, async (changes, end) => {
          const content = Buffer.from(healthy);
          for (const { at, length, value } of changes) {
            content.fill(value, at, Math.min(at + length, content.length));
          }
          putDown(end === null ? content : content.subarray(0, end), false);
          const began = performance.now();
          try {
            await answersIn(path);
            examineStore(path, true);
            try {
              openStoreForWriting(path).close();
            } catch (error) {
              if (!(error instanceof C3Error)) {
                throw error;
              }
            }
          } catch (error) {
            bytes.broken(error instanceof Error ? `${error.name}: ${error.stack ?? ''}` : String(error));
          }
          if (performance.now() - began > MOST_MILLISECONDS) {
            bytes.broken(`it took ${Math.round(performance.now() - began)} ms`);
          }
          bytes.held();
        }),
        { seed: seed(), numRuns: sizes.mutations },
      );
    });
  });
}
