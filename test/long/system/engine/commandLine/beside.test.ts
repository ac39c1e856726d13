/** Commands that work after and beside each other in one process: each as if it were alone, and nothing stays. */

import assert from 'node:assert/strict';
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { succeeded } from '../../../../system/engine/commandLine/documents.ts';
import { c3, copyOf, makeWorkspace, parseLine, withStore, type Finished } from '../../../../unit/engine/workspace.ts';

let workspace = '';
let alone: Finished;
before(async () => {
  workspace = await makeWorkspace();
  alone = await c3(workspace, RUN);
  succeeded(alone);
});
after(() => rmSync(workspace, { recursive: true, force: true }));

const RUN = ['run', 'tiny.c3.yaml', '--json', '--override', 'steps=1'];
/** What a run came to, without its name, its place and its time. */
function outcomeOf({ stdout }: Finished): unknown {
  const { run: _, store: __, seconds: ___, ...rest } = parseLine(stdout);
  return rest;
}
/** What of this process and of a store a command must give back. */
const held = (folder: string): unknown => ({
  listeners: process.eventNames().map((name) => [name, process.listenerCount(name)]),
  resources: process.getActiveResourcesInfo().filter((name) => name === 'MessagePort' || name.endsWith('ServerWrap')),
  locks: readdirSync(join(folder, '.c3')).filter((name) => name.includes('.lock')),
});

describe('commands in one process', () => {
  it('compute beside each other what they compute alone, in stores of their own and in one', async (t) => {
    const before = held(workspace);
    const folders = [copyOf(t, workspace), copyOf(t, workspace)] as const;
    const ended = await Promise.all([
      ...folders.map((folder) => c3(folder, RUN)),
      c3(folders[0], RUN),
      c3(workspace, ['taxonomy', '--run', 'none']),
    ]);
    for (const one of ended.slice(0, 3)) {
      succeeded(one);
      assert.deepEqual(outcomeOf(one), outcomeOf(alone));
    }
    assert.deepEqual([ended[3]?.code, ended[3]?.stdout], [2, '']);
    assert.deepEqual(
      folders.map((folder) => withStore(folder, (store) => store.runs(0, 10).map(({ status }) => status))),
      [
        ['done', 'done', 'done'],
        ['done', 'done'],
      ],
    );
    for (const folder of folders) {
      assert.deepEqual(held(folder), before);
    }
  });

  it('end where their signal aborts, and leave the store to others', async (t) => {
    const folder = copyOf(t, workspace);
    const before = held(folder);
    const cancel = new AbortController();
    const { code, stdout, stderr } = await c3(folder, ['run', 'tiny.c3.yaml', '--override', 'steps=2000'], {
      signal: cancel.signal,
      onNote: (text) => {
        if (text.includes('Evaluating sampled, before training: 4 of 4')) {
          cancel.abort();
        }
      },
    });
    assert.deepEqual([code, stdout], [1, '']);
    assert.match(stderr, /\nRun (\S+) can be resumed: c3 run --resume \1\nCancelled; what was stored stays\.\n$/);
    assert.deepEqual(held(folder), before);
    assert.deepEqual(
      withStore(folder, (store) => store.runs(0, 10).map(({ status }) => status)),
      ['cancelled', 'done'],
    );
  });
});
