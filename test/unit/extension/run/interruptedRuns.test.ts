/** That a run was interrupted is said once in each session of the editor. */

import assert from 'node:assert/strict';
import { registerHooks } from 'node:module';
import { it } from 'node:test';
import { setImmediate as soon } from 'node:timers/promises';
import { addRun, temporaryStore } from '../storeFixture.ts';

const said: string[] = [];
const env = { sessionId: 'one' };
const showWarningMessage = (words: string): Promise<undefined> => {
  said.push(words);
  return Promise.resolve(undefined);
};
Object.assign(globalThis, { c3Editor: { env, window: { showWarningMessage } } });
registerHooks({
  resolve: (specifier, context, next) =>
    specifier === 'vscode'
      ? { url: 'data:text/javascript,export const { env, window } = globalThis.c3Editor;', shortCircuit: true }
      : next(specifier, context),
});
const { InterruptedRuns } = await import('../../../../src/extension/run/interruptedRuns.ts');

it('an interrupted run is offered once in a session, reloads included, and again in the next', async (t) => {
  const { writer, ...store } = temporaryStore();
  t.after(() => store.remove());
  addRun(writer);
  writer.updateRunStatus('run-1', 'failed', null, null);
  const kept = new Map<string, unknown>();
  const memory = {
    get: (key: string) => kept.get(key),
    update: (key: string, value: unknown) => Promise.resolve(kept.set(key, value)),
  };
  const looks: (() => void)[] = [];
  const onDidChange = (look: () => void): { dispose: () => void } => {
    looks.push(look);
    return { dispose: () => undefined };
  };
  const services = {
    engine: { unavailable: () => null },
    runs: { unstarted: [], running: false, onDidChange },
    store: { onDidChange, pending: () => null, reader: () => writer },
  };
  /** A window of a session that opens, hears of a change, and is closed. */
  const window = async (session: string): Promise<readonly string[]> => {
    env.sessionId = session;
    const runs = new InterruptedRuns(services as never, memory as never);
    for (const look of looks.splice(0)) {
      look();
    }
    await soon();
    runs.dispose();
    return said.splice(0);
  };
  const words = 'Run "Run run-1" was interrupted at step 0 of 3.';
  assert.deepEqual(await window('one'), [words]);
  assert.deepEqual(await window('one'), [], 'a reload is no new session');
  assert.deepEqual(await window('two'), [words]);
});
