/** Every process that the product starts is an owned one, but for those that end otherwise. */

import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { it } from 'node:test';

const ROOT = new URL('../../../', import.meta.url);
/** What starts a process, outside of comments and of what makes it owned. */
const STARTS = /^(?!\s*(?:\*|\/\/)).*(?<![\w.])(?:spawn|fork|exec|execFile)(?:Sync)?\(/mu;
/** Files that start one that is not owned, and what ends it. */
const OTHERS: Readonly<Record<string, string>> = {
  'src/files/ownedProcess.ts': 'the watch: the end of its input, which is the end of this process',
  'src/client/startEngine.ts': 'the engine, which outlives its windows and ends once it is not needed',
  'src/client/examineStore.ts': 'a reader of ours: the end of its channel, which its main thread hears',
  'src/engine/exchange/openLog.ts': 'a reader of ours: the end of its channel, which its main thread hears',
  'src/engine/cli.ts': 'the same command in another Node, which gets the signals of this one',
};

it('what starts a process owns it', () => {
  const starting = globSync('src/**/*.ts', { cwd: ROOT }).filter((path) => {
    const code = readFileSync(new URL(path, ROOT), 'utf8').replaceAll(/`[^`]*`/gu, "''");
    return STARTS.test(code.replaceAll(/spawnOwned\([^;]*?(?:spawn|fork)\(/gu, ''));
  });
  assert.deepEqual(starting.sort(), Object.keys(OTHERS).sort());
});
