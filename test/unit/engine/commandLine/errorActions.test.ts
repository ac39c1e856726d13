import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Endpoints, SpendingAccount } from '../../../../src/engine/models/endpoints.ts';
import { loadData, readRecipe } from '../../../../src/engine/recipe/recipe.ts';
import { findMissingPaths } from '../../../../src/extension/configuration/disk.ts';
import { listWrittenPaths } from '../../../../src/extension/configuration/help.ts';
import { NEVER } from '../../../../src/shared/cancellation.ts';
import { C3Error, restoreError, toFailureData, hasCode } from '../../../../src/shared/errors.ts';
import { openStoreForWriting } from '../../../../src/store/write/writer.ts';
import { checkConfig } from '../../../../src/training/config/checkConfig.ts';

let folder = '';
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'c3-actions-'));
});
after(() => rmSync(folder, { recursive: true, force: true }));

/** The error that reading a configuration ends with. */
async function refusal(text: string, ...overrides: readonly string[]): Promise<C3Error> {
  const file = join(folder, 'mine.c3.yaml');
  writeFileSync(file, text);
  const error: unknown = await readRecipe(file, overrides, folder)
    .then(loadData)
    .catch((failure: unknown) => failure);
  assert.ok(error instanceof C3Error, String(error));
  return error;
}

const at = (line: number, column: number, name = 'mine.c3.yaml'): object => ({
  kind: 'openPlace',
  file: join(folder, name),
  line,
  column,
});

describe('what a configuration is refused for', () => {
  it('is a missing folder or file, in the words of the Problems panel and with the way to its line', async () => {
    const cases: readonly (readonly [text: string, line: number, column: number])[] = [
      ['steps: 1\nmodel: models/away\n', 2, 1],
      ['protocol: team.json\n', 1, 1],
      ['task:\n  train_file: questions.jsonl\n', 2, 3],
    ];
    for (const [text, line, column] of cases) {
      const [fault] = await findMissingPaths(folder, listWrittenPaths(text));
      const { message, action } = await refusal(text);
      assert.ok(fault !== undefined && message.includes(`line ${line}: `) && message.includes(fault.message), message);
      assert.deepEqual(action, at(line, column));
    }
    const overridden = await refusal('steps: 1\n', 'model=nowhere');
    assert.match(overridden.message, /^--override model: There is no such folder: /u);
    assert.equal(overridden.action, null, 'an override stands in no file');
  });

  it('is a model that is no folder', async () => {
    writeFileSync(join(folder, 'file'), '');
    assert.match((await refusal('model: file\n')).message, /There is no such folder: .*file\.$/u);
    mkdirSync(join(folder, 'rows.jsonl'), { recursive: true });
    assert.match(
      (await refusal('task: {train_file: rows.jsonl}\n')).message,
      /There is no such file: .*rows\.jsonl\.$/u,
    );
  });

  it('is the problem that comes first in the file, as in the Problems panel', async () => {
    const text = 'steps: 1\nppo:\n  epochs: 0\nmethod: magrop\n';
    const [first] = checkConfig(text);
    const { message, action } = await refusal(text);
    assert.ok(first !== undefined && message.endsWith(first.message), `${message} against ${first?.message ?? ''}`);
    assert.deepEqual(action, at(3, 3));
    assert.match((await refusal(text, 'seed=x')).message, /^--override seed: /u);
  });

  it('is what cannot be parsed, at its line; and an unknown section at its name', async () => {
    assert.deepEqual((await refusal('steps: 1\nfanout: [2, 4\nseed: 1\n')).action, at(3, 1));
    assert.deepEqual((await refusal('seed: 1\nstepz:\n  a: 1\n')).action, at(2, 1));
  });

  it('is a row of the data, in its own file', async () => {
    const right = '{"question": "1+1", "answer": "2"}\n';
    for (const wrong of ['{"question": "cut\n', '{"question": "2+2"}\n']) {
      writeFileSync(join(folder, 'data.jsonl'), right + wrong);
      assert.deepEqual((await refusal('task: {train_file: data.jsonl}\n')).action, at(2, 1, 'data.jsonl'));
    }
  });

  it('is a name of a task, with what to write for questions of a file', async () => {
    const said = async (name: string): Promise<string> => (await refusal(`task: {name: ${name}}\n`)).message;
    assert.match(
      await said('mydata'),
      /task\.name: must be one of arithmetic, python, dealer, functions, logic, chain, hints, zebra, numbers, blocksworld, the bundled tasks; for your own questions write task: \{train_file: FILE\} and leave name out\.$/u,
    );
    assert.match(await said('GSM8K'), /task: \{train_file: FILE, format: gsm8k\}/u);
    assert.match(await said('data/mine.jsonl'), /task: \{train_file: "data\/mine\.jsonl"\}/u);
    assert.match(
      await said('pyhton'),
      /did you mean python\? It must be one of arithmetic, python, dealer, functions, logic, chain, hints, zebra, numbers, blocksworld\.$/u,
    );
  });
});

describe('what an endpoint is refused for', () => {
  it('opens the line of its address, which is said after the first refusal', async () => {
    const file = join(folder, 'served.c3.yaml');
    writeFileSync(
      file,
      'steps: 0\npolicies:\n  actor:\n    model_name: m\n    api: chat\n    retries: 1\n    endpoint: "http://127.0.0.1:1/v1"\n',
    );
    const { config, places } = await readRecipe(file, [], folder);
    const tokenizer = { encode: () => new Int32Array(), decode: () => '' };
    const opening = { policies: config.policies, places, known: {}, tokenizer, account: new SpendingAccount() };
    const error: unknown = await new Endpoints().open(opening, NEVER).catch((failure: unknown) => failure);
    assert.ok(error instanceof C3Error, String(error));
    assert.match(error.message, /role actor, 127\.0\.0\.1:1 cannot be reached \([^)]*\); start its server/u);
    assert.deepEqual(error.action, at(7, 5, 'served.c3.yaml'));
  });

  it('opens nothing for an address of the command line', async () => {
    const file = join(folder, 'served.c3.yaml');
    writeFileSync(file, 'steps: 0\n');
    const policy = 'policies.actor={endpoint: "http://127.0.0.1:1/v1", model_name: m}';
    assert.deepEqual((await readRecipe(file, [policy], folder)).places, {});
  });
});

describe('a store in a place that cannot be used', () => {
  it('names the setting of the editor beside --store, with the way to it', () => {
    const blocked = join(folder, 'blocked');
    writeFileSync(blocked, 'not a database, whatever its name says');
    for (const path of [blocked, join(blocked, 'c3.sqlite')]) {
      assert.throws(
        () => openStoreForWriting(path),
        (error) => {
          assert.ok(error instanceof C3Error);
          assert.match(error.message, /choose another place with --store \(in VS Code the setting c3\.store\.path\)/u);
          assert.deepEqual(error.action, { kind: 'openSetting', setting: 'c3.store.path' });
          return true;
        },
      );
    }
  });
});

describe('an error on its way between processes', () => {
  it('keeps its kind and its action', () => {
    for (const action of [
      { kind: 'openSetting', setting: 'c3.store.path' },
      { kind: 'openPlace', file: '/a', line: 2, column: 1 },
      undefined,
    ] as const) {
      const error = new C3Error('model', 'No.', { action });
      const data: unknown = JSON.parse(JSON.stringify(toFailureData(error)));
      const { kind, message, action: arrived } = restoreError(error.message, data);
      assert.deepEqual([kind, message, arrived], ['model', 'No.', action ?? null]);
    }
    assert.deepEqual(toFailureData(new Error('bug')), { kind: 'engine' });
    const coded: unknown = JSON.parse(JSON.stringify(toFailureData(new C3Error('store', 'x', { code: 'storeHeld' }))));
    assert.deepEqual(coded, { kind: 'store', code: 'storeHeld' });
    assert.equal(hasCode(restoreError('x', coded), 'storeHeld'), true);
    assert.equal(hasCode(restoreError('x', coded), 'notFound'), false);
    for (const code of ['constructor', 'unknown', 1, null]) {
      assert.equal(restoreError('x', { kind: 'store', code }).code, null);
    }
  });

  it('loses what this version does not know', () => {
    const strange = [null, 3, 'x', {}, { kind: 'toString' }, { kind: 'input', action: { kind: 'run', command: 'x' } }];
    const places = [
      { file: 3, line: 1, column: 1 },
      { file: '/a', line: 0, column: 1 },
      { file: '/a', line: 1.5, column: 1 },
      { file: '/a', line: 1 },
    ];
    for (const data of [
      ...strange,
      ...places.map((place) => ({ kind: 'input', action: { kind: 'openPlace', ...place } })),
    ]) {
      assert.equal(restoreError('No.', data).action, null, JSON.stringify(data));
    }
    assert.equal(restoreError('No.', { kind: 'toString' }).kind, 'engine');
  });
});
