/**
 * Files after public reports that only a command line reads as a whole, each of test/fixtures/reported: databases,
 * packed logs, a configuration of other scripts, candidates that are graded.
 */

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, it } from 'node:test';
import { z } from 'zod';
import { openStoreForReading } from '../../../../src/store/read/reader.ts';
import { c3, parseLine } from '../../../unit/engine/workspace.ts';

const REPORTED = join(import.meta.dirname, '../../../fixtures/reported');
const folder = mkdtempSync(join(tmpdir(), 'c3-reported-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const imported = z.looseObject({
  episodes: z.int(),
  messages: z.int(),
  scored: z.int(),
  leftOut: z.record(z.string(), z.int()),
});

/** What an import says, and each message with what it was asked and the results that came before it. */
async function importOf(name: string) {
  const path = join(folder, `${name}.store`);
  const { code, stdout, stderr } = await c3(folder, ['import', join(REPORTED, name), '--store', path, '--json']);
  assert.equal(code, 0, stderr);
  const report = imported.parse(parseLine(stdout));
  const store = openStoreForReading(path);
  try {
    const messages = Array.from({ length: report.messages }, (_, index) => {
      const { role, text, context } = store.fullMessage(index + 1);
      return {
        role,
        text,
        context,
        before: store.environmentEvents(index + 1, 'before').map(({ event }) => event.text),
      };
    });
    return { report, messages };
  } finally {
    store.close();
  }
}

it('a thread whose earlier messages a summary erased has all of them, each with what it really saw', async () => {
  const { messages } = await importOf('40_summarised.sqlite');
  assert.deepEqual(
    messages.map(({ role, text }) => [role, text]),
    [
      ['planner', 'Step 1: book.'],
      ['booker', 'Hotel booked.'],
      ['closer', 'All done.'],
    ],
  );
  const [planner, booker, closer] = messages.map(({ context }) => context);
  assert.equal(planner, '### user\nPlan a trip to Oslo.');
  assert.match(booker ?? '', /Plan a trip to Oslo\.[^]*Step 1: book\./u);
  assert.doesNotMatch(booker ?? '', /Summary/u);
  assert.equal(closer, '### system\nSummary: trip to Oslo planned.\n\n### assistant\nHotel booked.');
});

it('a tool that failed gives what its error says', async () => {
  const { messages } = await importOf('63_tool_error.eval');
  assert.deepEqual(
    messages.map(({ before }) => before),
    [[], ['Tool timed out']],
  );
});

it('nine samples are nine episodes, and nothing is left out', async () => {
  const { report } = await importOf('nine-samples.eval');
  assert.deepEqual([report.episodes, report.messages, report.scored, report.leftOut], [9, 9, 9, {}]);
});

it('a current configuration of the published scripts is converted, with one list of ignored keys', async () => {
  const { code, stdout, stderr } = await c3(folder, ['convert', join(REPORTED, '50_agent_model.yaml')]);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^method: magrpo$/mu);
  assert.match(stdout, /^steps: 528$/mu);
  const ignored = stdout.split('\n').filter((line) => line.includes('read and ignored'));
  assert.equal(ignored.length, 1);
  assert.match(ignored[0] ?? '', /agent_model\.type.*external\.external_prompt_passthrough.*wandb/u);
});

it('a candidate that raises StopIteration scores 0, and an honest one through list(map(...)) scores 1', async () => {
  const stdin = readFileSync(join(REPORTED, 'stopiteration.jsonl'), 'utf8');
  const { code, stdout, stderr } = await c3(folder, ['grade', '--kind', 'python'], { stdin });
  assert.equal(code, 0, stderr);
  const scored = z.looseObject({ score: z.number() });
  const scores = stdout
    .trim()
    .split('\n')
    .map((line) => scored.parse(JSON.parse(line)).score);
  assert.deepEqual(scores, [0, 1]);
});
