/** Peers of `c3 bench`: found, missing, broken, late, cancelled. */
import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { CancelledError } from '../../../src/shared/errors.ts';
import { measurePeer, type PeerTask } from '../../../src/engine/bench/peer.ts';
import { SHAPE } from '../../../src/engine/bench/shape.ts';

const folder = mkdtempSync(join(tmpdir(), 'c3-peer-'));
after(() => {
  rmSync(folder, { recursive: true, force: true });
});

const TASK: PeerTask = { suite: 'train', shape: SHAPE, threads: 1, rounds: 1, rows: 2, length: 8 };

/** A program that stands for Python. */
function python(name: string, body: string): string {
  const path = join(folder, name);
  writeFileSync(path, `#!/bin/sh\n${body}\n`);
  chmodSync(path, 0o755);
  return path;
}

/** Measures with these Pythons and collects the notes. */
async function measured(pythons: readonly string[], limit = 20_000): Promise<{ readonly peer: Awaited<ReturnType<typeof measurePeer>>; readonly notes: string }> {
  const notes: string[] = [];
  const peer = await measurePeer(TASK, { quick: true, cancelled: () => false, note: (line) => notes.push(line) }, { pythons, limit });
  return { peer, notes: notes.join('\n') };
}

describe('a peer', () => {
  it('is what the first Python that has it measured', async () => {
    const without = python('without', `echo '{"missing": "torch"}'`);
    const seen = join(folder, 'task');
    const having = python('having', `printf %s "$3" > '${seen}'\necho 'loading'\necho '{"name": "PyTorch 0", "seconds": {"step": 0.25}}'`);
    const { peer } = await measured([join(folder, 'nowhere'), without, having]);
    assert.deepEqual(peer, { name: 'PyTorch 0', seconds: { step: 0.25 } });
    assert.deepEqual(JSON.parse(readFileSync(seen, 'utf8')), TASK);
    const many = { name: 'PyTorch 0', seconds: Object.fromEntries(Array.from({ length: 40 }, (_, batch) => [`distinct ${String(batch)}`, 1.5])) };
    assert.deepEqual((await measured([python('long', `echo '${JSON.stringify(many)}'`)])).peer, many);
  });

  it('is nothing where it is not installed, and says so', async () => {
    const nowhere = await measured([join(folder, 'nowhere')]);
    assert.equal(nowhere.peer, null);
    assert.match(nowhere.notes, /peer not installed: .*ENOENT/);
    const { peer, notes } = await measured([python('bare', `echo '{"missing": "transformers"}'`)]);
    assert.equal(peer, null);
    assert.match(notes, /peer not installed: .*bare has no module transformers/);
  });

  it('is nothing where it fails or prints no figures', async () => {
    const cases: readonly (readonly [string, RegExp])[] = [
      ['echo first >&2; echo last >&2; exit 3', /failed: last/],
      ['echo cheap', /printed no figures/],
      [':', /printed no figures/],
      [`echo '{"name": "x", "seconds": {"step": -1}}'`, /printed no figures/],
      [`echo '{"name": "x", "seconds": {"step": "1"}}'`, /printed no figures/],
    ];
    for (const [body, says] of cases) {
      const { peer, notes } = await measured([python('broken', body)]);
      assert.equal(peer, null, body);
      assert.match(notes, says);
    }
  });

  it('is given up when it takes too long, and ended', async () => {
    const pid = join(folder, 'late');
    const { peer, notes } = await measured([python('slow', `echo $$ > '${pid}'\nexec sleep 60`)], 500);
    assert.equal(peer, null);
    assert.match(notes, /took longer than 0\.5 s/);
    assert.throws(() => process.kill(Number(readFileSync(pid, 'utf8')), 0), { code: 'ESRCH' });
  });

  it('is ended by a cancel', async () => {
    const pid = join(folder, 'pid');
    const slow = python('cancelled', `echo $$ > '${pid}'\nexec sleep 60`);
    await assert.rejects(measurePeer(TASK, { quick: true, cancelled: () => existsSync(pid) && readFileSync(pid, 'utf8') !== '', note: () => undefined }, { pythons: [slow] }), CancelledError);
    const child = Number(readFileSync(pid, 'utf8'));
    assert.throws(() => process.kill(child, 0), { code: 'ESRCH' });
  });
});
