/**
 * Hostile model folders and stored templates against a real engine: it answers a cancel, and everybody else, while they
 * work.
 */

import assert from 'node:assert/strict';
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, it, type TestContext } from 'node:test';
import { CancellationTokenSource, ResponseError } from 'vscode-jsonrpc/node';
import { CANCELLED_CODE, REQUESTS, TestModelProgressNotification } from '../../src/shared/protocols/engineProtocol.ts';
import { startEngine, type EngineProcess } from '../unit/engine/engineProcess.ts';
import { makeWorkspace } from '../unit/engine/workspace.ts';
import { folderOf } from '../unit/golden.ts';
import { tally } from './harness.ts';

const engines = tally('model engine');
/** A cancel is answered within 200 ms on a quiet machine; tests share one. */
const CANCELLED_WITHIN = 1_000;
const LOOPS =
  '{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}{{ messages[0].content }}{{ messages[1].content }}';

let workspace = '';
before(async () => {
  workspace = await makeWorkspace();
});
after(() => rmSync(workspace, { recursive: true, force: true }));

/** A model folder below the workspace. */
function hostile(name: string, change: (folder: string) => void): string {
  const folder = join(workspace, name);
  cpSync(folderOf('qwen3'), folder, { recursive: true });
  change(folder);
  return folder;
}

const answered = async (engine: EngineProcess): Promise<void> => {
  const began = performance.now();
  await engine.connection.sendRequest(REQUESTS.jobs);
  assert.ok(performance.now() - began < CANCELLED_WITHIN, 'the engine does not answer');
};

/**
 * Starts a run on a folder and cancels it while the folder's files keep it busy.
 * @returns milliseconds until it has ended
 */
async function cancelledRun(
  t: TestContext,
  folder: string,
  busy: (engine: EngineProcess) => Promise<unknown>,
): Promise<number> {
  const engine = await startEngine(t, workspace);
  const config = join(workspace, 'hostile.c3.yaml');
  writeFileSync(
    config,
    readFileSync(join(workspace, 'tiny.c3.yaml'), 'utf8').replace(/^model:.*$/mu, `model: ${JSON.stringify(folder)}`),
  );
  const { id } = await engine.connection.sendRequest(REQUESTS.startRun, { config, overrides: [] });
  await engine.until(({ jobs }) => jobs.some((job) => job.id === id && job.state === 'running'));
  await busy(engine);
  await answered(engine);
  const at = performance.now();
  await engine.connection.sendRequest(REQUESTS.cancelRun, { job: id });
  const list = await engine.until(({ jobs }) => jobs.some((job) => job.id === id && job.state === 'finished'));
  const took = performance.now() - at;
  const outcome = list.jobs.find((job) => job.id === id)?.outcome;
  assert.equal(outcome?.kind, 'cancelled', JSON.stringify(outcome));
  assert.ok(took < CANCELLED_WITHIN, `it took ${took.toFixed(0)} ms`);
  return took;
}

it('a run whose template loops is cancelled, and the engine answers meanwhile', async (t) => {
  await engines.attempt('run', async () => {
    const took = await cancelledRun(
      t,
      hostile('looping', (folder) => writeFileSync(join(folder, 'chat_template.jinja'), LOOPS)),
      (engine) => answered(engine),
    );
    console.log(`run cancelled after ${took.toFixed(0)} ms`);
  });
});

it('a run whose model has a long table of positions is cancelled while it is made', async (t) => {
  await engines.attempt('table', async () => {
    const folder = hostile('long', (place) => {
      const path = join(place, 'config.json');
      writeFileSync(
        path,
        JSON.stringify({ ...(JSON.parse(readFileSync(path, 'utf8')) as object), max_position_embeddings: 2 ** 21 }),
      );
    });
    // All of the weights have been read: what follows is made of the configuration.
    const loaded = (engine: EngineProcess): Promise<unknown> =>
      engine.heard(({ stage, done, total }) => stage === 'load' && done === total && total > 1);
    const took = await cancelledRun(t, folder, loaded);
    console.log(`load cancelled after ${took.toFixed(0)} ms`);
  });
});

it('a self-test of a folder whose template loops is cancelled', async (t) => {
  await engines.attempt('self-test', async () => {
    const engine = await startEngine(t, workspace);
    const folder = hostile('tested', (place) => writeFileSync(join(place, 'chat_template.jinja'), LOOPS));
    const tokenized = new Promise<void>((resolve) => {
      engine.connection.onNotification(TestModelProgressNotification, ({ progress }) => {
        if (progress.kind === 'step' && progress.step.name === 'Tokenizer') {
          resolve();
        }
      });
    });
    const source = new CancellationTokenSource();
    const asked = engine.connection.sendRequest(REQUESTS.testModel, { folder, provider: 'cpu' }, source.token).then(
      () => null,
      (error: unknown) => error,
    );
    // What follows is the template.
    await tokenized;
    await answered(engine);
    const at = performance.now();
    source.cancel();
    const ended = await asked;
    const took = performance.now() - at;
    assert.ok(ended instanceof ResponseError && ended.code === CANCELLED_CODE, String(ended));
    assert.ok(took < CANCELLED_WITHIN, `it took ${took.toFixed(0)} ms`);
    console.log(`self-test cancelled after ${took.toFixed(0)} ms`);
  });
});
