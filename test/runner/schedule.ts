/** Runs tasks in parallel within the capacity of the machine. */

export interface Task {
  /** Share of a processor that the task keeps busy. */
  readonly load: number;
  /** True if the task needs one of the few windows. */
  readonly needsWindow: boolean;
  readonly run: () => Promise<void>;
}

export interface Capacity {
  /** Maximum sum of the loads of running tasks. A task always runs if no other one does. */
  readonly load: number;
  readonly windows: number;
}

/**
 * Runs tasks in order, each as soon as there is capacity for it.
 * @param stop once it is aborted, no more tasks start
 */
export async function runTasks(tasks: readonly Task[], capacity: Capacity, stop: AbortSignal): Promise<void> {
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
    const next = stop.aborted ? undefined : waiting.find(fits);
    if (next !== undefined) {
      waiting.splice(waiting.indexOf(next), 1);
      running.set(
        next,
        next.run().finally(() => running.delete(next)),
      );
    } else if (running.size > 0) {
      await Promise.race(running.values());
    } else {
      return;
    }
  }
}
