/** `c3 taxonomy`, `label`, `diagnose`, `credit`, `grade` and `doctor`. */

import { resolve } from 'node:path';
import type { Interval } from '../../domain/credit.ts';
import type { Ledger } from '../../domain/run.ts';
import { emptiedEffects, countEmptied, type EmptiedEffect } from '../../report/emptied.ts';
import { C3Error } from '../../shared/errors.ts';
import { formatCounted } from '../../shared/text/words.ts';
import { salvageStore } from '../../store/repair/salvage.ts';
import { getContextEstimator } from '../../training/methods/methods.ts';
import { diagnose, type Diagnosis } from '../diagnose/diagnose.ts';
import { selectMessagesToEmpty, type EmptiedSettings } from '../diagnose/emptied.ts';
import {
  readTrainingCredit,
  type RoleTrainingCredit,
  type TrainingCreditSettings,
} from '../diagnose/trainingCredit.ts';
import { creditLines } from '../lines/creditLines.ts';
import { findGrader, gradeLines, createMathLineGrader } from '../lines/gradeLines.ts';
import { findPassRule, createPythonLineGrader, withPythonGrader } from '../lines/gradePython.ts';
import { examineMachine } from '../machine/doctor.ts';
import { HEADLINE_RULE } from '../recipe/headlines.ts';
import { parseRecipe, parseRecipeProtocol } from '../recipe/recipe.ts';
import type { EngineService } from '../service.ts';
import { parseThresholds, formatTaxonomy } from '../taxonomy/taxonomyReport.ts';
import type { CommandContext } from './command.ts';
import { toFlag, type Given } from './declared/declaration.ts';
import type { CREDIT, GRADE } from './declared/lines.ts';
import type { DOCTOR } from './declared/machine.ts';
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
import { createProgressPrinter, resolveStorePath, withService } from './support.ts';
import { formatProportion, formatReusedResults, formatReusedTokens } from './words.ts';

export async function taxonomy(given: Given<typeof TAXONOMY>, context: CommandContext): Promise<void> {
  const { print } = context;
  const thresholds = parseThresholds(given.thresholds);
  await withService(given, context, async (service) => {
    const report = await service.taxonomy(given.run, thresholds);
    if (given.json) {
      print(JSON.stringify(report));
    } else {
      for (const line of formatTaxonomy(report)) {
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
    throw new C3Error('input', `${toFlag(measured)} measures by itself; omit ${toFlag(foreign)}.`);
  }
  const sampling = ['contexts', 'alternatives', 'replays', 'valueSamples', 'role', 'seed'] as const;
  const needless = sampling.find((name) => named.has(name));
  if (measured === null && !sample && needless !== undefined) {
    throw new C3Error('input', `${toFlag(needless)} configures sampling; add --sample.`);
  }
  const printed = (json: object, words: readonly string[]): void =>
    print(given.json ? JSON.stringify(json) : words.join('\n'));
  await withService(given, context, async (service) => {
    const show = createProgressPrinter(context);
    const onContext = (done: number, total: number): void => {
      const replaying = { emptied: 'Replaying questions', trainingCredit: 'Replaying messages' } as const;
      const what = measured === null ? 'Sampling contexts' : replaying[measured];
      show({ done, total, message: `${what}: ${done} of ${total}` });
    };
    const { signal } = context;
    if (measured === 'emptied') {
      const settings = { contexts: contexts ?? EMPTIED_CONTEXTS, replays: replays ?? DIAGNOSED_REPLAYS, role, seed };
      const found = await measureEmptied(service, id, settings, { signal, onMessage: onContext });
      printed({ run: id, emptied: found }, formatEmptied(found));
      return;
    }
    const recipe = parseRecipe(
      service.reading((store) => store.runConfig(id)),
      id,
    );
    const { config } = recipe;
    const protocol = parseRecipeProtocol(recipe);
    if (measured === 'trainingCredit') {
      const settings = { contexts: contexts ?? LEARNED_CONTEXTS, replays: replays ?? LEARNED_PAIRS, role, seed };
      await service.replayLearned(id, settings, { signal, onContext });
      const learned = { run: id, config, protocol };
      const found = service.reading((store) => readTrainingCredit({ store, ...learned }, settings));
      const { method } = config;
      printed({ run: id, method, settings, trainingCredit: found }, formatTrainingCredit(method, settings, found));
      return;
    }
    if (sample) {
      const drawn = { contexts: contexts ?? SAMPLED_CONTEXTS, replays: replays ?? DIAGNOSED_REPLAYS, role, seed };
      await service.sampleDiagnostics(id, { ...drawn, alternatives, valueSamples }, { signal, onContext });
    }
    const found = service.reading((store) =>
      diagnose(store, id, { origin, estimator: getContextEstimator(config), protocol }),
    );
    print(given.json ? JSON.stringify(found) : formatDiagnosis(found));
  });
}

export async function grade(given: Given<typeof GRADE>, context: CommandContext): Promise<void> {
  const { print, streams } = context;
  const { grader: rule, backend, blocks } = given;
  if (given.kind === 'python') {
    await withPythonGrader(
      findPassRule(rule),
      backend,
      async (grader) => {
        for await (const line of gradeLines(streams.stdin, createPythonLineGrader(grader, blocks))) {
          print(line);
        }
      },
      context.signal,
    ).finally(() => {
      // After a cancel, nothing more is read.
      streams.stdin.destroy();
    });
    return;
  }
  if (given.named.has('backend') || given.named.has('blocks')) {
    throw new C3Error('input', 'c3 grade --kind math takes no --backend and no --blocks, which are for python only.');
  }
  for await (const line of gradeLines(streams.stdin, createMathLineGrader(findGrader(rule)))) {
    print(line);
  }
}

export async function doctor(given: Given<typeof DOCTOR>, context: CommandContext): Promise<void> {
  const { print } = context;
  const store = resolveStorePath(given, context);
  if (given.copy !== null) {
    copyIntactRows(store, resolve(context.folder, given.copy), given.json, print);
    return;
  }
  const report = await examineMachine(store, given.all);
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

/** Copies the intact rows of a store, and prints what was left out. */
function copyIntactRows(from: string, to: string, json: boolean, print: CommandContext['print']): void {
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
        `Table ${table}: ${left} rows were left out because they are damaged or refer to a damaged row, and ${unreadable} could not be read.`,
      );
    }
  }
}

// `c3 diagnose --emptied`: held-out questions with and without the messages of a role.

/**
 * Replays held-out messages of a role with an empty message in their place, and reads the effect.
 * Messages that have enough such replays are skipped, so that a cancelled command continues.
 * @throws C3Error('input') for a role that no other role follows, or a run without a sampled
 *   evaluation; CancelledError
 */
async function measureEmptied(
  service: EngineService,
  run: string,
  { replays, ...settings }: EmptiedSettings & { readonly replays: number },
  { signal, onMessage }: { readonly signal: AbortSignal; readonly onMessage: (done: number, total: number) => void },
): Promise<readonly EmptiedEffect[]> {
  const { asked, times } = service.reading((store) => ({
    asked: selectMessagesToEmpty(store, run, parseRecipeProtocol(parseRecipe(store.runConfig(run), run)), settings),
    times: countEmptied(store, run),
  }));
  for (const [index, { id: message }] of asked.entries()) {
    if ((times.get(message) ?? 0) < replays) {
      await service.replay({ message, alternatives: 0, replays, text: '' }, { signal, onProgress: () => undefined });
    }
    onMessage(index + 1, asked.length);
  }
  return service.reading((store) => emptiedEffects(store, run));
}

const formatShare = ({ value, low, high, n }: Interval): string =>
  `${value.toFixed(3)} [${low === null || high === null ? 'no interval' : `${low.toFixed(3)}, ${high.toFixed(3)}`}], n ${n}`;

/** Returns one paragraph for each role and evaluation. */
const formatEmptied = (effects: readonly EmptiedEffect[]): readonly string[] =>
  effects.flatMap(({ role, evaluation, team, without, difference, replays }) => [
    `${evaluation}: ${role}, ${replays} replays on each side, 95 % intervals over questions`,
    `  with its message        ${formatShare(team)}`,
    `  with an empty message   ${formatShare(without)}`,
    `  difference              ${formatShare(difference)}`,
  ]);

// Diagnoses as text for the terminal.

const formatNumber = (value: number | null): string => (value === null ? '?' : String(Number(value.toPrecision(4))));

function formatInterval(value: Interval | null, reason: string | undefined): string {
  if (value === null) {
    return `not measured${reason === undefined ? '' : `: ${reason}`}`;
  }
  return `${formatNumber(value.value)} ${value.low === null || value.high === null ? '[interval not measured]' : `[${formatNumber(value.low)}, ${formatNumber(value.high)}]`}, n ${value.n}`;
}

const formatNats = (value: Interval | null, reason: string | undefined): string =>
  `${formatInterval(value, reason)}${value === null ? '' : ' nats'}`;

const formatCosts = (cost: Omit<Ledger, 'seconds'>): string =>
  `${cost.evaluatorCalls} evaluator calls${formatReusedResults(cost)}, ${cost.tokens.prompt} prompt and ${cost.tokens.completion} completion tokens${formatReusedTokens(cost.tokens)}`;

/** Summarizes a run's certificates, which are diagnostics; most of them are vacuous. */
function formatCertificate(found: NonNullable<Diagnosis['certificate']>): string {
  const { steps, positive, vacuous, newest, compared, violations, rankCorrelation } = found;
  const last = `${formatNumber(newest.value)}${newest.vacuous ? ' (vacuous)' : ''}`;
  const against =
    compared === 0
      ? 'no update was measured'
      : `above the measured improvement in ${violations} of ${compared}, rank correlation ${formatNumber(rankCorrelation)}`;
  return `${last} in the last of ${steps} steps; ${positive} positive, ${vacuous} vacuous; ${against}`;
}

/** Returns all rows for runs that sample within their steps, and the measured ones for other runs. */
function listTeamRows({ coordination, contextDrift, stability, certificate, reasons }: Diagnosis): [string, string][] {
  const row = (name: string, value: Interval | null, reason: string | undefined): [string, string][] =>
    value === null && certificate === undefined ? [] : [[name, formatInterval(value, reason)]];
  return [
    ...row('coordination', coordination, reasons['coordination']),
    ...(contextDrift === undefined
      ? []
      : [
          ['context drift', formatInterval(contextDrift.plugIn, undefined)] as [string, string],
          ['  by chance', formatInterval(contextDrift.samePolicy, undefined)] as [string, string],
          ['  beyond chance', formatInterval(contextDrift.excess, undefined)] as [string, string],
        ]),
    ...row('stability', stability, reasons['stability']),
  ];
}

export function formatDiagnosis(found: Diagnosis): string {
  const { reasons, overhead } = found;
  const added = overhead.diagnostic;
  const rows: [string, string][] = [
    ['fidelity, real', formatInterval(found.fidelity.real, reasons['fidelity'])],
    ['fidelity, all', formatInterval(found.fidelity.all, reasons['fidelity'])],
    ['variance', formatInterval(found.variance, reasons['variance'])],
    ['influence', formatNats(found.distinctInfluence, reasons['influence'])],
    ['as published', formatNats(found.influence, reasons['influence'])],
    [
      'reliability',
      formatInterval(
        found.reliability.evenOdd,
        'it needs three alternatives with two replays each and returns that differ',
      ),
    ],
    [
      'noise/law',
      formatInterval(found.noise.ratio, 'it needs two replays of each alternative and returns that differ'),
    ],
    ['duplicates', formatProportion(found.duplicates.exact)],
    ...Object.entries(found.passAtK).map(([k, value]): [string, string] => [
      `pass@${k}`,
      value === null ? formatInterval(null, reasons[`passAtK.${k}`]) : formatProportion(value),
    ]),
    ['greedy accuracy', formatProportion(found.accuracy.greedy)],
    ...(found.certificate === undefined
      ? []
      : [['certificate', formatCertificate(found.certificate)] as [string, string]]),
    ...listTeamRows(found),
    ['ledger', `${formatCosts(found.ledger)}, ${found.ledger.seconds.toFixed(1)} s`],
    [
      'sampling took',
      `${formatCosts(added)}, ${added.seconds === null ? 'time not measured' : `${added.seconds.toFixed(1)} s`}, ${added.joules === null ? 'energy not measured' : `${added.joules.toFixed(0)} J`}`,
    ],
    ['assumes', found.continuation.assumption],
  ];
  const warnings = [
    found.influence?.['warning'],
    ...found.signals.map(
      ({ name, bucket, evidence }) => `${name}${bucket === null ? '' : ` in bucket ${bucket}`}: ${evidence}`,
    ),
  ].filter((one) => typeof one === 'string');
  const left = reasons['contexts'] === undefined ? '' : ` ${reasons['contexts']}`;
  return [
    `Run ${found.run}, ${found.contexts} contexts (${found.origin} buckets), credit by ${found.estimator}${left === '' ? '' : `.${left}`}`,
    ...rows.map(([name, value]) => `  ${name.padEnd(18)}${value}`),
    ...warnings.map((one) => `  look at: ${one}`),
  ].join('\n');
}

/** Formats the result of `c3 diagnose --training-credit`, with a paragraph for each role. */
export const formatTrainingCredit = (
  method: string,
  { replays }: TrainingCreditSettings,
  roles: readonly RoleTrainingCredit[],
): readonly string[] =>
  roles.flatMap(({ role, correlation, disattenuated, reliability, degenerate, leftOut, ...counts }) => {
    const noise =
      reliability === null
        ? 'it needs two pairs of a message, and targets that differ'
        : 'the two halves of the pairs do not agree, so the measurement may be noise only';
    const left = leftOut === 0 ? '' : `; without a return: ${formatCounted(leftOut, 'message')}`;
    return [
      `${role}: credit that ${method} learned with against the target advantage, 95 % intervals over questions`,
      `  correlation       ${formatInterval(correlation, degenerate ?? undefined)}`,
      `  without noise     ${formatInterval(disattenuated, degenerate ?? noise)}`,
      `  reliability       ${formatNumber(reliability)}, of targets from ${replays} pairs of replays`,
      `  measured on       ${formatCounted(counts.contexts, 'context')}, ${formatCounted(counts.messages, 'message')}, ` +
        `${formatCounted(counts.pairs, 'pair')}, ${formatCounted(counts.evaluatorCalls, 'evaluator call')}${left}`,
    ];
  });
