/** A run in which the actor answers from a table, from its configuration to replays that are verified. */

import assert from 'node:assert/strict';
import { appendFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { EngineService } from '../../../../src/engine/service.ts';
import { c3, CONFIG, copyOf, errorOf, makeWorkspace, parseLine, withStore } from '../../../unit/engine/workspace.ts';

const POLICIES = `policies:
  actor:
    kind: scripted
    answers:
      - {question: "Box 1 holds 2 pens and gets 2 more. How many pens are in it?", answer: "#### 4"}
      - {answer: "#### 3"}
`;

let workspace = '';
let run = '';
before(async () => {
  workspace = await makeWorkspace();
  appendFileSync(join(workspace, 'tiny.c3.yaml'), POLICIES);
  const made = await c3(workspace, ['run', 'tiny.c3.yaml', '--json']);
  assert.match(made.stderr, /The role actor is scripted: what it says is never trained on\./);
  run = String(parseLine(made.stdout)['run']);
});
after(() => rmSync(workspace, { recursive: true, force: true }));

/** The first message of a role that was trained on. */
const message = (folder: string, role: string): number =>
  withStore(
    folder,
    (store) =>
      store
        .bucketsOfRun({ run, origin: 'training', offset: 0, limit: 100 })
        .find(({ role: speaker }) => speaker === role)?.alternatives[0]?.message ?? 0,
  );

describe('a run with a scripted role', () => {
  it('says what its table says', () => {
    withStore(workspace, (store) => {
      const said = store
        .episodes({ run, phase: 'train', iteration: 1, offset: 0, limit: 100 })
        .map(({ question, leaf }) => `${question.slice(0, 5)}: ${store.message(leaf).text}`);
      assert.deepEqual([...new Set(said)].sort(), ['Box 0: #### 3', 'Box 1: #### 4']);
    });
  });

  it('replays and verifies all that was said', async (t) => {
    const folder = copyOf(t, workspace);
    const asked = String(message(folder, 'reasoner'));
    const replayed = parseLine(
      (await c3(folder, ['replay', asked, '--alternatives', '3', '--replays', '2', '--json'])).stdout,
    );
    const bucket = Number(replayed['bucket']);
    withStore(folder, (store) =>
      assert.ok(store.bucketView(bucket).alternatives.every(({ verified }) => verified === true)),
    );
    const { checked, identical } = parseLine((await c3(folder, ['verify', '--json'])).stdout);
    assert.ok(Number(checked) > 30);
    assert.equal(identical, checked);
  });

  it('compares what somebody typed with what it says, and refuses what it cannot do', async (t) => {
    const folder = copyOf(t, workspace);
    const asked = message(folder, 'actor');
    const refused = await c3(folder, ['replay', String(asked), '--alternatives', '2']);
    assert.match(
      errorOf(refused),
      /The policy of the role actor is scripted: it has one answer for each context.*; replay it with a text of your own and no alternatives/,
    );
    const typed = await c3(folder, ['replay', String(asked), '--alternatives', '0', '--text', 'No idea.', '--json']);
    const { alternatives } = parseLine(typed.stdout) as { alternatives: { text: string; verified: boolean | null }[] };
    assert.deepEqual(
      alternatives.map(({ text, verified }) => [text, verified]),
      [['No idea.', true]],
    );
    const measured = await c3(folder, ['diagnose', '--run', run, '--sample', '--role', 'actor']);
    assert.match(errorOf(measured), /The policy of the role actor is scripted: .*; measure another role/);
    const service = new EngineService(join(folder, '.c3', 'c3.sqlite'));
    t.after(() => service.close());
    await assert.rejects(
      service.contextTokens(asked),
      /The policy of the role actor is scripted: its context has no tokens, because no model read it; look at its text\./,
    );
  });

  it('is searched like any other: a message of the table neither lost nor won anything', async (t) => {
    const folder = copyOf(t, workspace);
    writeFileSync(
      join(folder, 'first.c3.yaml'),
      `${CONFIG}policies:\n  reasoner: {answers: [{answer: "Add them."}]}\n`,
    );
    const made = await c3(folder, ['run', 'first.c3.yaml', '--override', 'steps=0', '--json']);
    assert.equal(made.code, 0, made.stderr);
    const ofRun = await c3(folder, ['blame', '--budget', '16', '--json']);
    assert.equal(ofRun.code, 0, ofRun.stderr);
    const { read, masked } = parseLine(ofRun.stdout);
    assert.deepEqual([Number(read) > 0, masked], [true, 0]);
    const first = String(parseLine(made.stdout)['run']);
    const lost = withStore(folder, (store) =>
      store
        .episodes({ run: first, phase: 'evaluate', iteration: 1, offset: 0, limit: 100 })
        .find(({ return: value }) => value === 0),
    );
    const found = await c3(folder, ['blame', String(lost?.leaf), '--budget', '16', '--json']);
    assert.equal(found.code, 0, found.stderr);
    const { curve } = parseLine(found.stdout) as {
      curve: { role: string | null; drop: { value: number; n: number } }[];
    };
    const scripted = curve.filter(({ role }) => role === 'reasoner').map(({ drop }) => [drop.value, drop.n > 0]);
    assert.deepEqual(scripted, [[0, true]]);
  });

  it('is refused where its table does not fit', async (t) => {
    const folder = copyOf(t, workspace);
    const refuses = async (policies: string, pattern: RegExp): Promise<void> => {
      writeFileSync(join(folder, 'bad.c3.yaml'), `${CONFIG}${policies}`);
      for (const command of ['run', 'plan']) {
        assert.match(errorOf(await c3(folder, [command, 'bad.c3.yaml'])), pattern);
      }
    };
    await refuses(
      'policies:\n  acter: {kind: scripted, answers: [{answer: a}]}\n',
      /line 12: policies\.acter: the protocol pair has no such role; did you mean 'actor'\?/,
    );
    await refuses(
      'policies:\n  actor: {kind: scripted, answers: [{question: "?", answer: a}]}\n',
      /policies\.actor\.answers has no answer for the actor/,
    );
  });
});
