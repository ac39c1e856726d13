/** One function for each command of the command line. */
import { resolve } from 'node:path';
import { CREDIT_ESTIMATORS } from '../credit/estimators.ts';
import { DEVICE_REQUESTS, type DeviceRequest } from '../shared/devices.ts';
import { DRAWS_WORDS, drawsOf } from '../shared/draws.ts';
import { C3Error } from '../shared/errors.ts';
import type { RunProgress } from '../shared/engineProtocol.ts';
import type { BucketView, Message, RunSummary } from '../shared/records.ts';
import { reportWords } from '../shared/verification.ts';
import type { StoreReader } from '../store/reader.ts';
import { contextEstimator } from '../training/methods/methods.ts';
import { readArguments, text, whole, type ParsedArguments } from './arguments.ts';
import { runSuite, SUITE_NAMES } from './bench/suites.ts';
import { reportTable } from './bench/table.ts';
import { creditLines, estimatorNamed } from './creditLines.ts';
import { diagnose } from './diagnose.ts';
import { SAMPLE_DEFAULTS } from './diagnoseSample.ts';
import { diagnosisWords } from './diagnoseWords.ts';
import { examine } from './doctor.ts';
import { exportBuckets } from './exchangeExport.ts';
import { importBuckets } from './exchangeImport.ts';
import { WEIGHT_FORMATS } from './exportWeights.ts';
import { generateLines } from './generateLines.ts';
import { backendNamed, passRuleNamed, pythonLines, withPythonGrader } from './gradePython.ts';
import { graderNamed, gradeLines, mathLines } from './gradeLines.ts';
import { withLineModel } from './lineModel.ts';
import { modelCommand, planCommand, type ModelCommandContext } from './modelCommands.ts';
import type { LoadControl } from './models.ts';
import { DEFAULT_STORE } from './places.ts';
import { parseRecipe, protocolOf, readRecipe } from './recipe.ts';
import { scoreLines } from './scoreLines.ts';
import { EngineService } from './service.ts';
import { taxonomyReport, taxonomyWords } from './taxonomyReport.ts';
import { bucketWords, loadingWords, summaryWords } from './words.ts';

export interface CommandContext {
  /** The current folder. */
  readonly folder: string;
  readonly cancelled: () => boolean;
}

export interface Command {
  readonly usage: string;
  readonly summary: string;
  readonly run: (args: readonly string[], context: CommandContext) => Promise<void>;
}

const STORE = { store: { type: 'string' } } as const;
const JSON_FLAG = { json: { type: 'boolean' } } as const;
const MODEL = { model: { type: 'string' }, adapter: { type: 'string' } } as const;

const storePath = (parsed: ParsedArguments, { folder }: CommandContext): string => resolve(folder, text(parsed, 'store') ?? DEFAULT_STORE);
const print = (line: string): void => {
  process.stdout.write(`${line}\n`);
};
const note = (line: string): void => {
  process.stderr.write(`${line}\n`);
};

/** Opens a service for one piece of work and closes it whatever happens. */
async function withService<Result>(path: string, work: (service: EngineService) => Promise<Result>): Promise<Result> {
  const service = new EngineService(path);
  try {
    return await work(service);
  } finally {
    await service.close();
  }
}

async function run(args: readonly string[], context: CommandContext): Promise<void> {
  const options = { ...STORE, ...JSON_FLAG, override: { type: 'string', multiple: true }, resume: { type: 'string' }, show: { type: 'boolean' } } as const;
  const parsed = readArguments('run', args, options, 1);
  const overrides = parsed.values['override'];
  const resumed = text(parsed, 'resume');
  if (resumed !== null && (parsed.positionals.length > 0 || overrides !== undefined)) {
    throw new C3Error('input', `c3 run --resume ${JSON.stringify(resumed.slice(0, 80))} goes on with the configuration that the run began with; leave out ${overrides === undefined ? 'the configuration' : '--override'}.`);
  }
  const recipe = resumed === null ? await readRecipe(parsed.positionals[0] ?? null, Array.isArray(overrides) ? overrides.map(String) : [], context.folder) : null;
  await withService(storePath(parsed, context), async (service) => {
    const summary = await resumable((onProgress) => {
      const control = { cancelled: context.cancelled, onProgress };
      return recipe === null ? service.resume(resumed ?? '', control, note) : service.run(recipe, control, note);
    });
    if (parsed.values['json'] === true) {
      print(JSON.stringify(summary));
      return;
    }
    print(`\n${summaryWords(summary)}`);
    if (parsed.values['show'] !== true || summary.steps === 0) return;
    const message = service.reading((store) => mostCredited(store, summary.run));
    if (message === null) return;
    const bucket = await service.replay({ message: message.id, alternatives: 4, replays: 4, text: null }, { cancelled: context.cancelled, onProgress: () => undefined });
    print(`\n${bucketWords(message, bucket)}`);
    print('\nOpen it in VS Code: npm run code, then the C3 view in the activity bar.');
  });
}

/** Runs with progress on standard error; of a run that began and does not come to its end, it says how to go on with it. */
async function resumable(work: (onProgress: (progress: RunProgress) => void) => Promise<RunSummary>): Promise<RunSummary> {
  const show = progressPrinter();
  let run: string | undefined;
  try {
    return await work((progress) => {
      run = progress.run ?? run;
      if (progress.run !== null || progress.total >= LARGE_MODEL) show(progress);
    });
  } catch (error) {
    if (run !== undefined) note(`Run ${run} can go on: c3 run --resume ${run}`);
    throw error;
  }
}

/** The message of a run's last step whose training credit is largest in size; of equals the first. */
function mostCredited(store: StoreReader, id: string): Message | null {
  const steps = store.countSteps(id);
  let best: Message | null = null;
  const size = (message: Message | null): number => Math.abs(message?.credit?.value ?? 0);
  for (const bucket of lastBuckets(store, id, steps)) {
    for (const { decision } of bucket.alternatives) {
      const message = store.message(decision);
      if (size(message) > size(best)) best = message;
    }
  }
  return best;
}

function lastBuckets(store: StoreReader, run: string, iteration: number): BucketView[] {
  const total = store.countBuckets({ run, origin: 'training' });
  const window = store.bucketsOfRun({ run, origin: 'training', offset: Math.max(0, total - 200), limit: 200 }).filter((bucket) => bucket.iteration === iteration);
  // The first role's messages have the more to decide.
  return window.filter(({ eventType }) => eventType === window[0]?.eventType);
}

/** Bytes of a model's files from which on loading takes long enough to be followed. */
const LARGE_MODEL = 100e6;

/** Shows how far a large model is loaded. */
function loadingPrinter({ cancelled }: CommandContext): LoadControl {
  const show = progressPrinter();
  const onProgress = (done: number, total: number): void => {
    if (total >= LARGE_MODEL) show({ stage: 'load', done, total, message: loadingWords(done, total) });
  };
  return { onProgress, cancelled };
}

/** Progress on standard error: one line that is rewritten on a terminal, a line per tenth elsewhere. */
function progressPrinter(): (progress: Pick<RunProgress, 'stage' | 'done' | 'total' | 'message'>) => void {
  const terminal = process.stderr.isTTY;
  let lastTenth = '';
  return ({ stage, done, total, message }) => {
    if (terminal) {
      process.stderr.write(`\r\u001b[2K${message}${stage !== 'train' && done === total ? '\n' : ''}`);
      return;
    }
    const tenth = `${message.split(':')[0] ?? ''}:${String(Math.floor((10 * done) / Math.max(1, total)))}`;
    if (stage === 'train' ? done % Math.max(1, Math.round(total / 20)) === 0 : tenth !== lastTenth) note(message);
    lastTenth = tenth;
  };
}

async function replay(args: readonly string[], context: CommandContext): Promise<void> {
  const options = { ...STORE, ...JSON_FLAG, alternatives: { type: 'string' }, replays: { type: 'string' }, text: { type: 'string' }, independent: { type: 'boolean' } } as const;
  const parsed = readArguments('replay', args, options, 1);
  const message = messageNumber('replay', parsed);
  const request = { message, alternatives: whole(parsed, 'alternatives', 0, 4), replays: whole(parsed, 'replays', 1, 4), text: text(parsed, 'text'), independent: parsed.values['independent'] === true };
  await withService(storePath(parsed, context), async (service) => {
    const bucket = await service.replay(request, { cancelled: context.cancelled, onProgress: (_, done, total) => process.stderr.isTTY && process.stderr.write(`\r${String(done)} of ${String(total)}`), onRemark: note });
    const verified = await service.proveBucket(bucket.id, context.cancelled);
    const { stored, draws } = service.reading((store) => ({ stored: store.message(message), draws: drawsOf(store.replaysOfBucket(bucket.id), (id) => store.decision(id).streamKey) }));
    if (parsed.values['json'] === true) print(JSON.stringify({ ...replayDocument(message, verified), draws }));
    else print(`${bucketWords(stored, verified)}${draws === null ? '' : `\nDrawn with ${DRAWS_WORDS[draws]}.`}`);
  });
}

/** The contract's document: the message's own row apart from the alternatives that were asked for. */
function replayDocument(message: number, bucket: BucketView): object {
  const rows = bucket.alternatives.map(({ original, decision, text: words, returns, credit, evaluatorCalls, verified }) => ({
    original,
    row: {
      message: decision,
      text: words,
      returns,
      credit: credit === null ? null : { value: credit.value, low: credit.low, high: credit.high, n: credit.n },
      evaluatorCalls,
      verified,
    },
  }));
  return {
    message,
    bucket: bucket.id,
    original: rows.find(({ original }) => original)?.row ?? null,
    alternatives: rows.filter(({ original }) => !original).map(({ row }) => row),
  };
}

async function verify(args: readonly string[], context: CommandContext): Promise<void> {
  const parsed = readArguments('verify', args, { ...STORE, ...JSON_FLAG, run: { type: 'string' }, sample: { type: 'string' } }, 1);
  const message = parsed.positionals[0] === undefined ? null : messageNumber('verify', parsed);
  if (message !== null && (text(parsed, 'run') ?? text(parsed, 'sample')) !== null) throw new C3Error('input', 'c3 verify takes either a message or --run and --sample; give one of the two.');
  await withService(storePath(parsed, context), async (service) => {
    const { cancelled } = context;
    const id = text(parsed, 'run') ?? service.reading((store) => store.runs(0, 1))[0]?.id;
    if (id === undefined) throw new C3Error('input', `The store ${service.storePath} holds no run; start one with \`c3 run\`.`);
    const report = message === null ? await service.verify(id, text(parsed, 'sample') === null ? null : whole(parsed, 'sample', 1, 1), cancelled) : await service.verifyMessage(message, { cancelled });
    if (parsed.values['json'] === true) print(JSON.stringify(report));
    else print(reportWords(message === null ? id : `message ${String(message)}`, report));
    if (report.different > 0) process.exitCode = 1;
  });
}

/** The message that a command is about. */
function messageNumber(command: string, parsed: ParsedArguments): number {
  const given = parsed.positionals[0] ?? '';
  const message = /^\d+$/.test(given) ? Number(given) : NaN;
  if (!Number.isSafeInteger(message) || message < 1) throw new C3Error('input', `c3 ${command} needs the number of a message, for example \`c3 ${command} 17\`.`);
  return message;
}

async function taxonomy(args: readonly string[], context: CommandContext): Promise<void> {
  const parsed = readArguments('taxonomy', args, { ...STORE, ...JSON_FLAG, run: { type: 'string' } }, 0);
  await withService(storePath(parsed, context), (service) => {
    const id = text(parsed, 'run');
    if (id === null) throw new C3Error('input', 'c3 taxonomy needs --run RUN.');
    const report = service.reading((store) => taxonomyReport(store, id, service.taxonomy(id)));
    if (parsed.values['json'] === true) print(JSON.stringify(report));
    else for (const line of taxonomyWords(report)) print(line);
    return Promise.resolve();
  });
}

async function doctor(args: readonly string[], context: CommandContext): Promise<void> {
  const parsed = readArguments('doctor', args, { ...STORE, ...JSON_FLAG }, 0);
  const report = await examine(storePath(parsed, context));
  if (parsed.values['json'] === true) {
    print(JSON.stringify(report));
    return;
  }
  for (const { name, available, selfTest, batchInvariance, device } of report.providers) {
    print(`${name.padEnd(10)}${available ? 'available' : 'not used '}   ${selfTest ?? 'not measured'}`);
    if (device !== null) print(`${''.padEnd(22)}on ${device}; ${batchInvariance ?? 'batch invariance not measured'}`);
  }
  for (const [name, version] of Object.entries(report.versions)) print(`${name.padEnd(20)}${version}`);
  print(`store     ${report.store.path}: ${report.store.state}`);
}

async function credit(args: readonly string[]): Promise<void> {
  const parsed = readArguments('credit', args, { estimator: { type: 'string' } }, 0);
  for await (const line of creditLines(process.stdin, estimatorNamed(text(parsed, 'estimator')))) print(line);
}

async function diagnoseRun(args: readonly string[], context: CommandContext): Promise<void> {
  const sampling = { sample: { type: 'boolean' }, contexts: { type: 'string' }, alternatives: { type: 'string' }, replays: { type: 'string' }, 'value-samples': { type: 'string' }, role: { type: 'string' }, seed: { type: 'string' } } as const;
  const parsed = readArguments('diagnose', args, { ...STORE, ...JSON_FLAG, ...sampling, run: { type: 'string' }, origin: { type: 'string' } }, 0);
  const id = text(parsed, 'run');
  if (id === null) throw new C3Error('input', 'c3 diagnose needs --run RUN.');
  const named = text(parsed, 'origin');
  const origin = (['training', 'request', 'diagnostic'] as const).find((known) => known === named) ?? null;
  if (named !== null && origin === null) throw new C3Error('input', `--origin is training, request or diagnostic, not ${JSON.stringify(named.slice(0, 40))}.`);
  const needless = Object.keys(sampling).find((key) => key !== 'sample' && parsed.values[key] !== undefined);
  if (parsed.values['sample'] !== true && needless !== undefined) throw new C3Error('input', `--${needless} says how to sample; give --sample too.`);
  await withService(storePath(parsed, context), async (service) => {
    if (parsed.values['sample'] === true) {
      const { contexts, alternatives, replays, valueSamples, seed } = SAMPLE_DEFAULTS;
      const settings = {
        contexts: whole(parsed, 'contexts', 1, contexts), alternatives: whole(parsed, 'alternatives', 2, alternatives), replays: whole(parsed, 'replays', 1, replays),
        valueSamples: whole(parsed, 'value-samples', 0, valueSamples), role: text(parsed, 'role'), seed: whole(parsed, 'seed', 0, seed),
      };
      await service.sampleDiagnostics(id, settings, { cancelled: context.cancelled, onContext: (done, total) => process.stderr.isTTY && process.stderr.write(`\rSampling contexts: ${String(done)} of ${String(total)}`) });
    }
    const recipe = parseRecipe(service.reading((store) => store.runConfig(id)), id);
    const found = service.reading((store) => diagnose(store, id, { origin, estimator: contextEstimator(recipe.config), protocol: protocolOf(recipe) }));
    print(parsed.values['json'] === true ? JSON.stringify(found) : diagnosisWords(found));
  });
}

const EXPORT_FORMATS = ['buckets', ...WEIGHT_FORMATS] as const;

async function exportRun(args: readonly string[], context: CommandContext): Promise<void> {
  const parsed = readArguments('export', args, { ...STORE, ...JSON_FLAG, run: { type: 'string' }, format: { type: 'string' }, out: { type: 'string' }, step: { type: 'string' } }, 0);
  const [run, format, out] = [text(parsed, 'run'), EXPORT_FORMATS.find((known) => known === text(parsed, 'format')), text(parsed, 'out')];
  if (run === null || out === null) throw new C3Error('input', 'c3 export needs --run RUN and --out with a path where nothing is yet.');
  if (format === undefined) throw new C3Error('input', `c3 export needs --format with one of ${EXPORT_FORMATS.join(', ')}.`);
  const step = text(parsed, 'step') === null ? null : whole(parsed, 'step', 0, 0);
  const [path, json] = [resolve(context.folder, out), parsed.values['json'] === true];
  await withService(storePath(parsed, context), async (service) => {
    if (format !== 'buckets') {
      const folders = await service.exportWeights(run, step, format, path, context.cancelled);
      print(json ? JSON.stringify({ folders }) : folders.join('\n'));
      return;
    }
    if (step !== null) throw new C3Error('input', 'c3 export --format buckets writes all steps; leave out --step.');
    const protocol = service.reading((store) => protocolOf(parseRecipe(store.runConfig(run), run)));
    const report = service.reading((store) => exportBuckets(store, run, protocol, path));
    print(json ? JSON.stringify(report) : `${String(report.buckets)} buckets in ${report.out}${report.leftOut === 0 ? '' : `; ${String(report.leftOut)} without any return were left out`}`);
  });
}

async function importFile(args: readonly string[], context: CommandContext): Promise<void> {
  const parsed = readArguments('import', args, { ...STORE, ...JSON_FLAG }, 1);
  const file = parsed.positionals[0];
  if (file === undefined) throw new C3Error('input', 'c3 import needs the path of a bucket file.');
  await withService(storePath(parsed, context), async (service) => {
    const report = await importBuckets(service.writer(), resolve(context.folder, file), new Date().toISOString());
    if (parsed.values['json'] === true) print(JSON.stringify(report));
    else print(`Run ${report.run}: ${String(report.buckets)} buckets with ${String(report.alternatives)} alternatives. Look at it with c3 diagnose --run ${report.run}`);
  });
}

async function grade(args: readonly string[]): Promise<void> {
  const parsed = readArguments('grade', args, { kind: { type: 'string' }, grader: { type: 'string' }, backend: { type: 'string' } }, 0);
  const kind = text(parsed, 'kind');
  if (kind === 'python') {
    await withPythonGrader(passRuleNamed(text(parsed, 'grader')), backendNamed(text(parsed, 'backend')), async (grader) => {
      for await (const line of gradeLines(process.stdin, pythonLines(grader))) print(line);
    });
    return;
  }
  if (kind !== 'math' || text(parsed, 'backend') !== null) throw new C3Error('input', 'c3 grade needs --kind math or --kind python, and --backend goes with python only.');
  for await (const line of gradeLines(process.stdin, mathLines(graderNamed(text(parsed, 'grader'))))) print(line);
}

async function generate(args: readonly string[], context: CommandContext): Promise<void> {
  const options = { ...MODEL, greedy: { type: 'boolean' }, 'max-new': { type: 'string' }, seed: { type: 'string' }, thinking: { type: 'boolean' } } as const;
  const parsed = readArguments('generate', args, options, 0);
  const settings = {
    greedy: parsed.values['greedy'] === true,
    maxNew: text(parsed, 'max-new') === null ? null : whole(parsed, 'max-new', 1, 1),
    seed: whole(parsed, 'seed', 0, 0),
    thinking: parsed.values['thinking'] === true,
  };
  await withLineModel(modelFolder('generate', parsed, context), adapterFolder(parsed, context), async (model) => {
    for await (const line of generateLines(process.stdin, model, settings, context.cancelled)) print(line);
  }, loadingPrinter(context));
}

async function score(args: readonly string[], context: CommandContext): Promise<void> {
  const parsed = readArguments('score', args, MODEL, 0);
  await withLineModel(modelFolder('score', parsed, context), adapterFolder(parsed, context), async (model) => {
    for await (const line of scoreLines(process.stdin, model, context.cancelled)) print(line);
  }, loadingPrinter(context));
}

/** The folder that --model names. */
function modelFolder(command: string, parsed: ParsedArguments, { folder }: CommandContext): string {
  const model = text(parsed, 'model');
  if (model === null) throw new C3Error('input', `c3 ${command} needs --model with a folder that holds config.json, model.safetensors and tokenizer.json.`);
  return resolve(folder, model);
}

/** The folder that --adapter names; null without it. */
function adapterFolder(parsed: ParsedArguments, { folder }: CommandContext): string | null {
  const adapter = text(parsed, 'adapter');
  return adapter === null ? null : resolve(folder, adapter);
}

/** The device that --device names; null where it is not given. */
function deviceRequest(parsed: ParsedArguments): DeviceRequest | null {
  const given = text(parsed, 'device');
  if (given === null) return null;
  const known = DEVICE_REQUESTS.find((device) => device === given);
  if (known === undefined) throw new C3Error('input', `There is no device ${JSON.stringify(given.slice(0, 40))}; choose one of ${DEVICE_REQUESTS.join(', ')}.`);
  return known;
}

async function bench(args: readonly string[], context: CommandContext): Promise<void> {
  const parsed = readArguments('bench', args, { ...JSON_FLAG, quick: { type: 'boolean' }, config: { type: 'string' }, device: { type: 'string' } }, 1);
  const options = { quick: parsed.values['quick'] === true, config: text(parsed, 'config'), device: deviceRequest(parsed), folder: context.folder, cancelled: context.cancelled, note };
  const report = await runSuite(parsed.positionals[0], options);
  print(parsed.values['json'] === true ? JSON.stringify(report) : reportTable(report));
}

const forModels = (context: CommandContext): ModelCommandContext => ({ ...context, print, onLoading: loadingPrinter(context).onProgress ?? ignore });
const ignore = (): void => undefined;

export const COMMANDS: Readonly<Record<string, Command>> = {
  run: { usage: 'run [CONFIG] [--override k=v ...] | --resume RUN [--show] [--json]', summary: 'train or evaluate, or take an interrupted run to its end; --show replays one message at the end', run },
  replay: { usage: 'replay MESSAGE [--alternatives N] [--replays R] [--text TEXT] [--independent] [--json]', summary: 'replay one decision', run: replay },
  verify: { usage: 'verify [MESSAGE] [--run RUN] [--sample N] [--json]', summary: 're-execute stored replays, compare tokens', run: verify },
  taxonomy: { usage: 'taxonomy --run RUN [--json]', summary: 'failure classes with evidence', run: taxonomy },
  diagnose: {
    usage: 'diagnose --run RUN [--origin training|request|diagnostic] [--sample [--contexts S] [--alternatives J] [--replays C] [--value-samples JV] [--role ROLE] [--seed N]] [--json]',
    summary: 'fidelity, variance, influence, pass@k and cost with intervals; --sample draws buckets to measure on first',
    run: diagnoseRun,
  },
  export: { usage: 'export --run RUN --format buckets|adapter|model --out PATH [--step N] [--json]', summary: "a run's buckets in the C3 authors' format, or what it trained as PEFT or Hugging Face folders", run: exportRun },
  import: { usage: 'import FILE [--json]', summary: "read the C3 authors' buckets as a run of its own", run: importFile },
  credit: { usage: 'credit --estimator NAME', summary: `JSONL {id, alternatives: [{returns}]} -> credits; ${CREDIT_ESTIMATORS.join(', ')}`, run: credit },
  grade: { usage: 'grade --kind math|python [--grader strict|lenient|fraction] [--backend bundled|python3]', summary: 'JSONL {id, gold, prediction} or {id, code, tests | test + entryPoint, setup?} -> {id, score, rule, masked?}', run: grade },
  generate: {
    usage: 'generate --model DIR [--adapter DIR] [--greedy] [--max-new N] [--seed N] [--thinking]',
    summary: 'JSONL {id, text|ids|messages} -> {id, ids, text}; --thinking lets a chat model reason first',
    run: generate,
  },
  score: { usage: 'score --model DIR [--adapter DIR]', summary: 'JSONL {id, prompt, completion} (token ids) -> {id, logprobs, sum}', run: score },
  model: { usage: 'model FOLDER [--test] [--json]', summary: 'what a model folder holds; --test loads it and tries it', run: (args, context) => modelCommand(args, forModels(context)) },
  plan: { usage: 'plan [CONFIG] [--override k=v ...] [--json]', summary: 'what a run would need of memory and cost at most', run: (args, context) => planCommand(args, forModels(context)) },
  doctor: { usage: 'doctor [--json]', summary: 'devices, versions, self-test, store health', run: doctor },
  bench: { usage: 'bench SUITE [--quick] [--config FILE] [--device NAME] [--json]', summary: `measure: ${SUITE_NAMES.join(', ')}`, run: bench },
};
