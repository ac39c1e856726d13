/** Finds the subject of "Export report" and "Copy link": that of a menu, or the user's choice. */

import { window } from 'vscode';
import { isRecord } from '../../shared/guard.ts';
import type { Subject } from '../../shared/links.ts';
import type { StoreReader } from '../../store/read/reader.ts';
import { oneLine } from '../common/oneLine.ts';
import type { BucketNode } from '../sidebar/bucketsModel.ts';
import { pickRun } from '../sidebar/pick.ts';
import type { EpisodeNode, RunNode } from '../sidebar/runsModel.ts';
import { findBucketMessage } from './links.ts';

/**
 * Finds the subject of a command, and asks if the argument names none.
 * @param argument the command's argument: an item of the tree, or the context of a panel
 * @param looked the message selected in the active transcript
 * @returns undefined if the user canceled
 */
export async function findSubject(
  reader: StoreReader,
  argument: unknown,
  looked: number | null,
  title: string,
): Promise<Subject | undefined> {
  const given = readGivenSubject(reader, argument);
  if (given !== undefined) {
    return given;
  }
  if (looked === null) {
    const run = await pickRun(reader, title);
    return run === undefined ? undefined : { kind: 'run', run };
  }
  const { run, role, text } = reader.message(looked);
  const items: readonly { readonly label: string; readonly description: string; readonly subject: Subject }[] = [
    {
      label: `Message ${looked} by the ${role}`,
      description: oneLine(text),
      subject: { kind: 'message', id: looked, run },
    },
    { label: 'The whole run', description: reader.run(run).title, subject: { kind: 'run', run } },
  ];
  return (await window.showQuickPick(items, { title, placeHolder: 'What should it cover?' }))?.subject;
}

/** Returns the subject of a tree item or of a panel's context, or undefined if it has none. */
export function readGivenSubject(reader: StoreReader, argument: unknown): Subject | undefined {
  if (typeof argument === 'string') {
    return { kind: 'run', run: reader.run(argument).id };
  }
  if (!isRecord(argument)) {
    return undefined;
  }
  if (isSubjectNode<RunNode>(argument, 'run')) {
    return { kind: 'run', run: argument.run.id };
  }
  if (isSubjectNode<BucketNode>(argument, 'bucket')) {
    return toBucketSubject(reader, argument.bucket);
  }
  if (isSubjectNode<EpisodeNode>(argument, 'episode')) {
    return { kind: 'message', id: argument.episode.leaf, run: argument.episode.run };
  }
  const [message, bucket] = [readNumberArgument(argument, 'message'), readNumberArgument(argument, 'bucket')];
  if (message !== undefined) {
    return { kind: 'message', id: message, run: reader.message(message).run };
  }
  return bucket === undefined ? undefined : toBucketSubject(reader, bucket);
}

/** Returns a bucket as a subject, or undefined if it has no message. */
function toBucketSubject(reader: Pick<StoreReader, 'bucketView' | 'message'>, bucket: number): Subject | undefined {
  const about = findBucketMessage(reader, bucket);
  return about === null ? undefined : { kind: 'bucket', id: bucket, run: reader.message(about).run };
}

function readNumberArgument(argument: Readonly<Record<string, unknown>>, key: string): number | undefined {
  const value = argument[key];
  return typeof value === 'number' && Number.isSafeInteger(value) ? value : undefined;
}

function isSubjectNode<T extends { readonly kind: string }>(value: unknown, kind: T['kind']): value is T {
  return isRecord(value) && value['kind'] === kind;
}
