/** Formats runs for the side bar and for quick picks. */

import { BY_HAND, type Episode } from '../../domain/episode.ts';
import { isResumable } from '../../domain/run.ts';
import type { Step } from '../../domain/step.ts';
import type { RunProgress } from '../../shared/protocols/jobs.ts';
import { formatRemaining } from '../../shared/text/times.ts';
import { oneLine } from '../common/oneLine.ts';
import type { RoundNode, RunNode } from './runsModel.ts';

/** Formats the text beside a run in the tree. @param current the newest progress of any run in progress */
export function formatRunDescription(
  { run, status }: Pick<RunNode, 'run' | 'status'>,
  current: Pick<RunProgress, 'run' | 'remainingSeconds'> | null = null,
): string {
  const remaining = status === 'running' && current?.run === run.id ? formatRemaining(current.remainingSeconds) : '';
  const steps = `${isResumable(status) ? `${status}, ` : ''}${run.steps} of ${run.plannedSteps} steps${remaining === '' ? '' : `, ${remaining}`}`;
  const before = run.summary?.accuracy.before ?? null;
  const after = run.summary?.accuracy.after ?? null;
  const words =
    before === null || after === null
      ? steps
      : `${steps}, ${formatAccuracyPercent(before.value)} → ${formatAccuracyPercent(after.value)}`;
  return [words, ...run.tags.map((tag) => `#${tag}`)].join(' ');
}

/** Formats the text beside a step or an evaluation in the tree. */
export function formatRoundDescription(node: Pick<RoundNode, 'step' | 'episodes'>): string {
  const episodes = `${node.episodes} ${node.episodes === 1 ? 'episode' : 'episodes'}`;
  return node.step === null ? episodes : `${formatMeanReturn(node.step)}, ${episodes}`;
}

function formatMeanReturn(step: Step): string {
  if (step.metrics === null) {
    return 'unfinished';
  }
  return `mean return ${step.metrics.meanReturn?.toFixed(2) ?? 'not measured'}`;
}

/** Returns the start of the episode's question on one line. */
export function formatEpisodeLabel(episode: Episode): string {
  return oneLine(episode.question);
}

/** Formats the return of an episode, which is missing if the evaluator failed. */
export function formatEpisodeReturn({ return: value, rule }: Pick<Episode, 'return' | 'rule'>): string {
  if (value === null) {
    return 'masked: the evaluator failed';
  }
  return `return ${Math.round(1000 * value) / 1000}${rule === BY_HAND ? `, ${BY_HAND}` : ''}`;
}

function formatAccuracyPercent(value: number): string {
  return `${(100 * value).toFixed(1)} %`;
}
