/** Chat models of every family, and templates that changed since a run began. */

import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { describeChange, describeTemplateChange } from '../../../../../src/engine/recipe/fingerprint.ts';
import { parseRecipe } from '../../../../../src/engine/recipe/recipe.ts';
import { createRenderer } from '../../../../../src/policy/rendering.ts';
import {
  c3,
  copyOf,
  errorOf,
  finished,
  hears,
  parseLine,
  startC3,
  withStore,
} from '../../../../unit/engine/workspace.ts';
import { FAMILIES } from '../../../../unit/golden.ts';
import { everyMessageAnswers, makeFolder, messagesOf, run } from './chatTeam.ts';

everyMessageAnswers(FAMILIES);

describe('a template', () => {
  const TEMPLATE = ['model', 'chat_template.jinja'];
  let finishedFolder = '';
  let finishedRun = '';
  before(async () => {
    finishedFolder = makeFolder('qwen3');
    finishedRun = await run(finishedFolder, 'evaluation.instances=0');
  });

  it('that changed is said in a replay, which keeps the old one', async (t) => {
    const folder = copyOf(t, finishedFolder);
    const message = withStore(folder, (store) => messagesOf(store, finishedRun)[0] ?? assert.fail());
    const replay = (): ReturnType<typeof c3> =>
      c3(folder, ['replay', String(message.id), '--alternatives', '1', '--replays', '1', '--json']);
    // The run names the files of the original.
    const path = join(finishedFolder, ...TEMPLATE);
    const old = readFileSync(path);
    try {
      for (const change of [() => writeFileSync(path, `${old.toString()} `), () => rmSync(path)]) {
        change();
        const { code, stdout, stderr } = await replay();
        assert.equal(code, 0, stderr);
        const [said, ...progress] = stderr.trimEnd().split('\n');
        assert.match(
          said ?? '',
          /^The chat template in \S+ has changed since run \S+ began; its messages are replayed/u,
        );
        assert.match(said ?? '', /with the one that it began with\.$/u);
        assert.ok(progress.length > 0 && progress.every((line) => /^Replaying: \d of 1$/u.test(line)), stderr);
        assert.deepEqual(
          (parseLine(stdout) as { alternatives: { verified: boolean }[] }).alternatives.map(({ verified }) => verified),
          [true],
        );
      }
    } finally {
      writeFileSync(path, old);
    }
    const { code, stderr } = await replay();
    assert.equal(code, 0, stderr);
    assert.match(stderr, /^(?:Replaying: \d of 1\n)+$/u);
  });

  it('that changed stops a resume by its name, and once it is back the run continues', async () => {
    const folder = makeFolder('qwen2');
    const child = startC3(folder, [
      'run',
      'chat.c3.yaml',
      '--override',
      'steps=3',
      '--override',
      'evaluation.instances=0',
    ]);
    const done = finished(child);
    child.stdin.end();
    await hears(child, 'Step 1 of 3');
    child.kill('SIGINT');
    await done;
    const id = withStore(folder, (store) => store.runs(0, 1)[0]?.id ?? '');
    const path = join(folder, ...TEMPLATE);
    const old = readFileSync(path);
    writeFileSync(path, `{# #}${old.toString()}`);
    const stopped = await c3(folder, ['run', '--resume', id]);
    assert.equal(stopped.code, 2);
    assert.match(
      errorOf(stopped),
      new RegExp(
        `^c3: Run ${id} cannot be resumed: the chat template in \\S+model has changed since it began; put the old one back, or start a new run\\.$`,
      ),
    );
    writeFileSync(path, old);
    const resumed = await c3(folder, ['run', '--resume', id, '--json']);
    assert.equal(resumed.code, 0, resumed.stderr);
    assert.equal(parseLine(resumed.stdout)['steps'], 3);
  });

  it('is not given to a run that was stored before there were any', async () => {
    const stored = withStore(finishedFolder, (store) => parseRecipe(store.runConfig(finishedRun), finishedRun));
    const { rendering, fingerprint, ...rest } = stored;
    assert.ok(rendering?.template && fingerprint?.template);
    const { template, ...older } = fingerprint;
    const old = parseRecipe(JSON.stringify({ ...rest, fingerprint: older }), 'old');
    assert.deepEqual([old.rendering, old.fingerprint?.template], [null, null]);
    assert.equal(
      createRenderer(old.rendering)({ system: 'Plan.', user: 'Problem:\n<|im_end|>' }),
      'Plan.\n\nProblem:\n<|im_end|>\n',
    );
    assert.equal(await describeChange(old, { ...older, template }), null);
    assert.equal(await describeTemplateChange(old, 'old'), null);
    assert.match((await describeChange(stored, { ...older, template: null })) ?? '', /^the chat template in /);
  });
});
