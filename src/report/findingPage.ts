/** Writes a finding as a page: the message, its alternatives, and their credit. Pure. */

import { ESTIMATE_WORDS } from '../domain/credit.ts';
import { BY_HAND } from '../domain/episode.ts';
import type { StoredEpisodeNote } from '../domain/episodeNote.ts';
import { DRAWS_WORDS } from '../domain/replay.ts';
import type { Credit } from '../shared/credit/credit.ts';
import { barsPicture, BARS_STYLE } from './bars.ts';
import { measuredCredit } from './estimates.ts';
import { describeSampling } from './finding.ts';
import { facts, figure, writePage, table } from './page.ts';
import {
  beginning,
  costWords,
  creditBounds,
  estimatorName,
  leftOutPart,
  REPORT_STYLE,
  runFacts,
  textBlock,
  verificationCell,
  formatVerified,
} from './parts.ts';
import type {
  Branch,
  Continuation,
  EstimatedCredit,
  FindingReport,
  ReportedAlternative,
  ReportedBucket,
  ReportedCredit,
  ReportedMessage,
  MeasuredCredit,
} from './types.ts';
import { formatCompact, count, escapeText, NOT_MEASURED, formatReturn, signed } from './words.ts';

/** The most bars of one picture. The table below it has all of them. */
const BARS = 40;

const FINISHED: Readonly<Record<ReportedMessage['finish'], string>> = {
  end: 'ended by itself',
  length: 'cut off at the token limit',
  typed: 'typed by a person',
};

/** Returns the user's score, tags and note for the episode, each if there is one. */
function notedFacts(noted: StoredEpisodeNote | undefined): readonly [string, string][] {
  if (noted === undefined) {
    return [];
  }
  const { score, tags, note, isReturn } = noted;
  const counts = isReturn ? 'the return of the episode' : 'beside its return';
  const rows: readonly [string, string][] = [
    ['Scored by hand', score === null ? '' : `${formatReturn(score)}, ${counts}`],
    ['Tags', escapeText(tags.join(', '), 2000)],
    ['Note', escapeText(note, 2000)],
  ];
  return rows.filter(([, words]) => words !== '');
}

/** Writes the whole page. All texts are shown as plain text, whatever they contain. */
export function writeFindingPage(report: FindingReport): string {
  const { run, message, place, instance: problem, context, before, buckets, branches, labels } = report;
  const title = `Message ${message.message} by the ${message.role}`;
  const content = `<header><h1>${escapeText(title, 120)}</h1>
<p class="lead">${writeFindingLead(report)}</p>
${facts([...runFacts(run), ['Place', escapeText(place, 80)], ['Task item', `<code>${escapeText(problem.uid, 80)}</code>`], ['Source', escapeText(problem.source, 80)]])}</header>
<section><h2>The question</h2>${textBlock(problem.question)}<details open><summary>The expected answer</summary>${textBlock(problem.answer)}</details></section>
<section><h2>The message</h2>
${facts([
  [
    'Return',
    message.return === null
      ? NOT_MEASURED
      : `${formatReturn(message.return)}${message.leaves === 1 ? '' : `, mean of ${count(message.leaves)} episodes`}` +
        (message.byHand === true ? `, ${BY_HAND}` : ''),
  ],
  ...notedFacts(message.noted),
  ['Ended', FINISHED[message.finish]],
  ...message.measured.map(([name, words]): [string, string] => [name, escapeText(words, 200)]),
  ['Sampled at', describeSampling(message.sampling)],
  ['Weights', `<code>${escapeText(message.snapshot.slice(0, 16))}</code>`],
  ['Computed by', describeEnvironment(message.environment)],
])}
${textBlock(message.text)}
<details><summary>The context as the model saw it: ${context.tokens === 0 ? '' : `${count(context.tokens)} tokens, `}${formatCompact(context.text.text.length + context.text.leftOut)} characters</summary>${textBlock(context.text)}<p class="note">Context key ${escapeText(context.key, 40)}; ${count(context.reusedTokens)} of its tokens were not computed again.</p></details>
${before.length === 0 ? '' : `<details><summary>${count(before.length)} ${before.length === 1 ? 'message' : 'messages'} of the episode before it</summary>${before.map(writeMessageBlock).join('')}</details>`}
${branches.length === 0 ? '' : `<details open><summary>How the run continued from it</summary>${branches.map((branch, index) => branchPart(branch, index)).join('')}</details>`}
${labels.length === 0 ? '' : `<h3>Labels</h3><ul>${labels.map(({ name, note }) => `<li>${escapeText(name, 200)}${note === '' ? '' : `: ${escapeText(note, 2000)}`}</li>`).join('')}</ul>`}</section>
<section><h2>What it was worth</h2>${worthTable(report)}</section>
${buckets.map((bucket) => bucketSection(bucket, message.message)).join('\n')}
${leftOutPart(report.leftOut)}
${READING}`;
  return writePage(title, content, BARS_STYLE + REPORT_STYLE);
}

/** Returns the main result in one sentence. */
function writeFindingLead({ message: { credit } }: FindingReport): string {
  if (credit === null) {
    return 'What this message was worth was not measured: it has no alternatives with a return.';
  }
  if (credit.value === null) {
    return `What this message was worth was not measured: ${escapeText(credit.sentence, 200)}.`;
  }
  return `Credit <strong>${signed(credit.value)}</strong> ${creditBounds(credit)} against the other messages in the same context, n ${count(credit.n)} (${count(credit.effectiveN)} independent). ${describeVerdict(credit)}`;
}

function describeVerdict({ verdict, sentence }: ReportedCredit): string {
  if (verdict === 'helped' || verdict === 'hurt') {
    return `It ${verdict}.`;
  }
  return `Whether it helped or hurt is ${escapeText(sentence, 200)}.`;
}

interface Worth {
  readonly bucket: ReportedBucket;
  readonly credit: EstimatedCredit;
}

/** Returns every estimator's credit. Requested replays come first, having more returns. */
function listWorths({ buckets, message }: FindingReport): readonly Worth[] {
  // Credits of another distribution come last, marked as such.
  const rank = ({ origin, continuation }: ReportedBucket): number =>
    continuation.other !== null ? 2 : origin === 'request' ? 0 : 1;
  const ordered = buckets.toSorted((a, b) => rank(a) - rank(b));
  return ordered.flatMap((bucket) => {
    const own = bucket.alternatives.find((alternative) => alternative.message === message.message);
    const removal = bucket.removal === null || own?.original !== true ? [] : [{ ...bucket.removal, stored: false }];
    return [...(own?.credits ?? []), ...removal].map((credit) => ({ bucket, credit }));
  });
}

function worthTable(report: FindingReport): string {
  const { estimates, trainingCredit } = report.message;
  const rows = estimates.map(({ name, credit, reason }) => {
    const { label, detail } = ESTIMATE_WORDS[name];
    const head = `<th scope="row" title="${escapeText(detail, 300)}">${label}${name === 'replace' ? ' (its credit)' : ''}</th>`;
    return credit === null
      ? `<tr>${head}<td colspan="5" class="none">${NOT_MEASURED}: ${escapeText(reason ?? '', 200)}</td></tr>`
      : `<tr>${head}${writeCreditCells(credit)}</tr>`;
  });
  const trained =
    trainingCredit === null
      ? []
      : [
          `<tr><th scope="row">Training credit (${estimatorName(trainingCredit)})</th>${writeCreditCells(trainingCredit)}</tr>`,
        ];
  const pooled = table(
    'What the message was worth',
    ['', 'credit', '95 % interval', 'method', 'n', 'evaluator calls'],
    [...rows, ...trained],
    'numbers',
  );
  return `${pooled}<p class="note">Replace, remove and full mean are pooled over everything that was replayed in this context as the message was made. The training credit is the run\u2019s own record.</p>${bucketWorths(report)}`;
}

const writeCreditCells = (credit: Credit): string =>
  `<td>${signed(credit.value)}</td><td class="whole">${creditBounds(credit)}</td><td>${escapeText(credit.interval, 20)}</td><td>${count(credit.n)}</td><td>${count(credit.evaluatorCalls)}</td>`;

/** Returns the credits from each bucket by itself. */
function bucketWorths(report: FindingReport): string {
  const all = listWorths(report);
  if (all.length === 0) {
    return '';
  }
  const lines = all.map(
    ({ bucket, credit }) =>
      `<tr><th scope="row">${estimatorName(credit)}</th><td class="left"><a href="#bucket-${bucket.bucket}">${bucketName(bucket)}</a>${bucket.continuation.other === null ? '' : `<br><span class="note">${escapeText(bucket.continuation.other, 400)}</span>`}</td>${writeCreditCells(credit)}<td>${credit.stored ? 'stored' : 'computed'}</td></tr>`,
  );
  return `<details><summary>Each bucket separately</summary>${table('What each bucket says of the message', ['estimator', 'measured in', 'credit', '95 % interval', 'method', 'n', 'evaluator calls', ''], lines, 'second-left')}</details>`;
}

function bucketName({ origin, iteration, bucket }: ReportedBucket): string {
  const names = {
    training: `Training step ${iteration}`,
    request: `Replay ${iteration}`,
    diagnostic: `Diagnostic sample ${iteration}`,
  };
  return `${names[origin]} (bucket ${bucket})`;
}

function bucketSection(bucket: ReportedBucket, message: number): string {
  const { alternatives, continuation, verified, cost } = bucket;
  const id = `bucket-${bucket.bucket}`;
  const labelOf = (alternative: ReportedAlternative): string =>
    `${alternative.message === message ? '\u25b8 ' : ''}${alternative.index}: ${alternative.text.text.trim() === '' ? 'empty' : alternative.text.text}`;
  const shown = alternatives.slice(0, BARS);
  const drawn = barsPicture(
    `${id}-credit`,
    `Credit of the alternatives of ${bucketName(bucket)}`,
    shown.map((alternative) => ({ label: labelOf(alternative), value: mainCredit(alternative) })),
    (value) => signed(value),
    'credit',
  );
  const note = `Credit, pooled over all buckets that were continued as this one; 95 % interval across. \u25b8 is the message itself.${alternatives.length > BARS ? ` The first ${BARS} of ${count(alternatives.length)}.` : ''}`;
  return `<section id="${id}"><h2>${bucketName(bucket)}</h2>
${facts([
  ['Drawn with', continuation.draws === null ? 'nothing to compare' : DRAWS_WORDS[continuation.draws]],
  ['Continued by', describeWeights(continuation)],
  ['Re-executed', verified === null ? 'it has no replays' : formatVerified(verified)],
  ['Cost', costWords(cost)],
])}
<p class="note">${escapeText(continuation.assumption, 1000)}</p>
${figure('Credit', drawn, note, '')}
${alternativesTable(alternatives, message)}
${alternatives.map((alternative) => alternativePart(alternative, message)).join('')}</section>`;
}

/** Returns the headline credit, or null if the message had no comparison. */
const mainCredit = ({ credit }: ReportedAlternative): MeasuredCredit | null => measuredCredit(credit);

function alternativesTable(alternatives: readonly ReportedAlternative[], message: number): string {
  const lines = alternatives.map((alternative) => {
    const { index, text, returns, verification } = alternative;
    const credit = mainCredit(alternative);
    const measured = returns.filter((value) => value !== null);
    const mean =
      measured.length === 0
        ? NOT_MEASURED
        : formatReturn(measured.reduce((sum, value) => sum + value, 0) / measured.length);
    return `<tr${alternative.message === message ? ' class="original"' : ''}><th scope="row">${index}${alternative.message === message ? ' \u25b8<span class="hidden"> the message itself</span>' : ''}</th><td class="text">${beginning(text)}</td><td>${mean}<small>${formatReturns(returns)}</small></td><td>${credit === null ? `<span class="none">${NOT_MEASURED}</span>` : `${signed(credit.value)}<small>${creditBounds(credit)}, n ${count(credit.n)}</small><small>${escapeText(credit.sentence, 200)}</small>`}</td><td class="left">${verificationCell(verification)}</td></tr>`;
  });
  return table('Alternatives', ['', 'text', 'mean return', 'credit', 're-executed'], lines, 'second-left last-left');
}

/** Writes up to sixteen returns one by one, and the number of more. */
function formatReturns(returns: readonly (number | null)[]): string {
  if (returns.length === 0) {
    return 'no return';
  }
  return returns.length <= 16 ? returns.map(formatReturn).join(' ') : `${count(returns.length)} returns`;
}

function alternativePart(alternative: ReportedAlternative, message: number): string {
  const { index, branches, text, tokens, finish } = alternative;
  const own = alternative.message === message;
  const ends = branches.every(({ messages, leftOut }) => messages.length === 0 && leftOut === 0);
  const number = branches.length === 1 ? 'one continuation' : `${count(branches.length)} continuations`;
  return `<details class="alternative"><summary>Alternative ${index}${own ? ', the message itself' : ''}: ${beginning(text, 60)}${ends ? '' : `, ${number}`}</summary>
<p class="who">message ${alternative.message}, ${count(tokens)} tokens, ${FINISHED[finish]}</p>${textBlock(text)}${ends ? '' : branches.map((branch, at) => branchPart(branch, at)).join('')}</details>`;
}

function branchPart({ replay, return: value, messages, leftOut, verification }: Branch, index: number): string {
  const name = replay === null ? `Continuation ${index}` : `Replay ${replay}`;
  const found =
    verification === null
      ? ''
      : `, ${verificationCell({ state: verification.result, label: { identical: 'identical', different: 'different', notComparable: 'not comparable' }[verification.result], detail: verification.detail })}`;
  const detail =
    verification === null || verification.result === 'identical' || verification.detail === ''
      ? ''
      : `<p class="note">${escapeText(verification.detail, 400)}</p>`;
  const omitted =
    leftOut === 0
      ? ''
      : `<p class="note">${count(leftOut)} ${leftOut === 1 ? 'message' : 'messages'} of it ${leftOut === 1 ? 'is' : 'are'} left out.</p>`;
  return `<details class="branch"><summary>${name}: return ${formatReturn(value)}${found}</summary>${detail}${omitted}${messages.map(writeMessageBlock).join('')}</details>`;
}

function writeMessageBlock({ message, role, turn, text, tokens, finish }: ReportedMessage): string {
  return `<p class="who"><strong>${escapeText(role, 80)}</strong>${turn === 0 ? '' : `, turn ${turn + 1}`}, message ${message}, ${count(tokens)} tokens${finish === 'end' ? '' : `, ${FINISHED[finish]}`}</p>${textBlock(text)}`;
}

function describeWeights({ snapshot, step, other, sampling }: Continuation): string {
  const weights = `weights <code>${escapeText(snapshot.slice(0, 16))}</code>${step === null ? '' : ` (after step ${step})`}`;
  return `${weights}${other === null ? '' : ', <strong>another continuation distribution</strong>'}${sampling === null ? '' : `, ${describeSampling(sampling)}`}`;
}

function describeEnvironment({
  runtime,
  provider,
  device,
  threads,
  platform,
}: FindingReport['message']['environment']): string {
  return escapeText(
    `${runtime}, ${provider} on ${device}, ${threads} ${threads === 1 ? 'thread' : 'threads'}, ${platform}`,
    300,
  );
}

const READING = `<section class="reading"><h2>How to read this page</h2><dl>
<dt>Credit</dt><dd>The expected return of a message less that of the policy\u2019s own messages in exactly the same context, pooled over everything that was replayed there under the same weights and temperature. Replace (leave-one-out): against the others; what a person typed is in no baseline. Full mean: against all, itself among them. Remove: against nothing said in its place.</dd>
<dt>Intervals</dt><dd>95 %. Betting: a confidence sequence of paired differences, valid however often one looks while replays are added. Of a single bucket\u2019s record: Newcombe\u2019s, with the other alternatives as draws of the policy, or Welch\u2019s where episodes are compared by graded returns. n counts distinct results; copies that cannot differ count once. One that holds 0 leaves open whether the message helped or hurt.</dd>
<dt>Masked</dt><dd>The evaluator itself failed: no return, and never a 0.</dd>
<dt>Re-executed</dt><dd>A replay that is executed again must give the same tokens and the same return. Identical: it did. Different: it did not, at the token that is named. Not comparable: nothing can be said, for the reason that is named.</dd>
<dt>Random numbers</dt><dd>Common: replay m of each alternative drew the same numbers, so that chance cancels in their difference. Independent: each drew its own.</dd>
</dl></section>`;
