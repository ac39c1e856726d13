/** Runs tasks beside each other, as many as the processors carry. */

export interface Task {
  /** The share of a processor that it keeps busy. */
  readonly load: number;
  /** It needs a window, of which there are few. */
  readonly needsWindow: boolean;
  readonly run: () => Promise<void>;
}

export interface Capacity {
  /** The sum of loads that run at a time; a task that is alone always runs. */
  readonly load: number;
  readonly windows: number;
}

/**
 * Runs tasks in their order, each as soon as there is place for it.
 * @param stopped asked before each start: what has not begun by then is left out
 * @returns how many tasks were left out
 */
export async function runTasks(
  tasks: readonly Task[],
  capacity: Capacity,
  stopped: () => boolean = () => false,
): Promise<number> {
  const waiting = [...tasks];
  const running = new Map<Task, Promise<void>>();
  const fits = (task: Task): boolean => {
    const others = [...running.keys()];
    const load = others.reduce((sum, other) => sum + other.load, 0);
    const windows = others.filter((other) => other.needsWindow).length;
    return (
      (others.length === 0 || load + task.load <= capacity.load + 1e-9) &&
      (!task.needsWindow || windows < capacity.windows)
    );
  };
  for (;;) {
    const next = stopped() ? undefined : waiting.find(fits);
    if (next !== undefined) {
      waiting.splice(waiting.indexOf(next), 1);
      running.set(
        next,
        next.run().finally(() => running.delete(next)),
      );
    } else if (running.size > 0) {
      await Promise.race(running.values());
    } else {
      return waiting.length;
    }
  }
}
