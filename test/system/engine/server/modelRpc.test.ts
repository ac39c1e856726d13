/** The editor's requests about models: facts, plan, self-test with progress and cancellation. */

import assert from 'node:assert/strict';
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, it, type TestContext } from 'node:test';
import { CancellationTokenSource, ResponseError, type MessageConnection } from 'vscode-jsonrpc/node';
import {
  CANCELLED_CODE,
  FAILED_CODE,
  REQUESTS,
  type TestModelProgress,
  TestModelProgressNotification,
} from '../../../../src/shared/protocols/engineProtocol.ts';
import { startEngine } from '../../../unit/engine/engineProcess.ts';
import { makeWorkspace } from '../../../unit/engine/workspace.ts';
import { folderOf } from '../../../unit/golden.ts';

let workspace = '';
before(async () => {
  workspace = await makeWorkspace();
});
after(() => {
  rmSync(workspace, { recursive: true, force: true });
});

async function engine(
  t: TestContext,
): Promise<{ readonly connection: MessageConnection; readonly heard: readonly TestModelProgress[] }> {
  const { connection } = await startEngine(t, workspace);
  const heard: TestModelProgress[] = [];
  connection.onNotification(TestModelProgressNotification, (progress) => {
    heard.push(progress);
  });
  return { connection, heard };
}

const fails = (code: number) => (error: unknown) => error instanceof ResponseError && error.code === code;

it('facts, or the sentence that says why not', async (t) => {
  const { connection } = await engine(t);
  assert.equal((await connection.sendRequest(REQUESTS.inspectModel, { folder: folderOf('llama') })).family, 'llama');
  await assert.rejects(connection.sendRequest(REQUESTS.inspectModel, { folder: workspace }), fails(FAILED_CODE));
});

it('a plan of a configuration with overrides, though it does not fit; nothing is stored', async (t) => {
  const { connection } = await engine(t);
  const plan = await connection.sendRequest(REQUESTS.plan, {
    config: join(workspace, 'tiny.c3.yaml'),
    overrides: ['memory.limit_gb=0.1', 'steps=3'],
  });
  assert.equal(plan.memory.totals[0]?.fits, false);
  assert.ok(plan.memory.advice.length > 0);
  assert.equal(plan.budget.steps, 3);
  assert.equal(existsSync(join(workspace, '.c3')), false);
  await assert.rejects(
    connection.sendRequest(REQUESTS.plan, { config: null, overrides: ['stepps=3'] }),
    fails(FAILED_CODE),
  );
});

it('a self-test reports loading and steps, and ends where it is cancelled', async (t) => {
  const { connection, heard } = await engine(t);
  const folder = folderOf('qwen2');
  const steps = await connection.sendRequest(REQUESTS.testModel, { folder });
  assert.ok(steps.length > 0 && steps.every(({ passed }) => passed));
  assert.ok(heard.every((progress) => progress.folder === folder));
  assert.deepEqual(
    heard.flatMap(({ progress }) => (progress.kind === 'step' ? progress.step : [])),
    steps,
  );
  assert.ok(heard.some(({ progress }) => progress.kind === 'load'));
  const source = new CancellationTokenSource();
  const cancelled = connection.sendRequest(REQUESTS.testModel, { folder, provider: 'cpu' }, source.token);
  source.cancel();
  await assert.rejects(cancelled, fails(CANCELLED_CODE));
});
