/** The names that a run configuration may use. The folders that implement them import them from here. */

/** The bundled tasks that come with their own team. */
export const TEAM_TASKS = ['arithmetic', 'python', 'dealer', 'functions', 'logic', 'chain', 'hints'] as const;
/** The bundled tasks that come with a protocol but without weights: the user provides the model. */
export const MODELLESS_TASKS = ['zebra', 'numbers', 'blocksworld'] as const;
export const TASK_NAMES = [...TEAM_TASKS, ...MODELLESS_TASKS] as const;
export type TaskName = (typeof TASK_NAMES)[number];
/** A task with a bundled team. */
export type TeamTask = (typeof TEAM_TASKS)[number];

/** Returns true if a team comes with a task. */
export const hasTeam = (task: TaskName): task is TeamTask => TEAM_TASKS.some((name) => name === task);

/** Names of bundled models, as values of `model` and of `model` in `policies`. */
export const BUNDLED_MODEL = 'bundled';
export const SMALL_MODEL = 'bundled-small';
/** Returns true if a name is that of a bundled model and not a path. */
export const isBundledName = (name: string): boolean => name === BUNDLED_MODEL || name === SMALL_MODEL;
/** The tasks whose team also comes in a smaller size. */
const SMALL_TEAM_TASKS = ['logic'] as const;
export type SmallTeamTask = (typeof SMALL_TEAM_TASKS)[number];

/** Returns true if a smaller team comes with a task. */
export const hasSmallTeam = (task: TaskName): task is SmallTeamTask => SMALL_TEAM_TASKS.some((name) => name === task);

/** Returns the fault in a bundled model's name, as words that follow the key, or null. */
export function findBundledModelFault(name: string, task: TaskName): string | null {
  if (name === BUNDLED_MODEL && !hasTeam(task)) {
    return `${task} comes without a team; name the folder of a model with the key model.`;
  }
  return name === SMALL_MODEL && !hasSmallTeam(task)
    ? `${SMALL_MODEL} comes with the task ${SMALL_TEAM_TASKS.join(', ')} alone, not with ${task}; name the folder of a model.`
    : null;
}

/** Values of `task.roles`: sizes of the team of a task, first that of its default protocol. */
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

/** Values of `task.show_tests`: MBPP's tests in the question, which name the requested function. */
export const SHOWN_TESTS = ['none', 'first', 'all'] as const;
export type ShownTests = (typeof SHOWN_TESTS)[number];

/** Matrices that an adapter can train, as checkpoints name them. */
export const ADAPTER_MODULES = ['q_proj', 'k_proj', 'v_proj', 'o_proj', 'gate_proj', 'up_proj', 'down_proj'] as const;
export type AdapterModule = (typeof ADAPTER_MODULES)[number];

/** The environment variable that allows commands in configurations to run as scorers. */
export const ALLOW_COMMANDS = 'C3_ALLOW_COMMANDS';
