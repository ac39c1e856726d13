/** What a command is about, from what the menu or the palette gives it. */
import { isRecord } from '../shared/guard.ts';
import type { EpisodeNode, RoundNode, RunNode } from './sidebar/runsModel.ts';

/** A run given by its id, with one of its roles, by its item in the tree or by one of a step. */
export function runOf(argument: unknown): string | undefined {
  if (typeof argument === 'string') {
    return argument;
  }
  if (isRunRole(argument)) {
    return argument.run;
  }
  if (isNode<RoundNode>(argument, 'round')) {
    return argument.run;
  }
  return isNode<RunNode>(argument, 'run') ? argument.run.id : undefined;
}

/** The role that is given with a run. */
export const roleOf = (argument: unknown): string | undefined => (isRunRole(argument) ? argument.role : undefined);

const isRunRole = (value: unknown): value is { readonly run: string; readonly role: string } =>
  isRecord(value) && typeof value['run'] === 'string' && typeof value['role'] === 'string';

/** The message on which a context menu was opened, in the transcript panel or in the side bar. */
export function messageOfMenu(argument: unknown): number | undefined {
  if (isNode<EpisodeNode>(argument, 'episode')) {
    return argument.episode.leaf;
  }
  const message = isRecord(argument) ? argument['message'] : undefined;
  return typeof message === 'number' && Number.isSafeInteger(message) ? message : undefined;
}

/** The problem on which a context menu was opened in the episodes panel. */
export function problemOfMenu(argument: unknown): number | undefined {
  const problem = isRecord(argument) ? argument['problem'] : undefined;
  return typeof problem === 'number' && Number.isSafeInteger(problem) ? problem : undefined;
}

/** Whether a value is a node of a tree view. */
export function isNode<T extends { readonly kind: string }>(value: unknown, kind: T['kind']): value is T {
  return isRecord(value) && value['kind'] === kind;
}
