/** `c3 bench replay`, measured of a tiny team. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { TeamBenchOptions } from '../../../../src/bench/report.ts';
import { benchReplay } from '../../../../src/bench/speed/replay.ts';
import { leftovers, named } from '../../../system/bench/measured.ts';
import { contentsOf, makeWorkspace } from '../../../unit/engine/workspace.ts';

const folder = await makeWorkspace();
const options: TeamBenchOptions = {
  quick: true,
  config: 'tiny.c3.yaml',
  folder,
  signal: new AbortController().signal,
  note: () => undefined,
};

it('what is measured of replays is latency, reuse and verification, all of it identical, and how soon a cancel stops one', async () => {
  const before = [contentsOf(folder), leftovers()];
  const { suite, figures, hardware } = await benchReplay(options);
  assert.equal(suite, 'replay');
  assert.match(hardware, /cpu provider, 1 threads$/);
  const first = named(figures, 'request to first alternative stored, median').value ?? NaN;
  const all = named(figures, 'request to all of 8 alternatives x 4 replays, median').value ?? NaN;
  assert.ok(first > 0 && first <= all);
  // 2 problems have 1 x (8 + 1) messages of the first role; each request makes 8 alternatives, which share all but
  // one prefill, and 9 x 4 continuations, which share 3 of 4, and what their contexts begin with.
  const reused = named(figures, 'prompt tokens not recomputed').value ?? NaN;
  assert.ok(reused > 87.5 && reused < 97.5, String(reused));
  // The run's own 2 x (2 x 4 + 2 x 4) replays, and those of two requests with 9 x 4 each.
  assert.equal(named(figures, 'replays that were identical').value, 32 + 2 * 36);
  assert.equal(named(figures, 'replays that differed').value, 0);
  assert.ok((named(figures, 'replays re-executed and compared').value ?? 0) > 0);
  const share = (name: string): number => named(figures, name).value ?? NaN;
  for (const what of ['cancel of a replay to the last stored row', "cancel of a replay to the engine's answer"]) {
    assert.ok(share(`${what}, median`) >= 0 && share(`${what}, median`) <= share(`${what}, 95th percentile`), what);
  }
  assert.equal(share('messages stored after that answer'), 0);
  assert.deepEqual([contentsOf(folder), leftovers()], before);
});
