/** What a notification says of an import. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { writeImportNotice, type LogImport } from '../../../src/domain/episode.ts';

const REPORT: LogImport = {
  run: 'r',
  known: false,
  format: 'spans',
  episodes: 1,
  messages: 2,
  events: 0,
  scored: 0,
  speakers: [],
  leftOut: {},
  masked: null,
};

it('says what was left out: one reason in words, of several how much', () => {
  const said = 'Run r: 1 episode from spans, with 2 messages and 0 events from outside; 0 with a score.';
  assert.equal(writeImportNotice(REPORT), said);
  assert.equal(
    writeImportNotice({ ...REPORT, leftOut: { 'entries that are not JSON (line 3)': 1 } }),
    `${said} Left out: entries that are not JSON (line 3): 1.`,
  );
  assert.equal(
    writeImportNotice({ ...REPORT, leftOut: { a: 1, b: 4 } }),
    `${said} Left out: 5, for 2 reasons, which the log names.`,
  );
});

it('says the same of an empty log and of a program whose calls were not answered', () =>
  assert.equal(writeImportNotice({ ...REPORT, episodes: 0 }), 'Nothing was stored: no episode was found.'));
