/** How runs are put in words outside the panels. */
import type { RunProgress } from '../../shared/protocols/engineProtocol.ts';
import type { Episode, Step } from '../../shared/records/records.ts';
import { remainingWords } from '../../shared/text/times.ts';
import { isResumable } from '../../shared/records/runStatus.ts';
import type { RoundNode, RunNode } from './runsModel.ts';

const STAGES = { load: 'Loading', 'evaluate-before': 'Evaluation before', train: 'Training', 'evaluate-after': 'Evaluation after' } as const;
const SHARES = { load: [0, 5], 'evaluate-before': [5, 15], train: [15, 85], 'evaluate-after': [85, 100] } as const;
/** Characters of a text beside others in a list. */
const LABEL = 60;

/** The stage of a run with its place in it. */
export function stageWords({ stage, done, total }: Pick<RunProgress, 'stage' | 'done' | 'total'>): string {
  if (total === 0) return STAGES[stage];
  // Loading counts bytes.
  if (stage === 'load') return `${STAGES[stage]}, ${String(Math.floor((100 * done) / total))} %`;
  return stage === 'train' ? `${STAGES[stage]}, step ${String(done)} of ${String(total)}` : `${STAGES[stage]}, ${String(done)} of ${String(total)}`;
}

/** The stage of a run with what remains of the whole run, where that is known. */
export function progressWords(progress: Pick<RunProgress, 'stage' | 'done' | 'total' | 'remainingSeconds'>): string {
  const remaining = remainingWords(progress.remainingSeconds);
  return `${stageWords(progress)}${remaining === '' ? '' : `, ${remaining}`}`;
}

/** Where a whole run stands, in percent; stages are given shares, for nobody knows beforehand how long each takes. */
export function overallPercent({ stage, done, total }: Pick<RunProgress, 'stage' | 'done' | 'total'>): number {
  const [from, to] = SHARES[stage];
  return from + (total === 0 ? 0 : ((to - from) * done) / total);
}

/** What stands beside a run in the tree. @param current the newest word on the run that goes on, whichever it is */
export function runDescription({ run, status }: Pick<RunNode, 'run' | 'status'>, current: Pick<RunProgress, 'run' | 'remainingSeconds'> | null = null): string {
  const remaining = status === 'running' && current?.run === run.id ? remainingWords(current.remainingSeconds) : '';
  const steps = `${isResumable(status) ? `${status}, ` : ''}${String(run.steps)} of ${String(run.plannedSteps)} steps${remaining === '' ? '' : `, ${remaining}`}`;
  const before = run.summary?.accuracy.before ?? null;
  const after = run.summary?.accuracy.after ?? null;
  return before === null || after === null ? steps : `${steps}, ${percent(before.value)} → ${percent(after.value)}`;
}

/** What stands beside a step or an evaluation in the tree. */
export function roundDescription(node: Pick<RoundNode, 'step' | 'episodes'>): string {
  const episodes = `${String(node.episodes)} ${node.episodes === 1 ? 'episode' : 'episodes'}`;
  return node.step === null ? episodes : `${meanReturn(node.step)}, ${episodes}`;
}

function meanReturn(step: Step): string {
  if (step.metrics === null) return 'unfinished';
  return `mean return ${step.metrics.meanReturn?.toFixed(2) ?? 'not measured'}`;
}

/** The start of the episode's question, on one line. */
export function episodeLabel(episode: Episode): string {
  return oneLine(episode.question);
}

/** The start of a text, on one line. */
export function oneLine(text: string): string {
  const line = text.slice(0, 4 * LABEL).replaceAll(/\s+/gu, ' ').trim();
  return line.length > LABEL ? `${line.slice(0, LABEL)}…` : line;
}

/** The return in words; an evaluator that failed gives none. */
export function episodeReturn(value: number | null): string {
  return value === null ? 'masked: the evaluator failed' : `return ${String(Math.round(1000 * value) / 1000)}`;
}

function percent(value: number): string {
  return `${(100 * value).toFixed(1)} %`;
}
