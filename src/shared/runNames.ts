/** The names that a run configuration may use; each room that gives them their meaning takes them from here. */

/** The bundled tasks. */
export const TASK_NAMES = ['arithmetic', 'python', 'dealer', 'functions', 'logic', 'chain', 'hints'] as const;
export type TaskName = (typeof TASK_NAMES)[number];

/** How many roles the bundled team of a task may have, that of `protocol.json` first. Values of `task.roles`. */
export const TEAM_SIZES: Readonly<Record<TaskName, readonly number[]>> = {
  arithmetic: [2],
  python: [2],
  dealer: [2, 3, 4, 6],
  functions: [2, 1],
  logic: [3, 1],
  chain: [2, 3, 4, 5, 6, 7, 8],
  hints: [2],
};

/** Values of `task.format`. */
export const TASK_FORMATS = [
  'auto',
  'gsm8k',
  'math',
  'math500',
  'cmath',
  'mbpp',
  'mbppplus',
  'humaneval',
  'logiqa',
  'jsonl',
  'csv',
] as const;
export type TaskFormat = (typeof TASK_FORMATS)[number];

/**
 * How many of MBPP's tests the question shows: they alone name the function that is asked for. Values of
 * `task.show_tests`.
 */
export const SHOWN_TESTS = ['none', 'first', 'all'] as const;
export type ShownTests = (typeof SHOWN_TESTS)[number];

/** Matrices that an adapter can be trained over, as checkpoints name them. */
export const ADAPTER_MODULES = ['q_proj', 'k_proj', 'v_proj', 'o_proj', 'gate_proj', 'up_proj', 'down_proj'] as const;
export type AdapterModule = (typeof ADAPTER_MODULES)[number];
