/**
 * `c3 bench iteration`: whole training iterations with rollout, evaluation, credit, reference and
 * update, compared with TRL and a plain PyTorch loop that do the same work with the same prompts,
 * completions and loss. All of them take turns.
 */

import {
  makeFigure,
  describeHardware,
  takeMedian,
  type BenchFigure,
  type BenchOptions,
  type BenchReport,
} from '../report.ts';
import { pickReportedFailure, type PeerFailure } from '../speed/peer.ts';
import { makePromptTokens, SHAPE } from '../speed/shape.ts';
import { measureMedianSeconds } from '../turns.ts';
import { PEERS, SteppedPeer, type IterationPeer, type IterationTask, type SteppedSettings } from './steppedPeer.ts';
import { SteppedRun } from './steppedRun.ts';

const FULL = { prompts: 32, rounds: 3 };
const QUICK = { prompts: 8, rounds: 2 };
/** One thread: other load slows down programs whose threads spin at barriers most. */
const THREADS = 1;
const GROUP = 8;
const PROMPT = 64;
const NEW = 64;
/** Sequences of one micro-batch of the peers. */
const PEER_ROWS = 32;
const NAMES: Readonly<Record<IterationPeer, string>> = { pytorch: 'plain PyTorch', trl: 'TRL' };

/** @throws CancelledError; C3Error */
export async function benchWholeIteration(options: BenchOptions, settings?: SteppedSettings): Promise<BenchReport> {
  const { prompts, rounds } = options.quick ? QUICK : FULL;
  const task: IterationTask = {
    shape: SHAPE,
    threads: THREADS,
    prompts: Array.from({ length: prompts }, (_, row) => [...makePromptTokens(SHAPE, row, PROMPT)]),
    group: GROUP,
    new: NEW,
    rows: Math.min(PEER_ROWS, prompts * GROUP),
    learningRate: 1e-4,
    klCoefficient: 0.01,
  };
  return measureIterations(task, rounds, options, settings);
}

/** Measures iterations of any task. */
export async function measureIterations(
  task: IterationTask,
  rounds: number,
  options: BenchOptions,
  settings?: SteppedSettings,
): Promise<BenchReport> {
  const run = await SteppedRun.begin(task, options.signal);
  const peers: { readonly which: IterationPeer; readonly peer: SteppedPeer }[] = [];
  try {
    const failures: PeerFailure[] = [];
    for (const which of PEERS) {
      const outcome = await SteppedPeer.start(which, task, options, settings);
      if (outcome.status === 'ready') {
        peers.push({ which, peer: outcome.peer });
      } else {
        failures.push({ ...outcome, reason: `${NAMES[which]}: ${outcome.reason}` });
      }
    }
    const processor = new Map<string, number[]>();
    const taken = (side: string, seconds: number): void => {
      processor.set(side, [...(processor.get(side) ?? []), seconds]);
    };
    const own = async (): Promise<void> => {
      const before = process.cpuUsage();
      await run.step();
      const { user, system } = process.cpuUsage(before);
      taken('own', (user + system) / 1e6);
    };
    const sides = peers.map(
      ({ which, peer }) =>
        [
          which,
          async () => {
            taken(which, await peer.step());
          },
        ] as const,
    );
    const seconds = await measureMedianSeconds<string>({ own, ...Object.fromEntries(sides) }, rounds, options);
    // The first turn does not count.
    const ofProcessor = [...processor].map(([side, all]) => [side, takeMedian(all.slice(1)) ?? Number.NaN] as const);
    options.note('iterations measured');
    return {
      suite: 'iteration',
      figures: [
        ...makeIterationFigures(task, seconds, ''),
        // More reliable than wall time on a machine with other load.
        ...makeIterationFigures(task, Object.fromEntries(ofProcessor), ', processor time'),
      ],
      hardware: describeHardware('CPU provider', `${task.threads} ${task.threads === 1 ? 'thread' : 'threads'}`),
      peer: peers.length === 0 ? null : peers.map(({ peer }) => peer.name).join(', '),
      peerStatus: peers.length > 0 ? 'measured' : failures.reduce(pickReportedFailure).status,
      peerReason: failures.length === 0 ? null : failures.map(({ reason }) => reason).join('; '),
    };
  } finally {
    await Promise.all(peers.map(({ peer }) => peer.end()));
    await run.end();
  }
}

function makeIterationFigures(
  { prompts, group, new: newTokens }: IterationTask,
  seconds: Readonly<Record<string, number>>,
  what: string,
): BenchFigure[] {
  const own = seconds['own'] ?? Number.NaN;
  const size = `${prompts.length} x ${group} completions of ${prompts[0]?.length ?? 0} + ${newTokens} tokens`;
  return [
    makeFigure(`iteration of ${size}${what}`, own, 's'),
    ...PEERS.map((which) => {
      const peer = seconds[which];
      return makeFigure(
        `the same beside ${NAMES[which]}${what}`,
        own,
        's',
        peer === undefined ? {} : { peer, peerRatio: peer / own },
      );
    }),
  ];
}
