/**
 * `npm run pretrain -- [--task NAME] [folder] [work folder]`: makes the bundled team of a task from scratch, or resumes
 * with it.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { TASK_NAMES } from '../tasks/split.ts';
import { parseProtocol } from '../team/parseProtocol.ts';
import { pretrain } from '../training/pretrain/pretrain.ts';
import { pretrainRecipe } from '../training/pretrain/pretrainRecipes.ts';
import { bundledTeam } from './places.ts';

const { values, positionals } = parseArgs({
  options: { task: { type: 'string', default: 'arithmetic' } },
  allowPositionals: true,
});
const task = TASK_NAMES.find((name) => name === values.task);
if (task === undefined) {
  process.stderr.write(`--task knows ${TASK_NAMES.join(' and ')}, not ${JSON.stringify(values.task.slice(0, 40))}.\n`);
  process.exit(1);
}
const [folder = bundledTeam(task), workFolder = task === 'arithmetic' ? '.c3/pretrain' : `.c3/pretrain-${task}`] =
  positionals;
const protocolPath = join(bundledTeam(task), 'protocol.json');
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
