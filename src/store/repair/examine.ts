/** Examines the file, schema, rows and references of a store for damage. It changes nothing. */

import { existsSync } from 'node:fs';
import { resolveRealFile } from '../../files/realFile.ts';
import { toErrorMessage } from '../../shared/errors.ts';
import type { StoreExamination } from '../../shared/protocols/storeExamination.ts';
import { toOneLine } from '../../shared/text/oneLine.ts';
import { lockHolder } from '../files/lock.ts';
import { checkSeal } from '../files/seal.ts';
import { connectForReading, type Connection } from '../files/sqlite.ts';
import { openStoreForReading, OlderStoreError } from '../read/reader.ts';
import { isWholeEvent } from '../tables/environmentEvents.ts';
import { inspectFile, MIGRATIONS, readStoreVersion } from '../tables/migrations.ts';
import { listSchemaFaults } from '../tables/storeSchema.ts';
import { decodeInt32, textHash, tokenHash } from '../tokens.ts';
import { describeParentFault } from '../tree.ts';
import type { StoreCounts } from '../types.ts';

/** Number of rows, evenly spread, whose hashes are computed unless all are requested. */
const SAMPLE = 20_000;
/** Largest number of findings of one kind. */
const MOST_FINDINGS = 20;
const LONGEST_FINDING = 300;

/**
 * Examines the store.
 * @param all true to compute the hash of every row
 * @throws nothing: a part that cannot be examined is a finding
 */
export function examineStore(path: string, all: boolean): StoreExamination {
  const findings: string[] = [];
  const find = (sentence: string): void => {
    findings.push(toOneLine(sentence, LONGEST_FINDING));
  };
  const attempt = (what: string, work: () => void): void => {
    try {
      work();
    } catch (error) {
      find(`${what} cannot be examined: ${toErrorMessage(error)}`);
    }
  };
  let extent = 'Nothing could be examined.';
  let counts: StoreCounts | null = null;
  let refusal: string | null = null;
  attempt('The file', () => {
    const absolute = resolveRealFile(path);
    const sealed = examineSeal(absolute, find);
    try {
      inspectFile(absolute);
    } catch (error) {
      refusal = toErrorMessage(error);
      return;
    }
    const { db } = connectForReading(absolute);
    try {
      const version = readStoreVersion(db);
      const strange = listSchemaFaults(db, version, MIGRATIONS);
      for (const fault of strange.slice(0, MOST_FINDINGS)) {
        find(`In the schema ${fault}.`);
      }
      // A foreign schema could compute anything.
      if (strange.length > 0) {
        return;
      }
      const before = findings.length;
      attempt('The pages of the file', () => {
        examinePages(db, 'integrity_check', find);
      });
      // Cycles of pages would make every query endless.
      if (findings.length > before) {
        extent = 'Its rows were not examined: its pages are damaged.';
        return;
      }
      attempt('What rows refer to', () => {
        examineReferences(db, find);
      });
      let checked = '';
      attempt('The hashes of the rows', () => {
        checked = examineHashes(db, all, find);
      });
      extent = [checked, sealed].filter((part) => part !== '').join(' ');
    } finally {
      db.close();
    }
    try {
      const reader = openStoreForReading(absolute);
      counts = reader.counts();
      reader.close();
    } catch (error) {
      if (error instanceof OlderStoreError) {
        extent = `${extent} ${toErrorMessage(error)}`;
      } else {
        throw error;
      }
    }
  });
  return { findings, extent, refusal, counts };
}

/**
 * Examines only the pages of the file. If they pass, a scan of the store ends, even if its file is
 * malicious. An error on opening is in `refusal`.
 * @throws nothing: a part that cannot be examined is a finding
 */
export function examinePagesOnly(path: string): StoreExamination {
  const findings: string[] = [];
  const find = (sentence: string): void => {
    findings.push(toOneLine(sentence, LONGEST_FINDING));
  };
  let db: Connection | null = null;
  let refusal: string | null = null;
  try {
    const absolute = resolveRealFile(path);
    inspectFile(absolute);
    ({ db } = connectForReading(absolute));
  } catch (error) {
    refusal = toErrorMessage(error);
  }
  if (db !== null) {
    try {
      examinePages(db, 'quick_check', find);
    } catch (error) {
      find(`The pages of the file cannot be examined: ${toErrorMessage(error)}`);
    } finally {
      db.close();
    }
  }
  return { findings, extent: 'Its rows were not examined.', refusal, counts: null };
}

/** @returns a sentence about the seal for the extent of the examination */
function examineSeal(path: string, find: (sentence: string) => void): string {
  if (lockHolder(path) !== null) {
    return 'It is being written: changes of single numbers can be checked after its writer has finished.';
  }
  const found = checkSeal(path);
  switch (found.state) {
    case 'whole':
      return `Every byte is as C3 left it on ${found.seal.closedAt}.`;
    case 'none':
      return existsSync(`${path}-wal`) || existsSync(path)
        ? 'It has no seal (its last writer was killed, or it was copied without its .seal file): a number that changed alone cannot be found.'
        : '';
    case 'different':
      find(
        `The file is not as C3 left it on ${found.seal.closedAt}: it is damaged, or another program changed it; no number in it can be relied upon.`,
      );
      return '';
  }
}

function examinePages(
  db: Connection,
  check: 'integrity_check' | 'quick_check',
  find: (sentence: string) => void,
): void {
  const answers = db.prepare<[], string>(`PRAGMA ${check}(${MOST_FINDINGS})`).pluck().all();
  for (const line of answers.flatMap((answer) => answer.split('\n')).slice(0, MOST_FINDINGS)) {
    if (line !== 'ok' && !line.startsWith('***')) {
      find(`SQLite finds damage: ${line}.`);
    }
  }
}

interface Reference {
  readonly table: string;
  readonly parent: string;
}

function examineReferences(db: Connection, find: (sentence: string) => void): void {
  const missing = new Map<string, number>();
  for (const { table, parent } of db
    .prepare<[], Reference>('SELECT "table", parent FROM pragma_foreign_key_check')
    .iterate()) {
    const what = `rows of ${table} refer to rows of ${parent} that are not there`;
    missing.set(what, (missing.get(what) ?? 0) + 1);
  }
  for (const [what, count] of missing) {
    find(`${count} ${what}.`);
  }
  const circular = db.prepare<[], number>(`SELECT id FROM decision WHERE parent >= id LIMIT ${MOST_FINDINGS}`).pluck();
  for (const id of circular.iterate()) {
    find(`The ${describeParentFault(id)}.`);
  }
}

interface TextRow {
  readonly id: number;
  readonly sha256: string;
  readonly body: unknown;
}

interface TokenRow {
  readonly id: number;
  readonly hash: string;
  readonly tokens: unknown;
  readonly logprobs: unknown;
}

type Row = Readonly<Record<string, unknown>>;

/** @returns the numbers of checked rows, in words */
function examineHashes(db: Connection, all: boolean, find: (sentence: string) => void): string {
  const said = { texts: 0, messages: 0, events: 0 };
  const report = (kind: keyof typeof said, sentence: string): void => {
    if (said[kind]++ < MOST_FINDINGS) {
      find(sentence);
    }
  };
  const texts = planSample(db, 'text', all);
  for (const { id, sha256, body } of db
    .prepare<[number], TextRow>('SELECT id, sha256, body FROM text WHERE id % ? = 0')
    .iterate(texts.step)) {
    if (typeof body !== 'string' || textHash(body) !== sha256) {
      report('texts', `Text ${id} is not the one that was stored: its SHA-256 differs.`);
    }
  }
  const messages = planSample(db, 'decision', all);
  for (const { id, hash, tokens, logprobs } of db
    .prepare<[number], TokenRow>('SELECT id, token_hash AS hash, tokens, logprobs FROM decision WHERE id % ? = 0')
    .iterate(messages.step)) {
    const whole =
      tokens instanceof Buffer &&
      logprobs instanceof Buffer &&
      tokens.length % 4 === 0 &&
      tokenHash(decodeInt32(tokens)) === hash &&
      (logprobs.length === 0 || logprobs.length === tokens.length);
    if (!whole) {
      report('messages', `Message ${id} does not have the tokens that were stored: their SHA-256 differs.`);
    }
  }
  for (const row of db.prepare<[], Row>('SELECT * FROM environment_event').iterate()) {
    if (!isWholeEvent(row)) {
      report('events', `Environment event ${String(row['id'])} is not the one that was stored: its SHA-256 differs.`);
    }
  }
  return `Its pages and references were checked, and the hashes of ${texts.words} texts and ${messages.words} messages.`;
}

/** Returns the step between checked rows of a table, and a description of their share. */
function planSample(db: Connection, table: string, all: boolean): { readonly step: number; readonly words: string } {
  const total = db.prepare<[], number>(`SELECT count(*) FROM ${table}`).pluck().get() ?? 0;
  const step = all ? 1 : Math.max(1, Math.ceil(total / SAMPLE));
  return { step, words: step === 1 ? `all ${total}` : `one in ${step} of ${total}` };
}
