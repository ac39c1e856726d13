/** Lanes: no more work at once than there are, in its order, and a cancel ends the wait alone. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { NEVER } from '../../../src/shared/cancellation.ts';
import { CancelledError } from '../../../src/shared/errors.ts';
import { Lanes } from '../../../src/shared/lanes.ts';

it('work waits for a lane in its order, fails alone, and gives its lane back', async () => {
  const lanes = new Lanes(2);
  const begun: string[] = [];
  const gates = new Map<string, PromiseWithResolvers<string>>();
  const ask = (name: string, signal = NEVER): Promise<string> =>
    lanes.within(signal, () => {
      begun.push(name);
      const gate = Promise.withResolvers<string>();
      gates.set(name, gate);
      return gate.promise;
    });
  const leaving = new AbortController();
  const [a, b, c, d, e] = [ask('a'), ask('b'), ask('c', leaving.signal), ask('d'), ask('e')];
  leaving.abort();
  await assert.rejects(c, CancelledError);
  await assert.rejects(ask('f', leaving.signal), CancelledError);
  assert.deepEqual(begun, ['a', 'b']);
  gates.get('a')?.reject(new Error('of its own'));
  await assert.rejects(a, /of its own/);
  assert.deepEqual(begun, ['a', 'b', 'd']);
  gates.get('b')?.resolve('b');
  gates.get('d')?.resolve('d');
  assert.deepEqual(await Promise.all([b, d]), ['b', 'd']);
  assert.deepEqual(begun, ['a', 'b', 'd', 'e']);
  gates.get('e')?.resolve('e');
  const whole = await Promise.all([e, lanes.within(NEVER, () => Promise.resolve('g'))]);
  assert.deepEqual(whole, ['e', 'g']);
});
