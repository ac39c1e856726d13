import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { Problem } from '../../../src/domain/problem.ts';
import { findBundledTeam } from '../../../src/engine/places.ts';
import { describeChange, computeFingerprint } from '../../../src/engine/recipe/fingerprint.ts';
import { loadData, parseRecipe, readRecipe, serializeRecipe, type Recipe } from '../../../src/engine/recipe/recipe.ts';
import { holdOut } from '../../../src/tasks/holdOut.ts';
import { uidSha } from '../../../src/tasks/uid.ts';
import { readConfig } from '../../../src/training/config/readConfig.ts';
import { isInputError } from './expect.ts';

const problem = (question: string): Problem => ({
  uid: question,
  uidSha: uidSha(question),
  question,
  answer: '1',
  source: 'test',
  level: null,
});
const questions = (count: number): Problem[] =>
  Array.from({ length: count }, (_, index) => problem(`What is ${index} + 1?`));
const asked = (items: readonly Problem[]): string[] => items.map(({ question }) => question);

/**
 * The rule, written down a second time: the first four bytes of a hash of seed and folded question, below the share.
 */
function isHeldOut(question: string, share: number, seed: number): boolean {
  const words = question.normalize('NFKC').toLowerCase().replaceAll(/\s+/gu, ' ').trim();
  return createHash('sha256').update(`hold out ${seed}: ${words}\x000`).digest().readUInt32BE(0) / 2 ** 32 < share;
}

test('each question is held out by its own hash, whatever is around it and in whatever order', () => {
  const all = questions(2000);
  for (const [share, seed] of [
    [0.2, 0],
    [0.2, 7],
    [0.75, 0],
  ] as const) {
    const { train, evaluation } = holdOut(all, share, seed);
    assert.deepEqual(
      asked(evaluation),
      asked(all).filter((question) => isHeldOut(question, share, seed)),
    );
    assert.deepEqual(
      asked(train),
      asked(all).filter((question) => !isHeldOut(question, share, seed)),
    );
    // Five standard deviations of a binomial.
    assert.ok(
      Math.abs(evaluation.length - 2000 * share) < 5 * Math.sqrt(2000 * share * (1 - share)),
      String(evaluation.length),
    );
    const reversed = holdOut(all.toReversed().slice(0, 900), share, seed);
    assert.deepEqual(
      new Set(asked(reversed.evaluation)),
      new Set(asked(evaluation).filter((question) => asked(all).indexOf(question) >= 1100)),
    );
  }
  assert.notDeepEqual(asked(holdOut(all, 0.2, 0).evaluation), asked(holdOut(all, 0.2, 1).evaluation));
});

test('questions that differ in case, whitespace or width are on one side', () => {
  for (const { question } of questions(200)) {
    const variants = [
      question,
      question.toUpperCase(),
      `  ${question.replaceAll(' ', '\t ')}\n`,
      question.replace('W', '\uff37'),
    ].map(problem);
    const { train, evaluation } = holdOut(variants, 0.5, 3);
    assert.ok(train.length === 0 || evaluation.length === 0, question);
  }
});

const CONFIG =
  'task:\n  train_file: rows.jsonl\n  split: {evaluation: 0.25, seed: 2}\nsteps: 2\nevaluation: {instances: 10}\n';

function folderWith(
  t: TestContext,
  rows: readonly string[],
): { readonly folder: string; readonly recipe: (config?: string) => Promise<Recipe> } {
  const folder = mkdtempSync(join(tmpdir(), 'c3-split-'));
  t.after(() => {
    rmSync(folder, { recursive: true, force: true });
  });
  writeFileSync(
    join(folder, 'rows.jsonl'),
    rows.map((question) => `${JSON.stringify({ question, answer: '1' })}\n`).join(''),
  );
  return {
    folder,
    recipe: async (config = CONFIG) => {
      writeFileSync(join(folder, 'mine.c3.yaml'), config);
      return readRecipe('mine.c3.yaml', [], folder);
    },
  };
}

test('a run trains on one side and evaluates the first of the other, and says how many', async (t) => {
  const rows = asked(questions(200));
  const { recipe } = folderWith(t, rows);
  const { train, evaluation, remarks } = await loadData(await recipe());
  const held = rows.filter((question) => isHeldOut(question, 0.25, 2));
  assert.deepEqual(asked(evaluation), held.slice(0, 10));
  assert.deepEqual(
    asked(train),
    rows.filter((question) => !held.includes(question)),
    'what is held out and not evaluated is not trained on either',
  );
  assert.ok(
    remarks.includes(
      `task.split: ${200 - held.length} questions are trained on, ${held.length} are held out, of which the first 10 are evaluated.`,
    ),
    remarks.join('\n'),
  );
  const none = await loadData(await recipe(CONFIG.replace('instances: 10', 'instances: 0')));
  assert.deepEqual([asked(none.train), none.evaluation], [asked(train), []]);
});

test('a resume finds the same split, and refuses another one of the file', async (t) => {
  const rows = asked(questions(60));
  const { folder, recipe } = folderWith(t, rows);
  const started = await recipe();
  const rendering = { template: null, controls: [] };
  const fingerprint = await computeFingerprint(started, await loadData(started), rendering);
  const stored = parseRecipe(serializeRecipe(started, fingerprint, rendering), 'r');
  assert.deepEqual(stored.config.task.split, { evaluation: 0.25, seed: 2 });
  const now = async (): Promise<string | null> =>
    describeChange(stored, await computeFingerprint(stored, await loadData(stored), rendering));
  assert.equal(await now(), null);
  writeFileSync(
    join(folder, 'rows.jsonl'),
    [...rows, ...Array.from({ length: 9 }, (_, more) => `One more, ${more}?`)]
      .map((question) => `${JSON.stringify({ question, answer: '1' })}\n`)
      .join(''),
  );
  assert.match((await now()) ?? '', /^the (?:training|evaluation) problems in rows\.jsonl have changed/u);
  assert.ok(stored.modelFolder === findBundledTeam('arithmetic'));
});

test('a split that cannot be is refused by its key', async (t) => {
  const refused = (text: string, message: RegExp): void => {
    assert.throws(() => readConfig(text, 'x'), isInputError(message));
  };
  refused('task: {split: {evaluation: 0.2}}', /task\.split: needs task\.train_file/u);
  refused(
    'task: {train_file: a.jsonl, evaluation_file: b.jsonl, split: {}}',
    /task\.split: splits task\.train_file, but task\.evaluation_file is given too/u,
  );
  for (const share of ['0', '1', '-0.1', '2', 'half']) {
    refused(`task: {train_file: a.jsonl, split: {evaluation: ${share}}}`, /task\.split\.evaluation: /u);
  }
  refused('task: {train_file: a.jsonl, split: {train: 0.8}}', /task\.split\.train: unknown key/u);
  const { recipe } = folderWith(t, asked(questions(2)));
  await assert.rejects(
    recipe(CONFIG.replace('0.25', '0.999999')).then(loadData),
    isInputError(/leaves none of the 2 questions to train on/u),
  );
});
