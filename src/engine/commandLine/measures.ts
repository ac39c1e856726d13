/** `c3 taxonomy`, `label`, `diagnose`, `credit`, `grade`, `doctor` and `bench`. */
import { resolve } from 'node:path';
import { C3Error } from '../../shared/errors.ts';
import { salvageStore } from '../../store/repair/salvage.ts';
import { contextEstimator } from '../../training/methods/methods.ts';
import { runSuite } from '../bench/suites.ts';
import { reportTable } from '../bench/table.ts';
import { diagnose } from '../diagnose/diagnose.ts';
import { readTrainingCredit } from '../diagnose/trainingCredit.ts';
import { creditLines } from '../lines/creditLines.ts';
import { graderNamed, gradeLines, mathLines } from '../lines/gradeLines.ts';
import { passRuleNamed, pythonLines, withPythonGrader } from '../lines/gradePython.ts';
import { examine } from '../machine/doctor.ts';
import { HEADLINE_RULE } from '../recipe/headlines.ts';
import { parseRecipe, protocolOf } from '../recipe/recipe.ts';
import { parseThresholds, taxonomyWords } from '../taxonomy/taxonomyReport.ts';
import type { CommandContext } from './command.ts';
import { flagOf, type Given } from './declared/declaration.ts';
import type { CREDIT, GRADE } from './declared/lines.ts';
import type { BENCH, DOCTOR } from './declared/machine.ts';
import {
  DIAGNOSED_REPLAYS,
  EMPTIED_CONTEXTS,
  LEARNED_CONTEXTS,
  LEARNED_PAIRS,
  SAMPLED_CONTEXTS,
  type DIAGNOSE,
  type LABEL,
  type TAXONOMY,
} from './declared/results.ts';
import { diagnosisWords, trainingCreditWords } from './diagnoseWords.ts';
import { emptiedRun, emptiedWords } from './emptied.ts';
import { progressPrinter, storePath, withService } from './support.ts';

export async function taxonomy(given: Given<typeof TAXONOMY>, context: CommandContext): Promise<void> {
  const { print } = context;
  const thresholds = parseThresholds(given.thresholds);
  await withService(given, context, async (service) => {
    const report = await service.taxonomy(given.run, thresholds);
    if (given.json) {
      print(JSON.stringify(report));
    } else {
      for (const line of taxonomyWords(report)) {
        print(line);
      }
    }
  });
}

export async function label(given: Given<typeof LABEL>, context: CommandContext): Promise<void> {
  const { print } = context;
  const { bucket, takeBack, note } = given;
  const name = given.label?.trim() ?? '';
  if (takeBack === (name !== '')) {
    throw new C3Error('input', 'c3 label needs a label or --take-back.');
  }
  await withService(given, context, async (service) => {
    const stored = await service.label({ bucket, name, note: note ?? '' }, context.signal);
    print(
      given.json
        ? JSON.stringify(stored)
        : `Bucket ${bucket}: ${takeBack ? 'the label was removed' : JSON.stringify(stored.name)}.`,
    );
  });
}

export async function credit(given: Given<typeof CREDIT>, context: CommandContext): Promise<void> {
  const { print, streams } = context;
  for await (const line of creditLines(streams.stdin, given.estimator)) {
    print(line);
  }
}

export async function diagnoseRun(given: Given<typeof DIAGNOSE>, context: CommandContext): Promise<void> {
  const { print } = context;
  const { run: id, origin, sample, emptied, trainingCredit, contexts, replays, role, seed, named } = given;
  const { alternatives, valueSamples } = given;
  const measured = emptied ? 'emptied' : trainingCredit ? 'trainingCredit' : null;
  const others = ['emptied', 'trainingCredit', 'sample', 'alternatives', 'valueSamples', 'origin'] as const;
  const foreign = others.find((name) => name !== measured && named.has(name));
  if (measured !== null && foreign !== undefined) {
    throw new C3Error('input', `${flagOf(measured)} measures by itself; omit ${flagOf(foreign)}.`);
  }
  const sampling = ['contexts', 'alternatives', 'replays', 'valueSamples', 'role', 'seed'] as const;
  const needless = sampling.find((name) => named.has(name));
  if (measured === null && !sample && needless !== undefined) {
    throw new C3Error('input', `${flagOf(needless)} configures sampling; add --sample.`);
  }
  const printed = (json: object, words: readonly string[]): void =>
    print(given.json ? JSON.stringify(json) : words.join('\n'));
  await withService(given, context, async (service) => {
    const show = progressPrinter(context);
    const onContext = (done: number, total: number): void => {
      const replaying = { emptied: 'Replaying questions', trainingCredit: 'Replaying messages' } as const;
      const what = measured === null ? 'Sampling contexts' : replaying[measured];
      show({ done, total, message: `${what}: ${done} of ${total}` });
    };
    const { signal } = context;
    if (measured === 'emptied') {
      const settings = { contexts: contexts ?? EMPTIED_CONTEXTS, replays: replays ?? DIAGNOSED_REPLAYS, role, seed };
      const found = await emptiedRun(service, id, settings, { signal, onMessage: onContext });
      printed({ run: id, emptied: found }, emptiedWords(found));
      return;
    }
    const recipe = parseRecipe(
      service.reading((store) => store.runConfig(id)),
      id,
    );
    const { config } = recipe;
    const protocol = protocolOf(recipe);
    if (measured === 'trainingCredit') {
      const settings = { contexts: contexts ?? LEARNED_CONTEXTS, replays: replays ?? LEARNED_PAIRS, role, seed };
      await service.replayLearned(id, settings, { signal, onContext });
      const learned = { run: id, config, protocol };
      const found = service.reading((store) => readTrainingCredit({ store, ...learned }, settings));
      const { method } = config;
      printed({ run: id, method, settings, trainingCredit: found }, trainingCreditWords(method, settings, found));
      return;
    }
    if (sample) {
      const drawn = { contexts: contexts ?? SAMPLED_CONTEXTS, replays: replays ?? DIAGNOSED_REPLAYS, role, seed };
      await service.sampleDiagnostics(id, { ...drawn, alternatives, valueSamples }, { signal, onContext });
    }
    const found = service.reading((store) =>
      diagnose(store, id, { origin, estimator: contextEstimator(config), protocol }),
    );
    print(given.json ? JSON.stringify(found) : diagnosisWords(found));
  });
}

export async function grade(given: Given<typeof GRADE>, context: CommandContext): Promise<void> {
  const { print, streams } = context;
  const { grader: rule, backend, blocks } = given;
  if (given.kind === 'python') {
    await withPythonGrader(
      passRuleNamed(rule),
      backend,
      async (grader) => {
        for await (const line of gradeLines(streams.stdin, pythonLines(grader, blocks))) {
          print(line);
        }
      },
      context.signal,
    ).finally(() => {
      // Nothing more is read, where it was cancelled.
      streams.stdin.destroy();
    });
    return;
  }
  if (given.named.has('backend') || given.named.has('blocks')) {
    throw new C3Error('input', 'c3 grade --kind math takes no --backend and no --blocks, which are for python only.');
  }
  for await (const line of gradeLines(streams.stdin, mathLines(graderNamed(rule)))) {
    print(line);
  }
}

export async function doctor(given: Given<typeof DOCTOR>, context: CommandContext): Promise<void> {
  const { print } = context;
  const store = storePath(given, context);
  if (given.copy !== null) {
    copyWhole(store, resolve(context.folder, given.copy), given.json, print);
    return;
  }
  const report = await examine(store, given.all);
  if (report.store.findings.length > 0) {
    context.fails();
  }
  if (given.json) {
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
        `Of ${table}, ${left} rows were left out, damaged or referring to such a row, and ${unreadable} could not be read.`,
      );
    }
  }
}

export async function bench(given: Given<typeof BENCH>, context: CommandContext): Promise<void> {
  const { print, note, folder, signal } = context;
  const { quick, config, device, out, continue: from } = given;
  const report = await runSuite(given.suite ?? undefined, { quick, config, device, out, from, folder, signal, note });
  print(given.json ? JSON.stringify(report) : reportTable(report));
}
