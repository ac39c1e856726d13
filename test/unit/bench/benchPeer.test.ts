/** Peers of `c3 bench`: found, missing, broken, late, cancelled. */

import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, watch, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { measurePeer, toPeerFields, type Peer, type PeerTask } from '../../../src/bench/speed/peer.ts';
import { SHAPE } from '../../../src/bench/speed/shape.ts';
import { CancelledError } from '../../../src/shared/errors.ts';

const folder = mkdtempSync(join(tmpdir(), 'c3-peer-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const TASK: PeerTask = { suite: 'train', shape: SHAPE, threads: 1, rounds: 1, rows: 2, length: 8 };

/** A program that represents Python. */
function python(name: string, body: string): string {
  const path = join(folder, name);
  writeFileSync(path, `#!/bin/sh\n${body}\n`);
  chmodSync(path, 0o755);
  return path;
}

interface Measured {
  readonly peer: Peer | null;
  readonly reported: ReturnType<typeof toPeerFields>;
  readonly notes: string;
}

/** Measures with these Pythons and collects the notes. */
async function measured(pythons: readonly string[], limit = 20_000): Promise<Measured> {
  const notes: string[] = [];
  const options = { quick: true, signal: new AbortController().signal, note: (line: string) => notes.push(line) };
  const outcome = await measurePeer(TASK, options, { pythons, limit });
  return { peer: outcome.peer, reported: toPeerFields(outcome), notes: notes.join('\n') };
}

describe('a peer', () => {
  it('is what the first Python that has it measured', async () => {
    const without = python('without', `echo '{"missing": "torch"}'`);
    const seen = join(folder, 'task');
    const having = python(
      'having',
      `printf %s "$3" > '${seen}'\necho 'loading'\necho '{"name": "PyTorch 0", "seconds": {"step": 0.25}}'`,
    );
    const { peer } = await measured([join(folder, 'nowhere'), without, having]);
    assert.deepEqual(peer, { name: 'PyTorch 0', seconds: { step: 0.25 } });
    assert.deepEqual(JSON.parse(readFileSync(seen, 'utf8')), TASK);
    const many = {
      name: 'PyTorch 0',
      seconds: Object.fromEntries(Array.from({ length: 40 }, (_, batch) => [`distinct ${batch}`, 1.5])),
    };
    assert.deepEqual((await measured([python('long', `echo '${JSON.stringify(many)}'`)])).peer, many);
  });

  it('is nothing where it is not installed, and says so', async () => {
    const nowhere = await measured([join(folder, 'nowhere')]);
    assert.equal(nowhere.peer, null);
    assert.match(nowhere.notes, /peer not installed: .*ENOENT/);
    assert.equal(nowhere.reported.peerStatus, 'not-installed');
    assert.equal((await measured([])).reported.peerStatus, 'not-installed');
    const { peer, notes, reported } = await measured([python('bare', `echo '{"missing": "transformers"}'`)]);
    assert.equal(peer, null);
    assert.match(notes, /peer not installed: .*bare has no module transformers/);
    assert.equal(reported.peerStatus, 'not-installed');
  });

  it('is nothing where it fails or prints no figures, which is another thing than not being installed', async () => {
    const cases: readonly (readonly [string, RegExp])[] = [
      ['echo first >&2; echo last >&2; exit 3', /failed with exit code 3: last/],
      ['kill -9 $$', /failed with signal SIGKILL/],
      ['echo cheap', /printed no figures/],
      [':', /printed no figures/],
      [`echo '{"name": "x", "seconds": {"step": -1}}'`, /printed no figures/],
      [`echo '{"name": "x", "seconds": {"step": "1"}}'`, /printed no figures/],
    ];
    for (const [body, says] of cases) {
      // Another name that is not there, before or behind it, does not hide the failure.
      const { peer, notes, reported } = await measured([
        join(folder, 'before'),
        python('broken', body),
        join(folder, 'behind'),
      ]);
      assert.equal(peer, null, body);
      assert.match(notes, says);
      assert.match(notes, /the peer is installed and failed/);
      assert.equal(reported.peerStatus, 'failed');
      assert.match(reported.peerReason ?? '', says);
    }
  });

  it('is given up when it takes too long, and ended', async () => {
    const pid = join(folder, 'late');
    const { peer, notes, reported } = await measured([python('slow', `echo $$ > '${pid}'\nexec sleep 60`)], 3000);
    assert.equal(peer, null);
    assert.match(notes, /the peer is installed and was given up: .*took longer than 3 s/);
    assert.equal(reported.peerStatus, 'too-slow');
    assert.throws(() => process.kill(Number(readFileSync(pid, 'utf8')), 0), { code: 'ESRCH' });
  });

  it('is ended by a cancel', async () => {
    const pid = join(folder, 'pid');
    const slow = python('cancelled', `echo $$ > '${pid}'\nexec sleep 60`);
    const controller = new AbortController();
    // The program has begun once it has written its number.
    const watcher = watch(folder, () => {
      if (existsSync(pid) && readFileSync(pid, 'utf8') !== '') {
        watcher.close();
        controller.abort();
      }
    });
    await assert.rejects(
      measurePeer(TASK, { quick: true, signal: controller.signal, note: () => undefined }, { pythons: [slow] }),
      CancelledError,
    );
    const child = Number(readFileSync(pid, 'utf8'));
    assert.throws(() => process.kill(child, 0), { code: 'ESRCH' });
  });
});
