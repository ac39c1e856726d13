/** Reads the subject of a command from the argument that a menu or the palette passes. */

import { isRecord } from '../shared/guard.ts';
import type { EpisodeNode, RoundNode, RunNode } from './sidebar/runsModel.ts';

/** Returns the run of an argument: its id, a run with a role, or the tree item of a run or a step. */
export function readRunArgument(argument: unknown): string | undefined {
  if (typeof argument === 'string') {
    return argument;
  }
  if (isRunRole(argument)) {
    return argument.run;
  }
  if (isTreeNode<RoundNode>(argument, 'round')) {
    return argument.run;
  }
  return isTreeNode<RunNode>(argument, 'run') ? argument.run.id : undefined;
}

/** Returns the role that an argument names together with its run. */
export const readRoleArgument = (argument: unknown): string | undefined =>
  isRunRole(argument) ? argument.role : undefined;

const isRunRole = (value: unknown): value is { readonly run: string; readonly role: string } =>
  isRecord(value) && typeof value['run'] === 'string' && typeof value['role'] === 'string';

/** Returns the message of a context menu in the transcript panel or the side bar. */
export function readMessageArgument(argument: unknown): number | undefined {
  if (isTreeNode<EpisodeNode>(argument, 'episode')) {
    return argument.episode.leaf;
  }
  const message = isRecord(argument) ? argument['message'] : undefined;
  return typeof message === 'number' && Number.isSafeInteger(message) ? message : undefined;
}

/** Returns the problem of a context menu in the episodes panel. */
export function readProblemArgument(argument: unknown): number | undefined {
  const problem = isRecord(argument) ? argument['problem'] : undefined;
  return typeof problem === 'number' && Number.isSafeInteger(problem) ? problem : undefined;
}

/** Returns true if a value is a tree node of the given kind. */
export function isTreeNode<T extends { readonly kind: string }>(value: unknown, kind: T['kind']): value is T {
  return isRecord(value) && value['kind'] === kind;
}
