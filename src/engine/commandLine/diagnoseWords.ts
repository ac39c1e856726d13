/** A diagnosis in words, for people at a terminal. */
import type { Interval } from '../../domain/credit.ts';
import type { Ledger } from '../../domain/run.ts';
import { counted } from '../../shared/text/words.ts';
import type { Diagnosis } from '../diagnose/diagnose.ts';
import type { RoleTrainingCredit, TrainingCreditSettings } from '../diagnose/trainingCredit.ts';
import { proportion, reusedWords, takenWords } from './words.ts';

const number = (value: number | null): string => (value === null ? '?' : String(Number(value.toPrecision(4))));

function interval(value: Interval | null, reason: string | undefined): string {
  if (value === null) {
    return `not measured${reason === undefined ? '' : `: ${reason}`}`;
  }
  return `${number(value.value)} ${value.low === null || value.high === null ? '[interval not measured]' : `[${number(value.low)}, ${number(value.high)}]`}, n ${value.n}`;
}

const nats = (value: Interval | null, reason: string | undefined): string =>
  `${interval(value, reason)}${value === null ? '' : ' nats'}`;

const costs = (cost: Omit<Ledger, 'seconds'>): string =>
  `${cost.evaluatorCalls} evaluator calls${reusedWords(cost)}, ${cost.tokens.prompt} prompt and ${cost.tokens.completion} completion tokens${takenWords(cost.tokens)}`;

/** What a run's certificates came to; they are diagnostics, and most are vacuous. */
function certificateWords(found: NonNullable<Diagnosis['certificate']>): string {
  const { steps, positive, vacuous, newest, compared, violations, rankCorrelation } = found;
  const last = `${number(newest.value)}${newest.vacuous ? ' (vacuous)' : ''}`;
  const against =
    compared === 0
      ? 'no update was measured'
      : `above the measured improvement in ${violations} of ${compared}, rank correlation ${number(rankCorrelation)}`;
  return `${last} in the last of ${steps} steps; ${positive} positive, ${vacuous} vacuous; ${against}`;
}

/** Of runs that sample within their steps all of them, of others what was measured. */
function teamRows({ coordination, contextDrift, stability, certificate, reasons }: Diagnosis): [string, string][] {
  const row = (name: string, value: Interval | null, reason: string | undefined): [string, string][] =>
    value === null && certificate === undefined ? [] : [[name, interval(value, reason)]];
  return [
    ...row('coordination', coordination, reasons['coordination']),
    ...(contextDrift === undefined
      ? []
      : [
          ['context drift', interval(contextDrift.plugIn, undefined)] as [string, string],
          ['  by chance', interval(contextDrift.samePolicy, undefined)] as [string, string],
          ['  beyond chance', interval(contextDrift.excess, undefined)] as [string, string],
        ]),
    ...row('stability', stability, reasons['stability']),
  ];
}

export function diagnosisWords(found: Diagnosis): string {
  const { reasons, overhead } = found;
  const added = overhead.diagnostic;
  const rows: [string, string][] = [
    ['fidelity, real', interval(found.fidelity.real, reasons['fidelity'])],
    ['fidelity, all', interval(found.fidelity.all, reasons['fidelity'])],
    ['variance', interval(found.variance, reasons['variance'])],
    ['influence', nats(found.distinctInfluence, reasons['influence'])],
    ['as published', nats(found.influence, reasons['influence'])],
    [
      'reliability',
      interval(found.reliability.evenOdd, 'it needs three alternatives with two replays each and returns that differ'),
    ],
    ['noise/law', interval(found.noise.ratio, 'it needs two replays of each alternative and returns that differ')],
    ['duplicates', proportion(found.duplicates.exact)],
    ...Object.entries(found.passAtK).map(([k, value]): [string, string] => [
      `pass@${k}`,
      value === null ? interval(null, reasons[`passAtK.${k}`]) : proportion(value),
    ]),
    ['greedy accuracy', proportion(found.accuracy.greedy)],
    ...(found.certificate === undefined
      ? []
      : [['certificate', certificateWords(found.certificate)] as [string, string]]),
    ...teamRows(found),
    ['ledger', `${costs(found.ledger)}, ${found.ledger.seconds.toFixed(1)} s`],
    [
      'sampling took',
      `${costs(added)}, ${added.seconds === null ? 'time not measured' : `${added.seconds.toFixed(1)} s`}, ${added.joules === null ? 'energy not measured' : `${added.joules.toFixed(0)} J`}`,
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

/** What `c3 diagnose --training-credit` found, a paragraph for each role. */
export const trainingCreditWords = (
  method: string,
  { replays }: TrainingCreditSettings,
  roles: readonly RoleTrainingCredit[],
): readonly string[] =>
  roles.flatMap(({ role, correlation, disattenuated, reliability, degenerate, leftOut, ...counts }) => {
    const noise =
      reliability === null
        ? 'it needs two pairs of a message, and targets that differ'
        : 'the two halves of the pairs do not go together, so that all may be noise';
    const left = leftOut === 0 ? '' : `; without a return: ${counted(leftOut, 'message')}`;
    return [
      `${role}: credit that ${method} learned with against the target advantage, 95 % intervals over questions`,
      `  correlation       ${interval(correlation, degenerate ?? undefined)}`,
      `  without noise     ${interval(disattenuated, degenerate ?? noise)}`,
      `  reliability       ${number(reliability)}, of targets from ${replays} pairs of replays`,
      `  measured on       ${counted(counts.contexts, 'context')}, ${counted(counts.messages, 'message')}, ` +
        `${counted(counts.pairs, 'pair')}, ${counted(counts.evaluatorCalls, 'evaluator call')}${left}`,
    ];
  });
