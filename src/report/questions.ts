/** Answers an assistant's questions about a store with plain data of limited size. */

import type { Blame, RunBlame } from '../domain/answer.ts';
import { toHeadlineJson, type HeadlineJson } from '../shared/credit/headline.ts';
import { formatLink, type Subject } from '../shared/links.ts';
import { toOneLine } from '../shared/text/oneLine.ts';
import type { StoreReader } from '../store/types.ts';
import { findingReport } from './report.ts';

/** The extension's own address in VS Code. */
const EXTENSION = 'vscode://c3-replay.c3-replay';
const LONGEST_TEXT = 500;

/** Returns the link that opens a run or message in VS Code if the folder of its store is open. */
export const buildLink = (folder: string, subject: Subject): string => EXTENSION + formatLink({ subject, folder });

/** Adds a link to a blame result: to its message, or else to the end of the episode. */
export const withBlameLink = (folder: string, run: string, found: Blame): Blame & { readonly link: string } => ({
  ...found,
  link: buildLink(folder, { kind: 'message', id: found.message ?? found.episode, run }),
});

/** Adds a link to each case of a run's blame result. */
export const withLossLinks = (folder: string, found: RunBlame): object => ({
  ...found,
  cases: found.cases.map((one) => ({
    ...one,
    link: buildLink(folder, { kind: 'message', id: one.message ?? one.episode, run: found.run }),
  })),
});

export interface RunRow {
  readonly run: string;
  readonly title: string;
  readonly method: string;
  readonly status: string;
  readonly createdAt: string;
  readonly steps: number;
  readonly accuracy: unknown;
  readonly link: string;
}

/** Returns the newest runs. */
export const runRows = (store: StoreReader, folder: string, limit: number): RunRow[] =>
  store
    .runs(0, limit)
    .map(({ id, title, method, status, createdAt, steps, summary }) => ({
      run: id,
      title: toOneLine(title, LONGEST_TEXT),
      method,
      status,
      createdAt,
      steps,
      accuracy: summary?.accuracy ?? null,
      link: buildLink(folder, { kind: 'run', run: id }),
    }));

export interface CreditRow {
  readonly message: number;
  readonly bucket: number;
  readonly role: string;
  readonly text: string;
  readonly question: string;
  readonly credit: HeadlineJson;
  readonly link: string;
}

/**
 * Returns the messages of a run with the lowest credit. Those whose interval is below 0 come first.
 * @throws C3Error('input') for an unknown run
 */
export function lowestCredit(store: StoreReader, folder: string, run: string, limit: number): CreditRow[] {
  store.run(run);
  return store.lowestMessages(run, limit).map(({ message, bucket, credit }) => {
    const { role, text, problem } = store.message(message);
    return {
      message,
      bucket,
      role,
      text: text.slice(0, LONGEST_TEXT),
      question: store.problem(problem).question.slice(0, LONGEST_TEXT),
      credit: toHeadlineJson(credit),
      link: buildLink(folder, { kind: 'message', id: message, run }),
    };
  });
}

/**
 * Returns the report of one message, as in `c3 report --message`.
 * @throws C3Error('input') for an unknown message
 */
export function buildLinkedFinding(
  store: StoreReader,
  folder: string,
  message: number,
): { readonly link: string; readonly finding: unknown } {
  const { run } = store.message(message);
  return { link: buildLink(folder, { kind: 'message', id: message, run }), finding: findingReport(store, message) };
}
