import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { describe, it } from 'node:test';
import { NEVER, onAbort, throwIfAborted, unlessCancelled } from '../../../src/shared/cancellation.ts';
import { CancelledError } from '../../../src/shared/errors.ts';

const listeners = (signal: AbortSignal): number => getEventListeners(signal, 'abort').length;

describe('what waits under a signal', () => {
  it('ends as soon as it aborts, also where it has before', async () => {
    const controller = new AbortController();
    const waiting = unlessCancelled(new Promise(() => undefined), controller.signal);
    controller.abort();
    await assert.rejects(waiting, CancelledError);
    await assert.rejects(unlessCancelled(new Promise(() => undefined), controller.signal), CancelledError);
    assert.throws(() => {
      throwIfAborted(controller.signal);
    }, CancelledError);
    throwIfAborted(NEVER);
  });

  it('gives what it waited for, or its error, where that comes first', async () => {
    assert.equal(await unlessCancelled(Promise.resolve(5), NEVER), 5);
    await assert.rejects(unlessCancelled(Promise.reject(new Error('disk full')), NEVER), /disk full/);
  });

  it('leaves no listener behind, however it ends', async () => {
    const { signal } = new AbortController();
    for (let request = 0; request < 100; request++) {
      await unlessCancelled(Promise.resolve(), signal);
      await assert.rejects(unlessCancelled(Promise.reject(new Error('lost')), signal));
      onAbort(signal, () => undefined)();
    }
    assert.equal(listeners(signal), 0);
  });

  it('is called back once', () => {
    const controller = new AbortController();
    let calls = 0;
    onAbort(controller.signal, () => calls++);
    controller.abort();
    controller.abort();
    onAbort(controller.signal, () => calls++);
    assert.deepEqual([calls, listeners(controller.signal)], [2, 0]);
  });
});
