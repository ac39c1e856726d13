/** Implements `c3 record`: runs a user's program and stores the model calls that it makes. */

import { spawn, type ChildProcess } from 'node:child_process';
import { basename, dirname, join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { IMPORTED, type LogImport, type Recorded } from '../../domain/episode.ts';
import type { RightAnswer } from '../../domain/problem.ts';
import { endOwned, spawnOwned } from '../../files/ownedProcess.ts';
import { maskValue } from '../../logs/secrets.ts';
import { onAbort } from '../../shared/cancellation.ts';
import { withoutKeys } from '../../shared/endpointKeys.ts';
import { C3Error } from '../../shared/errors.ts';
import { readAnthropicServer, readAzureServer, isServerAddress, readOpenAiServer } from '../../shared/modelServer.ts';
import type { ImportLogParams } from '../../shared/protocols/engineProtocol.ts';
import { TASK_NAMES } from '../../shared/runNames.ts';
import type { Rename } from '../../shared/speakerNames.ts';
import { toOneLine } from '../../shared/text/oneLine.ts';
import { Evaluators } from '../recipe/evaluators.ts';
import { KeptCalls } from './keptCalls.ts';
import { PassingServer, type PassingPlaces } from './passingServer.ts';
import { Recording, type RecordingPlace } from './recording.ts';
import { toStoreFailure, GIVE_UP, delayAbort } from './storeQueue.ts';

/** Most lines of a program's output that are shown, and most characters of a line. */
const MOST_LINES = 2000;
const MOST_LINE = 1000;
/** Milliseconds that a program and its child processes have to end by themselves when they are stopped. */
const PATIENCE = 5000;
/** Milliseconds to read the last output after the end, as child processes may keep streams open. */
const DRAIN = 1000;

/**
 * Returns the address of the server that answers the program's calls.
 * @param named null for the server that the environment names, or the default server
 * @throws C3Error('input') if it is not an address
 */
export function findUpstream(named: string | null, env: Readonly<NodeJS.ProcessEnv> = process.env): string {
  const upstream = named ?? readOpenAiServer(env).address;
  if (!isServerAddress(upstream)) {
    const such = readOpenAiServer({}).address;
    const where = named === null ? 'OPENAI_BASE_URL' : "The server's address";
    throw new C3Error('input', `${where} must be an address such as ${such}; give another one.`);
  }
  return upstream;
}

/** The parts of the engine that `record` needs. */
export interface RecordPlace extends RecordingPlace {
  readonly importLog: (params: ImportLogParams, signal: AbortSignal) => Promise<LogImport>;
}

/** Streams for a program that does not use the streams of this process. */
export interface ProgramStreams {
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly stderr: Writable;
}

export interface RecordSettings {
  /** The program and its arguments. */
  readonly command: readonly [string, ...string[]];
  readonly folder: string;
  readonly maskSecrets: boolean;
  /** New names for speakers. */
  readonly renames?: readonly Rename[];
  /** Right answer, which scores the episodes that the program does not score; null if unknown. */
  readonly right: RightAnswer | null;
  /** Base address of the server that answers. */
  readonly upstream: string;
  /** Name of a model that is served here, and the key that the program gets; null if no model is served. */
  readonly served: { readonly model: string; readonly key: string } | null;
  /** True to send the program's output to standard error, and keep standard output for one document. */
  readonly quiet: boolean;
  /** Base of the program's environment; by default the environment of this process. */
  readonly env?: Readonly<NodeJS.ProcessEnv>;
  /** The program's streams; by default the streams of this process. */
  readonly streams?: ProgramStreams;
  /** Receives the program's output line by line instead of our output. The program then gets no input. */
  readonly onLine?: (line: string) => void;
  /** Called with the number of stored messages. */
  readonly onMessage?: (count: number) => void;
}

/**
 * Runs a program to its end and stores the messages of its agents while it runs.
 * @throws C3Error('input') if it cannot be started; C3Error('store')
 */
export async function record(place: RecordPlace, settings: RecordSettings, signal: AbortSignal): Promise<Recorded> {
  const { command, folder, maskSecrets, renames = [], right, upstream, served, onMessage } = settings;
  const about = {
    program: describeProgram(command),
    folder,
    maskSecrets,
    renames,
    right: right === null ? null : { answer: right.answer, score: createRightAnswerScorer(right, folder) },
    ...(onMessage !== undefined && { onMessage }),
  };
  const recording = new Recording(place, about);
  const spans = new Spans(recording, place, maskSecrets);
  const env = settings.env ?? process.env;
  const servers = {
    upstream,
    model: served?.model ?? null,
    anthropic: readAnthropicServer(env),
    azure: readAzureServer(env),
  };
  const server = new PassingServer(recording, servers, (batch) => spans.add(batch));
  const places = await server.listen();
  let ended: Recorded['ended'];
  try {
    ended = await runRecordedProgram(settings, places, signal);
  } finally {
    await server.close();
  }
  const report = await spans.close(place, { maskSecrets, renames }, signal);
  return { report, ended, fault: recording.isEmpty ? null : recording.renameFault };
}

/** Returns a function that scores a text by the right answer. */
function createRightAnswerScorer(
  { answer, evaluator }: RightAnswer,
  folder: string,
): (question: string, text: string) => Promise<number | null> {
  const task = { name: TASK_NAMES[0], train_file: '' };
  return async (question, text) => {
    using evaluators = new Evaluators();
    using by = evaluators.take({ config: { evaluator, scorer: null, task }, folder });
    const problem = { uid: IMPORTED, uidSha: '', question, answer, source: IMPORTED, level: null };
    return (await by.evaluator.evaluate(problem, text)).score;
  };
}

/** Returns program and script without other arguments, which may hold secrets: `node team.mjs`. */
function describeProgram([program, ...args]: readonly [string, ...string[]]): string {
  const script = args.find((argument) => /^[^-=\s]{1,200}\.\w{1,5}$/u.test(argument));
  return [program, ...(script === undefined ? [] : [script])].map((part) => basename(part)).join(' ');
}

/**
 * Runs the program to its end, and ends its child processes.
 * @throws C3Error('input') if it cannot be started
 */
async function runRecordedProgram(
  { command: [program, ...args], folder, served, quiet, env = process.env, streams, onLine }: RecordSettings,
  { api, anthropic, azure, traces, score }: PassingPlaces,
  signal: AbortSignal,
): Promise<Recorded['ended']> {
  const ended = Promise.withResolvers<Recorded['ended']>();
  const recorded = {
    ...withoutKeys(env),
    OPENAI_BASE_URL: api,
    OPENAI_API_BASE: api,
    ...(anthropic !== null && { ANTHROPIC_BASE_URL: anthropic }),
    ...(azure !== null && { AZURE_OPENAI_ENDPOINT: azure }),
    ...(served !== null && { OPENAI_API_KEY: served.key }),
    OTEL_EXPORTER_OTLP_ENDPOINT: traces,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${traces}/v1/traces`,
    OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/json',
    C3_RECORD_SCORE: score,
  };
  const child = spawnOwned(recorded, (own) =>
    spawn(program, args, {
      ...own,
      cwd: folder,
      stdio: onLine === undefined && streams === undefined ? ['inherit', quiet ? 2 : 'inherit', 'inherit'] : 'pipe',
    }),
  );
  child.on('error', (error) => {
    const advice = 'give a program and its arguments after --';
    ended.reject(new C3Error('input', `${program} cannot be started (${error.message}); ${advice}.`, { cause: error }));
  });
  child.once('exit', (code, name) => ended.resolve(code ?? name ?? 'an unknown signal'));
  const closed = Promise.withResolvers<null>();
  child.once('close', () => closed.resolve(null));
  const disconnect = streams === undefined ? () => undefined : connectStreams(child, streams, quiet);
  if (onLine !== undefined) {
    child.stdin?.on('error', () => undefined).end();
    for (const stream of [child.stdout, child.stderr]) {
      forwardLines(stream, onLine);
    }
  }
  let ending: Promise<void> | undefined;
  const release = onAbort(signal, () => {
    ending = endOwned(child, PATIENCE);
  });
  try {
    const how = await ended.promise;
    // Pass its last output on before its end is reported. Child processes may keep its streams open
    // forever.
    await waitAtMost(closed.promise, DRAIN);
    return how;
  } finally {
    release();
    await (ending ?? endOwned(child, PATIENCE));
    disconnect();
    for (const stream of child.stdio) {
      stream?.destroy();
    }
  }
}

/** Waits for a promise, but at most a number of milliseconds. */
async function waitAtMost(promise: Promise<unknown>, milliseconds: number): Promise<void> {
  const late = Promise.withResolvers<null>();
  const timer = setTimeout(() => late.resolve(null), milliseconds);
  try {
    await Promise.race([promise, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Connects a program to its streams. @returns a function that disconnects its input */
function connectStreams(child: ChildProcess, { stdin, stdout, stderr }: ProgramStreams, quiet: boolean): () => void {
  const input = child.stdin;
  child.stdout?.pipe(quiet ? stderr : stdout, { end: false });
  child.stderr?.pipe(stderr, { end: false });
  if (input === null) {
    return () => undefined;
  }
  // A program may close its input without reading it.
  input.on('error', () => undefined);
  stdin.pipe(input);
  return () => stdin.unpipe(input);
}

/** Forwards the lines of a program's output, limited in number and length. */
function forwardLines(stream: Readable | null, onLine: (line: string) => void): void {
  let [left, line] = [MOST_LINES, ''];
  const give = (): void => {
    if (left-- > 0) {
      onLine(toOneLine(line.replace(/\r$/u, ''), MOST_LINE));
    }
    line = '';
  };
  stream
    ?.setEncoding('utf8')
    .on('error', () => undefined)
    .on('data', (text: string) => {
      if (left <= 0) {
        return;
      }
      const [first = '', ...others] = text.split('\n');
      line += first.slice(0, 2 * MOST_LINE - line.length);
      for (const other of others) {
        give();
        line = other.slice(0, 2 * MOST_LINE);
      }
    })
    .once('end', () => {
      if (line !== '') {
        give();
      }
    });
}

/**
 * The spans that the program sent. They are stored only if none of its calls passed by. Until the
 * end they are in a file next to the store, which remains if this process is killed.
 */
class Spans {
  private readonly recording: Recording;
  private readonly maskSecrets: boolean;
  private readonly kept: KeptCalls;
  private masked = 0;

  constructor(recording: Recording, { storePath }: Pick<RecordPlace, 'storePath'>, maskSecrets: boolean) {
    this.recording = recording;
    this.maskSecrets = maskSecrets;
    const name = `${recording.run.replace('recorded', 'recording')}.spans.jsonl`;
    this.kept = new KeptCalls(join(dirname(storePath), name));
  }

  /** Writes a batch to the file, or counts it as left out, before it returns. */
  add(batch: object): void {
    const { value, count } = this.maskSecrets ? maskValue(batch) : { value: batch, count: 0 };
    if (this.kept.add(JSON.stringify(value))) {
      this.masked += count;
    } else {
      this.recording.leaveOut('batches of spans that could not be written beside the store');
    }
  }

  /** Ends the recording. @throws C3Error if not everything is stored; the rest is then in a file */
  async close(
    place: RecordPlace,
    as: Pick<ImportLogParams, 'maskSecrets' | 'renames'>,
    signal: AbortSignal,
  ): Promise<LogImport> {
    const { recording, kept } = this;
    kept.close();
    if (!recording.isEmpty) {
      recording.leaveOut('batches of spans: the calls themselves were recorded', kept.count);
      kept.clear();
    }
    const report = await recording.close(signal);
    if (kept.count === 0) {
      return report;
    }
    // The spans of a cancelled program are stored, too.
    const [late, release] = delayAbort(signal, GIVE_UP);
    try {
      const found = await place.importLog({ path: kept.path, ...as }, late);
      kept.clear();
      return {
        ...found,
        leftOut: { ...report.leftOut, ...found.leftOut },
        masked: found.masked === null ? null : found.masked + this.masked,
      };
    } catch (error) {
      throw kept.failure(toStoreFailure(error), 'line');
    } finally {
      release();
    }
  }
}
