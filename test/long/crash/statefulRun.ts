/**
 * A process that takes a run of a method with a state to its end: begins it, or resumes it where it was killed.
 * Arguments: the model's folder, the run's folder, `statistics`, `stages`, `teamtr`, `diagnosed`, `ccpo` or `voting`.
 */

import { join } from 'node:path';
import { answerEvaluator } from '../../../src/evaluate/evaluator.ts';
import { loadTokenizer } from '../../../src/policy/tokenizer.ts';
import { ModelHost } from '../../../src/runtime/host.ts';
import { openStoreForWriting } from '../../../src/store/write/writer.ts';
import { parseProtocol } from '../../../src/team/parseProtocol.ts';
import { renderPlain } from '../../../src/team/render.ts';
import { readConfig } from '../../../src/training/config/readConfig.ts';
import type { Method } from '../../../src/training/methods/method.ts';
import { resumeTraining, runTraining } from '../../../src/training/startRun.ts';
import { inStages } from '../../support/inStages.ts';
import { runningStatistics } from '../../support/runningStatistics.ts';
import { PAIR, sums } from '../../unit/training/tinyTeam.ts';

const CONFIG = `steps: 8
instances_per_step: 3
checkpoint_every: 3
snapshot_every: 2
sampling: {max_new_tokens: 6}
ppo: {learning_rate: 0.002}
evaluation: {instances: 4, batch: 2}
device: {threads: 1}
`;

/** The method of each kind; that of its configuration where there is none. */
const METHODS: Readonly<Record<string, Method>> = {
  statistics: runningStatistics,
  stages: inStages({ radius: 1e-4, passes: 2 }),
};
const OVERRIDES: Readonly<Record<string, readonly string[]>> = {
  teamtr: ['method=teamtr', 'adapter={per: role, rank: 2}', 'teamtr.delta=0.002', 'teamtr.order=random'],
  // The same with everything that is measured within its turns.
  diagnosed: [
    'method=teamtr',
    'adapter={per: role, rank: 2}',
    'teamtr.delta=0.002',
    'teamtr.order=random',
    'teamtr.diagnostics=true',
  ],
  ccpo: ['method=ccpo'],
  voting: ['method=ccpo', 'evaluator_budget=4'],
};
/** Three voters who are asked as the second role of the pair is. */
const VOTERS = parseProtocol(
  JSON.stringify({
    name: 'voters',
    roles: [1, 2, 3].map((number) => ({ role: `voter${number}`, prompt: 'Solve.' })),
    rounds: { turns: 1, closing: { name: 'vote', ties: 'expected' } },
  }),
  'voters.json',
);

const [team = '', folder = '', kind = ''] = process.argv.slice(2);
const store = openStoreForWriting(join(folder, 'c3.sqlite'));
const host = new ModelHost({ threads: 1 });
const {
  snapshot: base,
  config: { maxPositions },
} = await host.load(team);
const work = store.countRuns() === 0 ? runTraining : resumeTraining;
await work(
  'run-1',
  readConfig(CONFIG, 'stateful.c3.yaml', OVERRIDES[kind] ?? []),
  {
    store,
    runtime: host,
    base,
    tokenizer: await loadTokenizer(team),
    protocol: kind === 'voting' ? VOTERS : PAIR,
    render: renderPlain,
    maxPositions,
    evaluator: answerEvaluator,
    ...(METHODS[kind] !== undefined && { method: METHODS[kind] }),
    train: sums(10),
    evaluation: sums(4, 100),
    recipe: '{}',
    modelFolder: team,
    snapshotFolder: folder,
    clock: () => performance.now() / 1000,
    expected: { episode: 1, step: 1, known: false },
    now: () => '2026-01-01T00:00:00.000Z',
  },
  { signal: new AbortController().signal, onProgress: ({ message }) => process.stdout.write(`${message}\n`) },
);
store.close();
await host.close();
