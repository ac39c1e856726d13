import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runTasks, type Task } from '../../runner/schedule.ts';

/** Tasks that end when the test says so. */
function held(): {
  readonly begun: string[];
  readonly end: (name: string) => void;
  readonly task: (name: string, load: number, needsWindow?: boolean) => Task;
} {
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  return {
    begun,
    end: (name) => ends.get(name)?.(),
    task: (name, load, needsWindow = false) => ({
      load,
      needsWindow,
      run: () => {
        begun.push(name);
        return new Promise((resolve) => ends.set(name, resolve));
      },
    }),
  };
}

const never = new AbortController().signal;
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('tasks run beside each other up to the load, and a later one fills the place that is left', async () => {
  const { begun, end, task } = held();
  const done = runTasks([task('a', 1), task('b', 1), task('c', 1), task('d', 0.4)], { load: 2.4, windows: 0 }, never);
  await turn();
  assert.deepEqual(begun, ['a', 'b', 'd']);
  end('b');
  await turn();
  assert.deepEqual(begun, ['a', 'b', 'd', 'c']);
  for (const name of ['a', 'c', 'd']) {
    end(name);
  }
  await done;
});

test('no more windows are open than there are, whatever the load', async () => {
  const { begun, end, task } = held();
  const done = runTasks([task('a', 0.1, true), task('b', 0.1, true), task('c', 0.1)], { load: 9, windows: 1 }, never);
  await turn();
  assert.deepEqual(begun, ['a', 'c']);
  end('a');
  await turn();
  assert.deepEqual(begun, ['a', 'c', 'b']);
  end('b');
  end('c');
  await done;
});

test('a task that is larger than the load runs alone, and what has not begun is left out once it is stopped', async () => {
  const { begun, end, task } = held();
  const stop = new AbortController();
  const done = runTasks([task('a', 5), task('b', 1), task('c', 1)], { load: 2, windows: 0 }, stop.signal);
  await turn();
  assert.deepEqual(begun, ['a']);
  stop.abort();
  end('a');
  await done;
  assert.deepEqual(begun, ['a']);
});
