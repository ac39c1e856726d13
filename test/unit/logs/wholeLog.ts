/** A log with all of its episodes at once, as tests look at them. */

import assert from 'node:assert/strict';
import type { SpeakerSource } from '../../../src/domain/episode.ts';
import { LogIndex } from '../../../src/engine/exchange/logIndex.ts';
import {
  Survey,
  type RecordedEpisode,
  type RecordedEvent,
  type RecordedLog,
  type RecordedMessage,
} from '../../../src/logs/episode.ts';
import { readLog } from '../../../src/logs/readLog.ts';
import { LogReader, type LogSource } from '../../../src/logs/source.ts';

/** @param piece bytes that are there at once at most, for what lies across two pieces */
export function sourceOf(text: string | Buffer, name = 'log.json', piece = Number.POSITIVE_INFINITY): LogSource {
  const bytes = Buffer.from(text);
  return {
    name,
    size: bytes.length,
    read: (start, end) => bytes.subarray(start, end),
    fill: (buffer, start) => bytes.copy(buffer, 0, start, Math.min(bytes.length, start + buffer.length, start + piece)),
  };
}

/** The log of a text; null where it is none. */
export function read(text: string | Buffer, name?: string, survey = new Survey()): RecordedLog | null {
  const work = readLog(new LogReader(sourceOf(text, name), false), new LogIndex('log.json'), survey);
  for (;;) {
    const { done, value } = work.next();
    if (done === true) {
      return value;
    }
  }
}

export interface WholeLog {
  readonly format: string;
  readonly episodes: readonly (Omit<RecordedEpisode, 'entries'> & {
    readonly entries: readonly (RecordedMessage | RecordedEvent)[];
  })[];
  readonly speakers: ReadonlyMap<string, SpeakerSource>;
  readonly leftOut: ReadonlyMap<string, number>;
}

export function wholeLog(text: string | Buffer): WholeLog {
  const survey = new Survey();
  const log = read(text, undefined, survey);
  assert.ok(log !== null);
  const episodes: WholeLog['episodes'][number][] = [];
  for (const episode of log.episodes(survey)) {
    episodes.push({ ...episode, entries: [...episode.entries] });
  }
  return { format: log.format, episodes, speakers: survey.speakers, leftOut: survey.leftOut };
}

/** `speaker > text` for a message, `[source] text` for what came from outside. */
export const saidIn = (log: string): string[] =>
  wholeLog(log).episodes.flatMap(({ entries }) =>
    entries.map((entry) =>
      entry.kind === 'message' ? `${entry.speaker} > ${entry.text}` : `[${entry.source}] ${entry.text}`,
    ),
  );

/** The context of the last message, `role: text`. */
export const askedIn = (log: string): string[] =>
  wholeLog(log)
    .episodes.flatMap(({ entries }) => entries)
    .flatMap((entry) => (entry.kind === 'message' ? [entry.context] : []))
    .slice(-1)
    .flatMap(({ list, length }) => list.slice(0, length).map(({ role, text }) => `${role}: ${text}`));
