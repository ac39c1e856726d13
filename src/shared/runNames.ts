/** The names that a run configuration may use; each room that gives them their meaning takes them from here. */

/** The bundled tasks that come with a team of their own. */
export const TEAM_TASKS = ['arithmetic', 'python', 'dealer', 'functions', 'logic', 'chain', 'hints'] as const;
/** Those that come with a protocol and without weights: their model is the user's. */
export const MODELLESS_TASKS = ['zebra', 'numbers', 'blocksworld'] as const;
export const TASK_NAMES = [...TEAM_TASKS, ...MODELLESS_TASKS] as const;
export type TaskName = (typeof TASK_NAMES)[number];
/** A task with a bundled team. */
export type TeamTask = (typeof TEAM_TASKS)[number];

/** Whether a team comes with a task. */
export const hasTeam = (task: TaskName): task is TeamTask => TEAM_TASKS.some((name) => name === task);

/** Names of models that come with the product, as values of `model` and of `model` in `policies`. */
export const BUNDLED_MODEL = 'bundled';
export const SMALL_MODEL = 'bundled-small';
/** Whether a name is of a model that comes with the product, and no path. */
export const isBundledName = (name: string): boolean => name === BUNDLED_MODEL || name === SMALL_MODEL;
/** The tasks whose team comes in a smaller size too. */
const SMALL_TEAM_TASKS = ['logic'] as const;
export type SmallTeamTask = (typeof SMALL_TEAM_TASKS)[number];

/** Whether a smaller team comes with a task. */
export const hasSmallTeam = (task: TaskName): task is SmallTeamTask => SMALL_TEAM_TASKS.some((name) => name === task);

/** Why a name is not of a model that comes with a task, behind the key that has it; null for all that is well. */
export function bundledModelFault(name: string, task: TaskName): string | null {
  if (name === BUNDLED_MODEL && !hasTeam(task)) {
    return `${task} comes without a team; name the folder of a model with the key model.`;
  }
  return name === SMALL_MODEL && !hasSmallTeam(task)
    ? `${SMALL_MODEL} comes with the task ${SMALL_TEAM_TASKS.join(', ')} alone, not with ${task}; name the folder of a model.`
    : null;
}

/** How many roles the team of a task may have, that of its first protocol first. Values of `task.roles`. */
export const TEAM_SIZES: Readonly<Record<TaskName, readonly number[]>> = {
  arithmetic: [2],
  python: [2],
  dealer: [2, 3, 4, 6],
  functions: [2, 1],
  logic: [3, 1],
  chain: [2, 3, 4, 5, 6, 7, 8],
  hints: [2],
  zebra: [2, 3],
  numbers: [2, 3],
  blocksworld: [2, 3],
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
  'aime',
  'zebralogic',
  'autologi',
  'arbench',
  'planbench',
  'pddl',
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

/** The variable of the environment that allows commands of configurations to be run as scorers. */
export const ALLOW_COMMANDS = 'C3_ALLOW_COMMANDS';
