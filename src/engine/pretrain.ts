/** `npm run pretrain`: makes the bundled team from scratch. Arguments: [folder] [work folder]. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pretrain } from '../training/pretrain.ts';
import { parseProtocol } from '../team/parseProtocol.ts';

const [folder = 'media/team', workFolder = '.c3/pretrain'] = process.argv.slice(2);
const protocolPath = join('media/team', 'protocol.json');
let interrupted = false;
process.once('SIGINT', () => (interrupted = true));

await pretrain(
  {
    folder,
    workFolder,
    task: 'arithmetic',
    seed: 1,
    phases: [
      // First careful work on large numbers, then demonstrations of mixed care at the level that the team is trained on.
      { steps: 1200, levels: [0, 0, 0, 0, 1, 1, 1, 1], hasty: { short: 0, long: 0 }, peak: 2.5e-3, warmupFraction: 0.03, floorFraction: 0.1 },
      { steps: 100, levels: [1, 1, 1, 1], hasty: { short: 0.4, long: 0.7 }, peak: 5e-4, warmupFraction: 0, floorFraction: 0.5 },
    ],
    problemsPerStep: 32,
    checkpointEvery: 100,
    vocabularySize: 1024,
    architecture: {
      hiddenSize: 192,
      intermediateSize: 512,
      layers: 4,
      heads: 6,
      keyValueHeads: 3,
      headDim: 32,
      rmsEpsilon: 1e-6,
      ropeTheta: 10000,
      maxPositions: 2048,
      tieEmbeddings: true,
    },
    device: { threads: 2 },
    cancelled: () => interrupted,
    report: (line) => {
      process.stderr.write(`${line}\n`);
    },
  },
  parseProtocol(await readFile(protocolPath, 'utf8'), protocolPath),
);
