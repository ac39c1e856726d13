/**
 * `npm run pretrain -- [--task NAME] [--after STEP | --small] [--threads N] [folder] [work folder]`:
 * trains the bundled team of a task from scratch, or resumes its training. With `--after`, the weights
 * and the tokenizer in the folder count as the result of the first STEP steps, and only the later
 * steps are done. `--small` trains the smaller team.
 */

import { readFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { examineProgram } from '../evaluate/examine.ts';
import { PythonGrader } from '../evaluate/python/grader.ts';
import { hasSmallTeam, TEAM_SIZES, TEAM_TASKS } from '../shared/runNames.ts';
import { parseProtocol } from '../team/parseProtocol.ts';
import { pretrain } from '../training/pretrain/pretrain.ts';
import { getPretrainRecipe, makeSmallRecipe } from '../training/pretrain/pretrainRecipes.ts';
import { findBundledProtocol, findBundledTeam, SANDBOX_PLACES, findSmallTeam } from './places.ts';

const { values, positionals } = parseArgs({
  options: {
    task: { type: 'string', default: 'arithmetic' },
    after: { type: 'string', default: '0' },
    small: { type: 'boolean', default: false },
    threads: { type: 'string', default: '2' },
  },
  allowPositionals: true,
});
const task = TEAM_TASKS.find((name) => name === values.task);
if (task === undefined) {
  process.stderr.write(`--task knows ${TEAM_TASKS.join(', ')}, not ${JSON.stringify(values.task.slice(0, 40))}.\n`);
  process.exit(1);
}
const isSmall = values.small;
if (isSmall && ((positionals[0] === undefined && !hasSmallTeam(task)) || values.after !== '0')) {
  process.stderr.write(
    '--small makes a team of its own: leave out --after, and name its folder where none comes with the task.\n',
  );
  process.exit(1);
}
const { begins, ...recipe } = isSmall ? makeSmallRecipe(task) : getPretrainRecipe(task);
const steps = recipe.phases.reduce((sum, phase) => sum + phase.steps, 0);
const after = Number(values.after);
if (!Number.isInteger(after) || after < 0 || after >= steps) {
  process.stderr.write(`--after is a whole number of steps, from 0 to ${steps - 1}.\n`);
  process.exit(1);
}
const threads = Number(values.threads);
if (!Number.isInteger(threads) || threads < 1) {
  process.stderr.write('--threads is a whole number from 1 up.\n');
  process.exit(1);
}
const ownWork = `.c3/pretrain${task === 'arithmetic' ? '' : `-${task}`}${isSmall ? '-small' : ''}`;
const [
  folder = isSmall ? findSmallTeam(task) : findBundledTeam(task),
  workFolder = after === 0 ? ownWork : `${ownWork}-after-${after}`,
] = positionals;
// The protocol of the largest team: its first roles are those of the smaller teams.
const protocolPath = findBundledProtocol(task, Math.max(...TEAM_SIZES[task]));
const controller = new AbortController();
process.once('SIGINT', () => controller.abort());

// Demonstrations of second turns contain the sandbox's output for a draft.
const isRevising = recipe.phases.some(({ revised = 0 }) => revised > 0);
const grader = new PythonGrader({ places: SANDBOX_PLACES, lanes: availableParallelism() });
try {
  await pretrain(
    {
      ...recipe,
      ...(begins !== undefined && { beginning: findBundledTeam(begins) }),
      folder,
      workFolder,
      checkpointEvery: 50,
      device: { threads },
      examine: (problem, program, slice, signal) => examineProgram(grader, problem, program, slice, signal),
      after,
      signal: controller.signal,
      report: (line) => process.stderr.write(`${line}\n`),
    },
    parseProtocol(await readFile(protocolPath, 'utf8'), protocolPath, isRevising ? { turns: 2 } : {}),
  );
} finally {
  grader.close();
}
