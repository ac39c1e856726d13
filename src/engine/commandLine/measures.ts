/** `c3 taxonomy`, `label`, `diagnose`, `credit`, `grade`, `doctor` and `bench`. */
import { resolve } from 'node:path';
import { DEVICE_REQUESTS, type DeviceRequest } from '../../shared/devices.ts';
import { C3Error } from '../../shared/errors.ts';
import { salvageStore } from '../../store/repair/salvage.ts';
import { contextEstimator } from '../../training/methods/methods.ts';
import { type ParsedArguments, readArguments, text, texts, whole } from './arguments.ts';
import { runSuite } from '../bench/suites.ts';
import { reportTable } from '../bench/table.ts';
import { creditLines, estimatorNamed } from '../lines/creditLines.ts';
import { diagnose } from '../diagnose/diagnose.ts';
import { SAMPLE_DEFAULTS } from '../diagnose/diagnoseSample.ts';
import { readTrainingCredit, TRAINING_CREDIT_DEFAULTS } from '../diagnose/trainingCredit.ts';
import { diagnosisWords, trainingCreditWords } from './diagnoseWords.ts';
import { EMPTIED_DEFAULTS, emptiedRun, emptiedWords } from './emptied.ts';
import { examine } from '../machine/doctor.ts';
import { HEADLINE_RULE } from '../recipe/headlines.ts';
import { graderNamed, gradeLines, mathLines } from '../lines/gradeLines.ts';
import { backendNamed, blocksNamed, passRuleNamed, pythonLines, withPythonGrader } from '../lines/gradePython.ts';
import { parseRecipe, protocolOf } from '../recipe/recipe.ts';
import { parseThresholds, taxonomyWords } from '../taxonomy/taxonomyReport.ts';
import type { CommandContext } from './command.ts';
import { JSON_FLAG, STORE, storePath, withService } from './support.ts';

export async function taxonomy(args: readonly string[], context: CommandContext): Promise<void> {
  const { print } = context;
  const parsed = readArguments(
    'taxonomy',
    args,
    { ...STORE, ...JSON_FLAG, run: { type: 'string' }, thresholds: { type: 'string', multiple: true } },
    0,
  );
  const thresholds = parseThresholds(texts(parsed, 'thresholds'));
  await withService(parsed, context, async (service) => {
    const id = text(parsed, 'run');
    if (id === null) {
      throw new C3Error('input', 'c3 taxonomy needs --run RUN.');
    }
    const report = await service.taxonomy(id, thresholds);
    if (parsed.values['json'] === true) {
      print(JSON.stringify(report));
    } else {
      for (const line of taxonomyWords(report)) {
        print(line);
      }
    }
  });
}

export async function label(args: readonly string[], context: CommandContext): Promise<void> {
  const { print } = context;
  const parsed = readArguments(
    'label',
    args,
    { ...STORE, ...JSON_FLAG, note: { type: 'string' }, 'take-back': { type: 'boolean' } },
    2,
  );
  const [bucket = '', name = ''] = parsed.positionals;
  const takeBack = parsed.values['take-back'] === true;
  if (!/^\d{1,15}$/u.test(bucket) || takeBack === (name.trim() !== '')) {
    throw new C3Error('input', 'c3 label needs a bucket by its number, and a label or --take-back.');
  }
  await withService(parsed, context, async (service) => {
    const stored = await service.label(
      { bucket: Number(bucket), name: name.trim(), note: text(parsed, 'note') ?? '' },
      context.signal,
    );
    print(
      parsed.values['json'] === true
        ? JSON.stringify(stored)
        : `Bucket ${bucket}: ${takeBack ? 'the label was removed' : JSON.stringify(stored.name)}.`,
    );
  });
}

export async function credit(args: readonly string[], context: CommandContext): Promise<void> {
  const { print, streams } = context;
  const parsed = readArguments('credit', args, { estimator: { type: 'string' } }, 0);
  for await (const line of creditLines(streams.stdin, estimatorNamed(text(parsed, 'estimator')))) {
    print(line);
  }
}

export async function diagnoseRun(args: readonly string[], context: CommandContext): Promise<void> {
  const { print } = context;
  const sampling = {
    sample: { type: 'boolean' },
    contexts: { type: 'string' },
    alternatives: { type: 'string' },
    replays: { type: 'string' },
    'value-samples': { type: 'string' },
    role: { type: 'string' },
    seed: { type: 'string' },
  } as const;
  const parsed = readArguments(
    'diagnose',
    args,
    {
      ...STORE,
      ...JSON_FLAG,
      ...sampling,
      emptied: { type: 'boolean' },
      'training-credit': { type: 'boolean' },
      run: { type: 'string' },
      origin: { type: 'string' },
    },
    0,
  );
  const id = text(parsed, 'run');
  if (id === null) {
    throw new C3Error('input', 'c3 diagnose needs --run RUN.');
  }
  const named = text(parsed, 'origin');
  const origin = (['training', 'request', 'diagnostic'] as const).find((known) => known === named) ?? null;
  if (named !== null && origin === null) {
    throw new C3Error(
      'input',
      `--origin is training, request or diagnostic, not ${JSON.stringify(named.slice(0, 40))}.`,
    );
  }
  const alone = ['emptied', 'training-credit'].filter((key) => parsed.values[key] === true);
  const foreign = [...alone.slice(1), 'sample', 'alternatives', 'value-samples', 'origin'].find(
    (key) => parsed.values[key] !== undefined,
  );
  if (alone[0] !== undefined && foreign !== undefined) {
    throw new C3Error('input', `--${alone[0]} measures by itself; omit --${foreign}.`);
  }
  const needless = Object.keys(sampling).find((key) => key !== 'sample' && parsed.values[key] !== undefined);
  if (alone.length === 0 && parsed.values['sample'] !== true && needless !== undefined) {
    throw new C3Error('input', `--${needless} configures sampling; add --sample.`);
  }
  await withService(parsed, context, async (service) => {
    const { stderr } = context.streams;
    const onContext = (done: number, total: number): void => {
      if (stderr.isTTY === true) {
        stderr.write(`\rSampling contexts: ${String(done)} of ${String(total)}`);
      }
    };
    const recipe = parseRecipe(
      service.reading((store) => store.runConfig(id)),
      id,
    );
    const own = ({ contexts, replays }: { readonly contexts: number; readonly replays: number }) => ({
      contexts: whole(parsed, 'contexts', 1, contexts),
      replays: whole(parsed, 'replays', 1, replays),
      role: text(parsed, 'role'),
      seed: whole(parsed, 'seed', 0, 0),
    });
    const printed = (json: object, words: readonly string[]): void => {
      print(parsed.values['json'] === true ? JSON.stringify(json) : words.join('\n'));
    };
    if (alone[0] === 'emptied') {
      const control = { signal: context.signal, onMessage: onContext };
      const emptied = await emptiedRun(service, id, own(EMPTIED_DEFAULTS), control);
      printed({ run: id, emptied }, emptiedWords(emptied));
      return;
    }
    if (alone[0] === 'training-credit') {
      const settings = own(TRAINING_CREDIT_DEFAULTS);
      await service.replayLearned(id, settings, { signal: context.signal, onContext });
      const { config } = recipe;
      const trainingCredit = service.reading((store) =>
        readTrainingCredit({ store, run: id, config, protocol: protocolOf(recipe) }, settings),
      );
      const { method } = config;
      printed({ run: id, method, settings, trainingCredit }, trainingCreditWords(method, settings, trainingCredit));
      return;
    }
    if (parsed.values['sample'] === true) {
      const { contexts, alternatives, replays, valueSamples, seed } = SAMPLE_DEFAULTS;
      const settings = {
        contexts: whole(parsed, 'contexts', 1, contexts),
        alternatives: whole(parsed, 'alternatives', 2, alternatives),
        replays: whole(parsed, 'replays', 1, replays),
        valueSamples: whole(parsed, 'value-samples', 0, valueSamples),
        role: text(parsed, 'role'),
        seed: whole(parsed, 'seed', 0, seed),
      };
      await service.sampleDiagnostics(id, settings, { signal: context.signal, onContext });
    }
    const found = service.reading((store) =>
      diagnose(store, id, { origin, estimator: contextEstimator(recipe.config), protocol: protocolOf(recipe) }),
    );
    print(parsed.values['json'] === true ? JSON.stringify(found) : diagnosisWords(found));
  });
}

export async function grade(args: readonly string[], context: CommandContext): Promise<void> {
  const { print } = context;
  const parsed = readArguments(
    'grade',
    args,
    { kind: { type: 'string' }, grader: { type: 'string' }, backend: { type: 'string' }, blocks: { type: 'string' } },
    0,
  );
  const kind = text(parsed, 'kind');
  if (kind === 'python') {
    await withPythonGrader(
      passRuleNamed(text(parsed, 'grader')),
      backendNamed(text(parsed, 'backend')),
      async (grader) => {
        for await (const line of gradeLines(
          context.streams.stdin,
          pythonLines(grader, blocksNamed(text(parsed, 'blocks'))),
        )) {
          print(line);
        }
      },
      context.signal,
    ).finally(() => {
      // Nothing more is read, where it was cancelled.
      context.streams.stdin.destroy();
    });
    return;
  }
  if (kind !== 'math' || text(parsed, 'backend') !== null || text(parsed, 'blocks') !== null) {
    throw new C3Error(
      'input',
      'c3 grade needs --kind math or --kind python; --backend and --blocks are for python only.',
    );
  }
  for await (const line of gradeLines(context.streams.stdin, mathLines(graderNamed(text(parsed, 'grader'))))) {
    print(line);
  }
}

export async function doctor(args: readonly string[], context: CommandContext): Promise<void> {
  const { print } = context;
  const parsed = readArguments(
    'doctor',
    args,
    { ...STORE, ...JSON_FLAG, all: { type: 'boolean' }, copy: { type: 'string' } },
    0,
  );
  const copy = text(parsed, 'copy');
  if (copy !== null) {
    copyWhole(storePath(parsed, context), resolve(context.folder, copy), parsed.values['json'] === true, print);
    return;
  }
  const report = await examine(storePath(parsed, context), parsed.values['all'] === true);
  if (report.store.findings.length > 0) {
    context.fails();
  }
  if (parsed.values['json'] === true) {
    print(JSON.stringify(report));
    return;
  }
  for (const { name, available, selfTest, batchInvariance, device } of report.providers) {
    print(`${name.padEnd(10)}${available ? 'available' : 'not used '}   ${selfTest ?? 'not measured'}`);
    if (device !== null) {
      print(`${''.padEnd(22)}on ${device}; ${batchInvariance ?? 'batch invariance not measured'}`);
    }
  }
  for (const [name, version] of Object.entries(report.versions)) {
    print(`${name.padEnd(20)}${version}`);
  }
  print(`store     ${report.store.path}: ${report.store.state}`);
  for (const line of [...report.store.findings, report.store.extent]) {
    if (line !== '') {
      print(`          ${line}`);
    }
  }
}

/** Copies what is whole of a store, and says what was left. */
function copyWhole(from: string, to: string, json: boolean, print: CommandContext['print']): void {
  const tables = salvageStore(from, to, HEADLINE_RULE);
  if (json) {
    print(JSON.stringify({ store: from, copy: to, tables }));
    return;
  }
  const copied = (name: string): string => String(tables.find(({ table }) => table === name)?.copied ?? 0);
  print(
    `${to} holds ${copied('run')} runs, ${copied('decision')} messages and ${copied('episode')} episodes that are intact; ${from} was left unchanged.`,
  );
  for (const { table, left, unreadable } of tables) {
    if (left + unreadable > 0) {
      print(
        `Of ${table}, ${String(left)} rows were left out, damaged or referring to such a row, and ${String(unreadable)} could not be read.`,
      );
    }
  }
}

/** The device that --device names; null where it is not given. */
function deviceRequest(parsed: ParsedArguments): DeviceRequest | null {
  const given = text(parsed, 'device');
  if (given === null) {
    return null;
  }
  const known = DEVICE_REQUESTS.find((device) => device === given);
  if (known === undefined) {
    throw new C3Error(
      'input',
      `There is no device ${JSON.stringify(given.slice(0, 40))}; choose one of ${DEVICE_REQUESTS.join(', ')}.`,
    );
  }
  return known;
}

export async function bench(args: readonly string[], context: CommandContext): Promise<void> {
  const { print, note } = context;
  const parsed = readArguments(
    'bench',
    args,
    {
      ...JSON_FLAG,
      quick: { type: 'boolean' },
      config: { type: 'string' },
      device: { type: 'string' },
      out: { type: 'string' },
      continue: { type: 'string' },
    },
    1,
  );
  const options = {
    quick: parsed.values['quick'] === true,
    config: text(parsed, 'config'),
    device: deviceRequest(parsed),
    out: text(parsed, 'out'),
    from: text(parsed, 'continue'),
    folder: context.folder,
    signal: context.signal,
    note,
  };
  const report = await runSuite(parsed.positionals[0], options);
  print(parsed.values['json'] === true ? JSON.stringify(report) : reportTable(report));
}
