/** `c3 export --format tuples`: the messages that updates learned from, for training elsewhere. */

import { extname } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { IMPORTED } from '../../domain/episode.ts';
import { OutFile } from '../../files/outFile.ts';
import type { Tokenizer } from '../../policy/tokenizer.ts';
import { C3Error, CancelledError } from '../../shared/errors.ts';
import type { StoreReader } from '../../store/types.ts';
import type { Protocol } from '../../team/protocol.ts';
import { getRunSampling, type RunConfig } from '../../training/config/config.ts';
import { readLearnedTuples } from '../../training/learnedTuples.ts';
import { getMethod } from '../../training/methods/methods.ts';
import { findSnapshotAfter } from '../../training/state/restore.ts';
import { JsonLinesTuples } from './tupleLines.ts';
import { ParquetTuples } from './tupleParquet.ts';
import { TUPLE_COLUMNS, type TupleHeader, type TupleWriter } from './tupleSchema.ts';

/** Rows between two pauses in which a cancellation arrives. */
const PAUSE = 2048;

export interface TupleSource {
  readonly store: StoreReader;
  readonly run: string;
  readonly config: RunConfig;
  readonly protocol: Protocol;
  /** The tokenizer that the run used, and the SHA-256 of its files. */
  readonly tokenizer: Tokenizer;
  readonly tokenizerHash: string;
}

export interface TupleRequest {
  /** A file that ends in `.jsonl` or `.parquet`. */
  readonly out: string;
  /** The only step, or null for all. */
  readonly step: number | null;
  /** The parts of the header that the store does not have. */
  readonly about: Pick<TupleHeader, 'c3' | 'command'>;
  /** Called after each step. */
  readonly onStep: (done: number, total: number, tuples: number) => void;
  readonly signal: AbortSignal;
}

export interface TupleReport {
  readonly out: string;
  readonly tuples: number;
  readonly steps: number;
}

/** Returns the constructor of the form that the ending of a file names. @throws C3Error('input') */
function chooseForm(out: string): new (file: OutFile, header: TupleHeader) => TupleWriter {
  switch (extname(out).toLowerCase()) {
    case '.jsonl':
      return JsonLinesTuples;
    case '.parquet':
      return ParquetTuples;
    default:
      throw new C3Error('input', `${out} ends neither in .jsonl nor in .parquet; choose another --out.`);
  }
}

/**
 * Checks a request before anything is loaded.
 * @returns the steps to write
 * @throws C3Error('input')
 */
export function checkTuples(
  store: StoreReader,
  run: string,
  { out, step }: Pick<TupleRequest, 'out' | 'step'>,
): number[] {
  chooseForm(out);
  if (store.run(run).method === IMPORTED) {
    throw new C3Error(
      'input',
      `Run ${run} was recorded by another program and learned from no message; name a run of c3 run.`,
    );
  }
  const finished = store.steps(run, 0, store.countSteps(run)).filter(({ metrics }) => metrics !== null);
  const steps = finished.map(({ iteration }) => iteration);
  if (steps.length === 0) {
    throw makeEmptyError(run);
  }
  if (step !== null && !steps.includes(step)) {
    throw new C3Error('input', `Run ${run} has ${steps.length} finished steps; --step ${step} is not one of them.`);
  }
  return step === null ? steps : [step];
}

const makeEmptyError = (run: string, step: number | null = null): C3Error =>
  new C3Error(
    'input',
    step === null
      ? `Run ${run} learned from no message; train it first.`
      : `Step ${step} of run ${run} learned from no message; choose another --step.`,
  );

/**
 * Writes the messages that the updates of a run learned from, step by step, and the file's name last.
 * Memory holds one step, as in training.
 * @throws C3Error as checkTuples, OutFile and readLearnedTuples; CancelledError. No file is left then.
 */
export async function exportTuples(source: TupleSource, request: TupleRequest): Promise<TupleReport> {
  const { store, run, config, protocol, tokenizer } = source;
  const { out, step, about, onStep, signal } = request;
  const steps = checkTuples(store, run, request);
  const Form = chooseForm(out);
  using file = new OutFile(out);
  const writer = new Form(file, makeHeader(source, about));
  const method = getMethod(config.method);
  let tuples = 0;
  for (const [place, iteration] of steps.entries()) {
    const uids = new Map<string, string>();
    for (const tuple of await readLearnedTuples({ store, run, config, method, protocol, tokenizer }, iteration)) {
      const { problem } = tuple;
      const uid = uids.get(problem) ?? store.problem(problem).uid;
      uids.set(problem, uid);
      writer.write({ ...tuple, run, uid });
      if (++tuples % PAUSE === 0) {
        await pause(signal);
      }
    }
    await pause(signal);
    onStep(place + 1, steps.length, tuples);
  }
  if (tuples === 0) {
    throw makeEmptyError(run, step);
  }
  writer.finish();
  file.finish();
  return { out, tuples, steps: steps.length };
}

/** Lets signals arrive. @throws CancelledError */
async function pause(signal: AbortSignal): Promise<void> {
  await setImmediate();
  if (signal.aborted) {
    throw new CancelledError();
  }
}

function makeHeader(
  { store, run, config, tokenizerHash: tokenizer }: TupleSource,
  about: TupleRequest['about'],
): TupleHeader {
  const { method, seed } = store.run(run);
  return {
    schema: 'c3-tuples',
    version: 1,
    ...{ run, method, seed },
    estimator: getMethod(config.method).estimator(config),
    model: findSnapshotAfter(store, run, 0).id,
    tokenizer,
    sampling: getRunSampling(config),
    ...about,
    columns: Object.fromEntries(TUPLE_COLUMNS.map(({ name, words }) => [name, words])),
  };
}
