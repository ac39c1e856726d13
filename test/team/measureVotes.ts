/**
 * What the vote of three untrained voters of the task logic is worth beside one of them alone, in both sizes, on the
 * same held-out questions with four samples each; printed as JSON with 95 % intervals over questions.
 * Usage: node test/team/measureVotes.ts [questions] [seed]
 */

import { mean } from '../../src/credit/describe.ts';
import { studentInterval } from '../../src/credit/interval.ts';
import { BUNDLED_MODEL, SMALL_MODEL } from '../../src/shared/runNames.ts';
import { finishedRun } from './finishedRun.ts';

const [questions = '1500', seed = '1'] = process.argv.slice(2);

/** The mean return of each question. */
function returnsOf(model: string, roles: number): ReadonlyMap<string, number> {
  const overrides = [
    `task={name: logic, roles: ${roles}}`,
    roles === 1 ? 'fanout=[8]' : 'method=ccpo',
    `model=${model}`,
    'steps=0',
    `evaluation={instances: ${questions}, samples: 4}`,
    'device.threads=1',
    `seed=${seed}`,
  ];
  return finishedRun(overrides, (store, { run }) => {
    const iteration = store.evaluations(run).find(({ kind }) => kind === 'sampled')?.iteration ?? NaN;
    const episodes = store.episodes({ run, phase: 'evaluate', iteration, offset: 0, limit: 1_000_000 });
    return new Map(
      [...Map.groupBy(episodes, ({ problem }) => problem)].map(([problem, own]) => [
        problem,
        mean(own.flatMap((episode) => episode.return ?? [])),
      ]),
    );
  });
}

for (const model of [BUNDLED_MODEL, SMALL_MODEL]) {
  const [one, team] = [returnsOf(model, 1), returnsOf(model, 3)];
  const differences = [...team].flatMap(([problem, value]) => value - (one.get(problem) ?? NaN));
  console.log(
    JSON.stringify({
      model,
      one: studentInterval([...one.values()]),
      team: studentInterval([...team.values()]),
      difference: studentInterval(differences),
    }),
  );
}
