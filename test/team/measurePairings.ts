/**
 * What each voter contributes to teams of voters of two sizes: the bundled voter of the task logic (L), and the smaller
 * one (S). One step of `ccpo` with raw contributions for each pairing, with the teams as they come; printed as JSON
 * with 95 % intervals over questions.
 * Usage: node test/team/measurePairings.ts [questions] [seed]
 */

import { mean } from '../../src/credit/describe.ts';
import { studentInterval } from '../../src/credit/interval.ts';
import { readBallot } from '../../src/environment/voting.ts';
import { BUNDLED_MODEL, SMALL_MODEL } from '../../src/shared/runNames.ts';
import { finishedRun } from './finishedRun.ts';

const [questions = '128', seed = '1'] = process.argv.slice(2);
const ROLES = ['voter1', 'voter2', 'voter3'] as const;
/** The first voter is the run's own model. */
const PAIRINGS = [
  ['L', 'L', 'L'],
  ['L', 'L', 'S'],
  ['L', 'S', 'S'],
  ['S', 'S', 'S'],
] as const;

for (const sizes of PAIRINGS) {
  const modelOf = (size: string | undefined): string => (size === 'S' ? SMALL_MODEL : BUNDLED_MODEL);
  const others = ROLES.flatMap((role, voter) =>
    sizes[voter] === sizes[0] ? [] : [`${role}: {model: ${modelOf(sizes[voter])}}`],
  );
  const overrides = [
    'method=ccpo',
    'task={name: logic, roles: 3}',
    `model=${modelOf(sizes[0])}`,
    ...(others.length === 0 ? [] : [`policies={${others.join(', ')}}`]),
    'steps=1',
    `instances_per_step=${questions}`,
    'evaluation={instances: 0}',
    'ccpo={shaping: none, normalise: none}',
    'device.threads=1',
    `seed=${seed}`,
  ];
  const pairing = finishedRun(overrides, (store, { run }) => {
    const episodes = store.episodes({ run, phase: 'train', iteration: 1, offset: 0, limit: 100_000 });
    const read = episodes.map((episode) => ({ ...episode, chain: store.chain(episode.leaf) }));
    const overQuestions = (valueOf: (one: (typeof read)[number]) => number) =>
      studentInterval([...Map.groupBy(read, ({ problem }) => problem).values()].map((own) => mean(own.map(valueOf))));
    const voters = ROLES.map((role, voter) => ({
      role,
      size: sizes[voter],
      right: overQuestions(({ chain, answer }) => (readBallot(chain[voter]?.text ?? '')?.answer === answer ? 1 : 0)),
      contribution: overQuestions(({ chain }) => chain[voter]?.trainingCredit?.value ?? 0),
    }));
    return { pairing: sizes.join(''), team: overQuestions((one) => one.return ?? 0), voters };
  });
  console.log(JSON.stringify(pairing));
}
