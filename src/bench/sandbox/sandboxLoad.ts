/**
 * `c3 bench sandbox`: grades honest and hostile Python programs in one run and compares each score
 * with the one that the program deserves. Bait lies outside the sandbox, and every trace of an
 * escaped program on it is counted.
 */

import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { SANDBOX_PLACES } from '../../engine/places.ts';
import { PythonGrader } from '../../evaluate/python/grader.ts';
import type { PythonVerdict } from '../../evaluate/python/rules.ts';
import { createTemporaryFolder } from '../../files/temporaryFolder.ts';
import { C3Error, CancelledError } from '../../shared/errors.ts';
import { makeFigure, describeHardware, takeMedian, type BenchOptions, type BenchReport } from '../report.ts';
import type { Bait } from './hostile.ts';
import { makeLoadPrograms, type LoadProgram } from './programs.ts';

const PROGRAMS = 1000;
const QUICK_PROGRAMS = 100;
/** Number of cores that the goal assumes. */
const CORES = 2;
/** Programs that run at a time. One more than the cores keeps all cores busy during starts. */
const LANES = CORES + 1;
/** Limit of processor time of each program, in seconds. */
const SECONDS = 1;
/** Programs per second. */
const GOAL = 15;
const NOTE_EVERY = 250;
const VARIABLE = 'C3_BENCH_SECRET';

/** One program with its verdict. */
export interface Graded {
  readonly program: LoadProgram;
  readonly verdict: Pick<PythonVerdict, 'score' | 'rule' | 'detail'>;
  readonly seconds: number;
}

/** Traces of programs outside the sandbox. */
export interface Traces {
  readonly connections: number;
  /** Files in the bait folder that were made, changed or removed. */
  readonly files: number;
}

/**
 * Grades all programs, LANES at a time.
 * @throws C3Error('engine') if no sandbox starts; CancelledError
 */
export async function benchSandbox(
  { quick, signal, note }: BenchOptions,
  count = quick ? QUICK_PROGRAMS : PROGRAMS,
): Promise<BenchReport> {
  const before = process.env[VARIABLE];
  const folder = createTemporaryFolder('bench-sandbox');
  const secret = `secret of ${folder}`;
  const reached: string[] = [];
  const server = createServer((socket) => {
    reached.push('');
    socket.on('error', () => undefined);
    socket.end(secret);
  });
  const grader = new PythonGrader({ places: SANDBOX_PLACES, lanes: LANES, limits: { seconds: SECONDS } });
  try {
    const bait: Bait = { folder, file: join(folder, 'secret.txt'), secret, port: await listenOnLoopback(server) };
    await writeFile(bait.file, secret);
    process.env[VARIABLE] = secret;
    const programs = makeLoadPrograms(count, bait);
    const started = performance.now();
    const idle = process.cpuUsage();
    const graded = await gradeAll(grader, programs, signal, note);
    const { user, system } = process.cpuUsage(idle);
    const seconds = {
      clock: (performance.now() - started) / 1000,
      processor: grader.processorSeconds === 0 ? null : grader.processorSeconds + (user + system) / 1e6,
    };
    if (grader.lost) {
      throw new C3Error('engine', 'No sandbox starts on this machine: c3 grade --kind python says why.');
    }
    const files = await countChangedBaitFiles(bait);
    for (const line of describeWrongScores(graded)) {
      note(line);
    }
    return makeLoadReport(graded, { connections: reached.length, files }, seconds);
  } finally {
    grader.close();
    server.close();
    if (before === undefined) {
      Reflect.deleteProperty(process.env, VARIABLE);
    } else {
      process.env[VARIABLE] = before;
    }
    await rm(folder, { recursive: true, force: true });
  }
}

/** Seconds that all programs took together. */
export interface LoadSeconds {
  /** Wall time. */
  readonly clock: number;
  /**
   * Processor time of all sandboxes, including their starts, and of this process. Null if the
   * system does not report it.
   */
  readonly processor: number | null;
}

/** Returns the report on the graded programs. */
export function makeLoadReport(
  graded: readonly Graded[],
  traces: Traces,
  { clock, processor }: LoadSeconds,
): BenchReport {
  const hostile = graded.filter(({ program }) => program.kind !== 'right' && program.kind !== 'wrong');
  const honest = graded.filter((one) => !hostile.includes(one));
  const milliseconds = (ones: readonly Graded[]): number | null => {
    const median = takeMedian(ones.map((one) => one.seconds));
    return median === null ? null : median * 1000;
  };
  const perSecond = graded.length / clock;
  return {
    suite: 'sandbox',
    figures: [
      makeFigure('programs graded, honest and hostile', graded.length, ''),
      makeFigure('of them hostile', hostile.length, ''),
      makeFigure('programs', perSecond, 'programs/s'),
      makeFigure(
        'programs, by processor time on free cores',
        processor && (graded.length * CORES) / processor,
        'programs/s',
      ),
      makeFigure('goal', GOAL, 'programs/s'),
      makeFigure('scored wrongly', describeWrongScores(graded).length, ''),
      makeFigure('escaped', countEscapes(hostile, traces), ''),
      makeFigure('processor time', processor, 's'),
      makeFigure('one honest program, median', milliseconds(honest), 'ms'),
      makeFigure('one hostile program, median', milliseconds(hostile), 'ms'),
      makeFigure(`stopped at ${SECONDS} s of processor time`, countStopped(graded), ''),
    ],
    hardware: describeHardware(`Node ${process.versions.node}`, `${LANES} programs at a time`),
  };
}

/** Counts the traces outside the sandbox and the programs that obtained the secret. */
const countEscapes = (hostile: readonly Graded[], { connections, files }: Traces): number =>
  connections + files + hostile.filter(({ verdict }) => verdict.score === 1).length;

const countStopped = (graded: readonly Graded[]): number =>
  graded.filter(({ verdict }) => verdict.rule === 'time-limit').length;

/** Returns a line for each program with another score than it deserves, or without a score. */
const describeWrongScores = (graded: readonly Graded[]): string[] =>
  graded
    .filter(({ program, verdict }) => verdict.score !== program.deserves)
    .map(
      ({ program, verdict }) =>
        `${program.kind} scored ${String(verdict.score)} (${verdict.rule}: ${verdict.detail.slice(0, 120)})\n${program.code}`,
    );

/** @throws CancelledError */
async function gradeAll(
  grader: PythonGrader,
  programs: readonly LoadProgram[],
  signal: AbortSignal,
  note: (line: string) => void,
): Promise<readonly Graded[]> {
  const graded: Graded[] = [];
  const rest = programs.values();
  // The bench has its own lanes, so that a program's seconds include no wait for a free lane.
  const lane = async (): Promise<void> => {
    for (const program of rest) {
      if (signal.aborted) {
        throw new CancelledError();
      }
      const started = performance.now();
      const verdict = await grader.grade(program.code, program.tests, null, signal);
      graded.push({ program, verdict, seconds: (performance.now() - started) / 1000 });
      if (graded.length % NOTE_EVERY === 0) {
        note(`${graded.length} of ${programs.length} programs graded`);
      }
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  return graded;
}

/** Starts a server on this machine. @returns its port @throws C3Error('engine') */
async function listenOnLoopback(server: Server): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  if (typeof address !== 'object' || address === null) {
    throw new C3Error('engine', 'No port of this machine could be opened for the bait of c3 bench sandbox.');
  }
  return address.port;
}

async function countChangedBaitFiles({ folder, file, secret }: Bait): Promise<number> {
  const names = await readdir(folder);
  const kept = await readFile(file, 'utf8').catch(() => null);
  return names.filter((name) => join(folder, name) !== file).length + (kept === secret ? 0 : 1);
}
