/** Runs in which a role is answered by weights that are not trained, from the configuration to verified replays. */

import assert from 'node:assert/strict';
import { cpSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { parseRecipe } from '../../../../../src/engine/recipe/recipe.ts';
import { EngineService } from '../../../../../src/engine/service.ts';
import { loadTokenizer } from '../../../../../src/policy/tokenizer.ts';
import { newRecorded } from '../../../../support/recordedStores.ts';
import { c3, CONFIG, copyOf, errorOf, parseLine, withStore } from '../../../../unit/engine/workspace.ts';
import { folderOf } from '../../../../unit/golden.ts';
import { OTHER, ran, firstOf, replaysExactly } from './roleWeights.ts';

/** An adapter of another architecture than the tiny team's. */
const PEFT = join(import.meta.dirname, '../../../../fixtures/peft');

/** A folder without a store, and one with two runs: of the team alone, and with another model for the reasoner. */
let workspace = '';
let done = '';
let ofOther = '';
before(async () => {
  ({ folder: done } = await newRecorded('pair'));
  cpSync(folderOf('qwen2'), join(done, 'other'), { recursive: true });
  workspace = mkdtempSync(join(tmpdir(), 'c3-roles-'));
  cpSync(done, workspace, { recursive: true, filter: (path) => basename(path) !== '.c3' });
  ofOther = await ran(done, OTHER);
});
after(() => {
  for (const folder of [workspace, done]) {
    rmSync(folder, { recursive: true, force: true });
  }
});

describe('a role with another model', () => {
  it('speaks with its tokenizer and its template, is stored, replayed and verified, and is not trained', async (t) => {
    const folder = copyOf(t, done);
    const run = ofOther;
    const other = await loadTokenizer(join(folder, 'other'));
    const own = await loadTokenizer(join(folder, 'team'));
    withStore(folder, (store) => {
      const recipe = parseRecipe(store.runConfig(run), run);
      assert.deepEqual(Object.keys(recipe.roles ?? {}), ['reasoner']);
      assert.match(recipe.roles?.['reasoner']?.snapshot ?? '', /^[0-9a-f]{64}$/);
      const said = store.fullMessage(firstOf(store, run, 'reasoner'));
      assert.match(said.context, /^<\|im_start\|>system\nPlan\.<\|im_end\|>/);
      assert.equal(said.promptTokens, other.encode(said.context).length);
      const ids = said.finish === 'end' ? said.tokens.slice(0, -1) : said.tokens;
      assert.equal(other.decode(Int32Array.from(ids)), said.text);
      const answer = store.fullMessage(firstOf(store, run, 'actor'));
      assert.doesNotMatch(answer.context, /<\|im_start\|>/);
      assert.equal(answer.promptTokens, own.encode(answer.context).length);
      assert.equal(store.snapshotsOfRun(run).length, 3);
    });
    await replaysExactly(folder, run);
    const service = new EngineService(join(folder, '.c3', 'c3.sqlite'));
    t.after(() => service.close());
    const message = withStore(folder, (store) => firstOf(store, run, 'reasoner'));
    const shown = await service.contextTokens(message);
    assert.equal(shown.context.length, shown.storedPromptTokens);
    const typed = await c3(folder, ['replay', String(message), '--alternatives', '0', '--text', '2+1', '--json']);
    assert.equal(typed.code, 0, typed.stderr);
  });

  it('says that the weights have changed where they have, in verification and replay', async (t) => {
    const folder = copyOf(t, done);
    // The run names the folder in which it was made.
    const put = (family: string): void => {
      rmSync(join(done, 'other'), { recursive: true });
      cpSync(folderOf(family), join(done, 'other'), { recursive: true });
    };
    put('llama');
    t.after(() => put('qwen2'));
    const { notComparable, firstReason } = parseLine((await c3(folder, ['verify', '--json'])).stdout);
    assert.ok(Number(notComparable) > 0);
    assert.match(String(firstReason), /The weights that answered for the role reasoner, [0-9a-f]{12} of .*other/);
    const asked = String(withStore(folder, (store) => firstOf(store, ofOther, 'reasoner')));
    assert.match(errorOf(await c3(folder, ['replay', asked])), /The weights that answered for the role reasoner/);
  });
});

describe('weights that cannot answer for a role', () => {
  it('are refused in one sentence before anything is stored', async (t) => {
    const folder = copyOf(t, workspace);
    cpSync(PEFT, join(folder, 'lora'), { recursive: true });
    const refuses = async (policies: string, pattern: RegExp): Promise<void> => {
      writeFileSync(join(folder, 'bad.c3.yaml'), `${CONFIG}policies:\n  ${policies}\n`);
      assert.match(errorOf(await c3(folder, ['run', 'bad.c3.yaml'])), pattern);
      assert.ok(!existsSync(join(folder, '.c3', 'c3.sqlite')));
    };
    await refuses('reasoner: {model: none}', /line 12: policies\.reasoner\.model: There is no such folder: .*none\./);
    await refuses(
      'reasoner: {adapter: none}',
      /line 12: policies\.reasoner\.adapter: There is no such folder: .*none\./,
    );
    await refuses('judge: {model: other}', /policies\.judge: the protocol pair has no such role/);
    await refuses(
      'reasoner: {run: c3-0-none, snapshot: 1}',
      /There is no run c3-0-none in the store .*, which is new; name a run of it\./,
    );
    await refuses(
      'reasoner: {adapter: lora}',
      /lora.*adapter_model\.safetensors: .* the adapter was trained over another model\./,
    );
    await refuses(
      'reasoner: {model: other}\n  actor: {snapshot: base}',
      /policies: no role is left to the weights in training, so nothing can be trained: only roles that the run's own model answers can; take a role out, or set steps: 0\./,
    );
    writeFileSync(join(folder, 'huge.c3.yaml'), `${CONFIG}memory: {limit_gb: 0.3}\n${OTHER}`);
    assert.match(errorOf(await c3(folder, ['run', 'huge.c3.yaml'])), /The run needs about/);
    const plan = await c3(folder, ['plan', 'huge.c3.yaml']);
    assert.match(plan.stdout, /reasoner: Weights \(float32\)/);
  });
});
