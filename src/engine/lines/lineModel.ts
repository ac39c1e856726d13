/** A loaded model folder for commands that answer lines of JSON, and the reading of these lines. */

import { setImmediate } from 'node:timers/promises';
import type { z } from 'zod';
import { TextProcess } from '../../policy/textProcess.ts';
import type { Tokenizer } from '../../policy/tokenizer.ts';
import type { ModelInfo, ModelRuntime } from '../../runtime/modelRuntime.ts';
import { resolveDevice } from '../../runtime/provider/device.ts';
import { startRuntime } from '../../runtime/remote.ts';
import { NEVER } from '../../shared/cancellation.ts';
import { DEFAULT_PROVIDER } from '../../shared/devices.ts';
import { C3Error, toErrorMessage } from '../../shared/errors.ts';
import { Holds, type Held } from '../../shared/holds.ts';
import { LineSplitter, type LineBounds } from '../../tasks/files/lines.ts';
import { probeProvider } from '../machine/probing.ts';
import { checkTokenizer, type LoadControl } from '../models/models.ts';
import { TEXT_PLACES, WORKER_ENTRY } from '../places.ts';

export interface LineModel {
  readonly folder: string;
  readonly runtime: ModelRuntime;
  readonly texts: TextProcess;
  readonly tokenizer: Tokenizer;
  readonly info: ModelInfo;
  /** The model's own snapshot, or the one that results from its adapters. */
  readonly snapshot: string;
}

/** The default number of threads of a run. */
const THREADS = 2;
/** Maximum lines that are answered together. */
const MAX_LINES_TOGETHER = 64;

const formatLinePlace = (line: number): string => `standard input, line ${line}`;
/** A line is one request, so its length limits the returns, ids or characters of a request. */
const INPUT_BOUNDS: LineBounds = {
  line: 2 ** 25,
  lines: Infinity,
  bytes: Infinity,
  marks: 'first',
  advice: 'write one request on each line',
  placeOf: formatLinePlace,
};

/**
 * Loads a model, which is released when it is disposed.
 * @param adapter a folder with adapters in the layout of PEFT; null for the model alone
 * @throws C3Error('model') if a folder cannot be used; CancelledError
 */
export async function takeLineModel(
  folder: string,
  adapter: string | null,
  { onProgress, signal = NEVER }: LoadControl = {},
): Promise<Held<LineModel>> {
  await using holds = new Holds();
  const texts = new TextProcess(TEXT_PLACES, folder);
  holds.add({ [Symbol.dispose]: () => texts.close() });
  const tokenizer = await texts.tokenizer(signal);
  const { settings } = await resolveDevice(DEFAULT_PROVIDER, THREADS, probeProvider);
  const runtime = await startRuntime(WORKER_ENTRY, settings);
  holds.add({ [Symbol.asyncDispose]: () => runtime.close() });
  const info = await runtime.load(folder, onProgress, signal);
  checkTokenizer(folder, tokenizer, info);
  const snapshot = adapter === null ? info.snapshot : await runtime.loadAdapter(adapter, info.snapshot);
  const held = holds.move();
  return {
    ...{ folder, texts, runtime, tokenizer, info, snapshot },
    [Symbol.asyncDispose]: () => held[Symbol.asyncDispose](),
  };
}

/**
 * Yields the lines of a UTF-8 input as they arrive, without the byte order mark that some editors and
 * shells write.
 * @throws C3Error('input') naming the line if it is too long or not UTF-8, or if the input cannot be
 *   read
 */
export async function* readInputLines(input: NodeJS.ReadableStream): AsyncGenerator<string, void, undefined> {
  const splitter = new LineSplitter(INPUT_BOUNDS);
  const chunks = input[Symbol.asyncIterator]();
  for (;;) {
    const next = await chunks.next().catch((error: unknown) => {
      throw new C3Error('input', `Cannot read standard input: ${toErrorMessage(error)}; give it lines of JSON.`, {
        cause: error,
      });
    });
    if (next.done === true) {
      break;
    }
    for (const { text } of splitter.push(Buffer.from(next.value))) {
      yield text;
    }
  }
  for (const { text } of splitter.end()) {
    yield text;
  }
}

/**
 * Answers lines in order. Lines that have arrived are answered together. Empty lines are skipped.
 * @param understand parses a line as a request; `place` is its name in errors
 * @param answer returns one line for each request
 * @throws C3Error('input') naming the first wrong line, after all lines before it have been answered
 */
export async function* answerLines<Request>(
  input: NodeJS.ReadableStream,
  understand: (line: string, place: string) => Request | Promise<Request>,
  answer: (requests: readonly Request[]) => Promise<readonly string[]>,
): AsyncGenerator<string, void, undefined> {
  let number = 0;
  for await (const lines of readBatches(input)) {
    const requests: Request[] = [];
    let failure: { readonly error: unknown } | undefined;
    for (const line of lines) {
      number++;
      if (line.trim() === '') {
        continue;
      }
      try {
        requests.push(await understand(line, formatLinePlace(number)));
      } catch (error) {
        failure = { error };
        break;
      }
    }
    if (requests.length > 0) {
      yield* await answer(requests);
    }
    if (failure !== undefined) {
      throw failure.error;
    }
  }
}

async function* readBatches(input: NodeJS.ReadableStream): AsyncGenerator<readonly string[], void, undefined> {
  const lines = readInputLines(input);
  let next = lines.next();
  for (;;) {
    const first = await next;
    if (first.done === true) {
      return;
    }
    const batch = [first.value];
    next = lines.next();
    while (batch.length < MAX_LINES_TOGETHER) {
      // A writer that waits for an answer before it sends the next line gets it.
      const arrived = await Promise.race([next, setImmediate(null)]);
      if (arrived === null || arrived.done === true) {
        break;
      }
      batch.push(arrived.value);
      next = lines.next();
    }
    yield batch;
  }
}

/**
 * Parses a line of JSON with a schema.
 * @param form example of a valid line
 * @throws C3Error('input') naming the line
 */
export function readLine<Schema extends z.ZodType>(
  schema: Schema,
  line: string,
  place: string,
  form: string,
): z.output<Schema> {
  const wrong = (what: string): C3Error => new C3Error('input', `${place}: ${what}; give ${form}.`);
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (error) {
    throw wrong(toErrorMessage(error));
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) {
    return parsed.data;
  }
  const issue = parsed.error.issues[0];
  throw wrong(
    issue === undefined ? 'not valid' : `${issue.path.join('.')}${issue.path.length === 0 ? '' : ': '}${issue.message}`,
  );
}
