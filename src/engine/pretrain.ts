/**
 * `npm run pretrain -- [--task NAME] [--after STEP | --half] [folder] [work folder]`: makes the bundled team of a task
 * from scratch, or resumes with it. `--after` takes the weights and the tokenizer that lie in the folder as those after
 * so many steps, and does the others. `--half` makes a team of half the width in a folder that is named.
 */
import { readFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { examineProgram } from '../evaluate/examine.ts';
import { PythonGrader } from '../evaluate/python/grader.ts';
import { TEAM_SIZES, TEAM_TASKS } from '../shared/runNames.ts';
import { parseProtocol } from '../team/parseProtocol.ts';
import { pretrain } from '../training/pretrain/pretrain.ts';
import { halfRecipe, pretrainRecipe } from '../training/pretrain/pretrainRecipes.ts';
import { bundledProtocol, bundledTeam, SANDBOX_PLACES } from './places.ts';

const { values, positionals } = parseArgs({
  options: {
    task: { type: 'string', default: 'arithmetic' },
    after: { type: 'string', default: '0' },
    half: { type: 'boolean', default: false },
  },
  allowPositionals: true,
});
const task = TEAM_TASKS.find((name) => name === values.task);
if (task === undefined) {
  process.stderr.write(`--task knows ${TEAM_TASKS.join(', ')}, not ${JSON.stringify(values.task.slice(0, 40))}.\n`);
  process.exit(1);
}
const isHalf = values.half;
if (isHalf && (positionals[0] === undefined || values.after !== '0')) {
  process.stderr.write('--half makes a team of its own: name its folder, and leave out --after.\n');
  process.exit(1);
}
const { begins, ...recipe } = isHalf ? halfRecipe(task) : pretrainRecipe(task);
const steps = recipe.phases.reduce((sum, phase) => sum + phase.steps, 0);
const after = Number(values.after);
if (!Number.isInteger(after) || after < 0 || after >= steps) {
  process.stderr.write(`--after is a whole number of steps, from 0 to ${String(steps - 1)}.\n`);
  process.exit(1);
}
const ownWork = `.c3/pretrain${task === 'arithmetic' ? '' : `-${task}`}${isHalf ? '-half' : ''}`;
const [folder = bundledTeam(task), workFolder = after === 0 ? ownWork : `${ownWork}-after-${String(after)}`] =
  positionals;
// The largest team: its first roles are those of the smaller ones.
const protocolPath = bundledProtocol(task, Math.max(...TEAM_SIZES[task]));
const controller = new AbortController();
process.once('SIGINT', () => {
  controller.abort();
});

// Second turns are demonstrated with what the sandbox shows of a draft.
const isRevising = recipe.phases.some(({ revised = 0 }) => revised > 0);
const grader = new PythonGrader({ places: SANDBOX_PLACES, lanes: availableParallelism() });
try {
  await pretrain(
    {
      ...recipe,
      ...(begins !== undefined && { beginning: bundledTeam(begins) }),
      folder,
      workFolder,
      checkpointEvery: 50,
      device: { threads: 2 },
      examine: (instance, program, slice, signal) => examineProgram(grader, instance, program, slice, signal),
      after,
      signal: controller.signal,
      report: (line) => {
        process.stderr.write(`${line}\n`);
      },
    },
    parseProtocol(await readFile(protocolPath, 'utf8'), protocolPath, isRevising ? { turns: 2 } : {}),
  );
} finally {
  grader.close();
}
