/**
 * `npm run pretrain -- [--task NAME] [folder] [work folder]`: makes the bundled team of a task from scratch, or resumes
 * with it.
 */
import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { TASK_NAMES, TEAM_SIZES } from '../shared/runNames.ts';
import { parseProtocol } from '../team/parseProtocol.ts';
import { pretrain } from '../training/pretrain/pretrain.ts';
import { pretrainRecipe } from '../training/pretrain/pretrainRecipes.ts';
import { bundledProtocol, bundledTeam } from './places.ts';

const { values, positionals } = parseArgs({
  options: { task: { type: 'string', default: 'arithmetic' } },
  allowPositionals: true,
});
const task = TASK_NAMES.find((name) => name === values.task);
if (task === undefined) {
  process.stderr.write(`--task knows ${TASK_NAMES.join(', ')}, not ${JSON.stringify(values.task.slice(0, 40))}.\n`);
  process.exit(1);
}
const [folder = bundledTeam(task), workFolder = task === 'arithmetic' ? '.c3/pretrain' : `.c3/pretrain-${task}`] =
  positionals;
// The largest team: its first roles are those of the smaller ones.
const protocolPath = bundledProtocol(task, Math.max(...TEAM_SIZES[task]));
const controller = new AbortController();
process.once('SIGINT', () => {
  controller.abort();
});

await pretrain(
  {
    ...pretrainRecipe(task),
    folder,
    workFolder,
    checkpointEvery: 100,
    device: { threads: 2 },
    signal: controller.signal,
    report: (line) => {
      process.stderr.write(`${line}\n`);
    },
  },
  parseProtocol(await readFile(protocolPath, 'utf8'), protocolPath),
);
