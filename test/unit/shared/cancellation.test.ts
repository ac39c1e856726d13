import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { combineSignals, NEVER, onAbort, throwIfAborted, unlessCancelled } from '../../../src/shared/cancellation.ts';
import { CancelledError } from '../../../src/shared/errors.ts';

const listeners = (signal: AbortSignal): number => getEventListeners(signal, 'abort').length;

describe('what waits under a signal', () => {
  it('ends as soon as it aborts, also where it has before', async () => {
    const controller = new AbortController();
    const waiting = unlessCancelled(new Promise(() => undefined), controller.signal);
    controller.abort();
    await assert.rejects(waiting, CancelledError);
    await assert.rejects(unlessCancelled(new Promise(() => undefined), controller.signal), CancelledError);
    assert.throws(() => throwIfAborted(controller.signal), CancelledError);
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

describe('a signal of several', () => {
  it('has aborted where one of them has, also when that one was collected before anybody looked', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const { signal: long } = new AbortController();
    // As a request does: its own signal is held by what cancels it, and by nobody afterwards.
    const cancelled = (combine: (signals: readonly AbortSignal[]) => AbortSignal): AbortSignal => {
      const asked = new AbortController();
      const combined = combine([long, asked.signal]);
      globalThis.setImmediate(() => asked.abort());
      return combined;
    };
    const combined = cancelled((signals) => combineSignals(...signals));
    const nested = combineSignals(
      new AbortController().signal,
      cancelled((signals) => combineSignals(...signals)),
    );
    for (let turn = 0; turn < 5; turn++) {
      await setImmediate();
      collect();
    }
    assert.deepEqual([combined.aborted, nested.aborted, long.aborted], [true, true, false]);
  });

  it('aborts with the first of them, at once where it has before', () => {
    const [one, other] = [new AbortController(), new AbortController()];
    const combined = combineSignals(one.signal, other.signal);
    let calls = 0;
    onAbort(combined, () => calls++);
    other.abort();
    one.abort();
    assert.deepEqual([calls, combined.aborted, combineSignals(NEVER, one.signal).aborted], [1, true, true]);
  });
});
