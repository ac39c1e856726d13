import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { REQUESTS, ShutdownRequest } from '../../../../../src/shared/protocols/engineProtocol.ts';
import type { RunProgress } from '../../../../../src/shared/protocols/jobs.ts';
import { newRecorded } from '../../../../support/recordedStores.ts';
import { startEngine, type EngineProcess } from '../../../../unit/engine/engineProcess.ts';
import { c3, CONFIG, copyOf, makeWorkspace, parseLine, withStore } from '../../../../unit/engine/workspace.ts';
import { makeTeam } from '../../../../unit/training/tinyTeam.ts';

let workspace = '';
/** A workspace whose store holds one finished run. */
let done = '';
let oldRun = '';
before(async () => {
  workspace = await makeWorkspace();
  ({ folder: done, run: oldRun } = await newRecorded('pair'));
});
after(() => {
  for (const folder of [workspace, done]) {
    rmSync(folder, { recursive: true, force: true });
  }
});

const tiny = ({ folder }: EngineProcess): string => join(folder, 'tiny.c3.yaml');
const training = ({ stage, done: steps }: RunProgress): boolean => stage === 'train' && steps >= 1;
const firstMessage = ({ folder }: EngineProcess, offset = 0): number =>
  withStore(folder, (store) => store.bucketsOfRun({ run: oldRun, offset, limit: 1 })[0]?.alternatives[0]?.message ?? 0);

describe('the engine process', () => {
  it('replays messages of other models and thread counts beside a run, and neither disturbs the other', async (t) => {
    const folder = copyOf(t, done);
    await makeTeam(join(folder, 'wider'), { hiddenSize: 48, steps: 10 });
    writeFileSync(
      join(folder, 'wider.c3.yaml'),
      CONFIG.replace('model: team', 'model: wider').replace('threads: 1', 'threads: 2'),
    );
    const wider = await c3(folder, ['run', 'wider.c3.yaml', '--json', '--override', 'steps=1']);
    const widerRun = String(parseLine(wider.stdout)['run']);
    const alone = await c3(copyOf(t, workspace), ['run', 'tiny.c3.yaml', '--json', '--override', 'steps=6']);
    const engine = await startEngine(t, folder);
    const run = engine.run({ config: tiny(engine), overrides: ['steps=6'] });
    await engine.heard(training);
    const other = withStore(
      folder,
      (store) => store.bucketsOfRun({ run: widerRun, offset: 0, limit: 1 })[0]?.alternatives[0]?.message ?? 0,
    );
    const replays = [firstMessage(engine), firstMessage(engine, 9), other].map((message) =>
      engine.connection.sendRequest(REQUESTS.replay, { message, alternatives: 2, replays: 2, text: null }),
    );
    for (const bucket of await Promise.all(replays)) {
      assert.equal(bucket.alternatives.length, 3);
    }
    const { steps, tokens, evaluatorCalls, accuracy, decisions } = await run;
    const expected = parseLine(alone.stdout);
    assert.deepEqual(
      [steps, tokens, evaluatorCalls, accuracy, decisions],
      ['steps', 'tokens', 'evaluatorCalls', 'accuracy', 'decisions'].map((name) => expected[name]),
    );
    const { code, stdout } = await shutDown(engine, () => c3(folder, ['verify', '--run', oldRun, '--json']));
    assert.equal(code, 0);
    assert.deepEqual(parseLine(stdout)['identical'], parseLine(stdout)['checked']);
  });
});

/** Ends an engine and does something after it. */
async function shutDown<Result>({ exit, connection }: EngineProcess, then: () => Promise<Result>): Promise<Result> {
  // The end of the process is an answer, too.
  await Promise.race([connection.sendRequest(ShutdownRequest), exit]);
  await exit;
  return then();
}
