/** Environment events of episodes, and their places between messages. */

import { MAX_EVENT_TEXT, type Json } from '../../domain/episode.ts';
import { C3Error } from '../../shared/errors.ts';
import { damagedStoreError, withStoreErrors, type Session } from '../files/sqlite.ts';
import type { StoredEvent } from '../rowTypes.ts';
import { eventHash } from '../tokens.ts';
import type { StoreReader, StoreWriter } from '../types.ts';
import { guardTriggers } from './schema.ts';

/**
 * The SQL that adds them to a store. `parent` is the message before an event, `previous` the event
 * between the two. `decision_events` names the last event before a message, and the last after a
 * message that ends an episode.
 */
export const ENVIRONMENT_EVENTS = `
CREATE TABLE environment_event (
  id INTEGER PRIMARY KEY,
  run TEXT NOT NULL REFERENCES run,
  parent INTEGER REFERENCES decision,
  previous INTEGER REFERENCES environment_event,
  source TEXT NOT NULL,
  body TEXT NOT NULL,
  json TEXT NOT NULL,
  answers TEXT,
  done TEXT,
  derived INTEGER NOT NULL CHECK (derived IN (0, 1)),
  closing INTEGER NOT NULL CHECK (closing IN (0, 1)),
  stream_key TEXT NOT NULL,
  reward REAL,
  sha256 TEXT NOT NULL
) STRICT;
CREATE INDEX environment_event_parent ON environment_event (parent) WHERE parent IS NOT NULL;
${guardTriggers('environment_event', 'id = NEW.id')}
CREATE TABLE decision_events (
  decision INTEGER NOT NULL REFERENCES decision,
  side TEXT NOT NULL CHECK (side IN ('before', 'after')),
  event INTEGER NOT NULL REFERENCES environment_event,
  PRIMARY KEY (decision, side)
) STRICT;
${guardTriggers('decision_events', 'decision = NEW.decision AND side = NEW.side')}
`;

interface EventRow {
  readonly id: number;
  readonly previous: number | null;
  readonly source: string;
  readonly body: string;
  readonly json: string;
  readonly answers: string | null;
  readonly done: string | null;
  readonly derived: 0 | 1;
  readonly closing: 0 | 1;
  readonly streamKey: string;
  readonly reward: number | null;
  readonly sha256: string;
}

export function environmentEventReaders(session: Session): Pick<StoreReader, 'environmentEvents'> {
  const { db, path } = session;
  const last = db
    .prepare<[number, string], number>('SELECT event FROM decision_events WHERE decision = ? AND side = ?')
    .pluck();
  const one = db.prepare<[number], EventRow>(`
    SELECT id, previous, source, body, json, answers, done, derived, closing, stream_key AS streamKey, reward, sha256
    FROM environment_event WHERE id = ?`);
  return {
    environmentEvents: withStoreErrors(session, (message, side) => {
      const events: StoredEvent[] = [];
      let limit = Infinity;
      for (let id = last.get(message, side) ?? null; id !== null;) {
        const row = one.get(id);
        // An event is stored before the one that follows it.
        if (row === undefined || id >= limit) {
          throw damagedStoreError(path, `an environment event ${side} message ${message} does not follow its own`);
        }
        limit = id;
        id = row.previous;
        events.push(toStoredEvent(row));
      }
      return events.reverse();
    }),
  };
}

function toStoredEvent(row: EventRow): StoredEvent {
  const { id, source, body: text, done, streamKey, reward, sha256 } = row;
  return {
    id,
    sha256,
    event: {
      kind: 'environment',
      source,
      text,
      json: JSON.parse(row.json) as Json,
      ...(row.answers !== null && { answers: JSON.parse(row.answers) as string[] }),
      done,
      derived: row.derived === 1,
      streamKey,
      closing: row.closing === 1,
      ...(reward !== null && { reward }),
    },
  };
}

const isEventRow = (row: Readonly<Record<string, unknown>>): row is Readonly<Record<string, unknown>> & EventRow =>
  ['source', 'body', 'json', 'streamKey', 'sha256'].every((name) => typeof row[name] === 'string') &&
  ['answers', 'done'].every((name) => row[name] === null || typeof row[name] === 'string') &&
  ['id', 'derived', 'closing'].every((name) => typeof row[name] === 'number');

/** Returns true if a row of environment_event matches its hash, false if it does not or cannot be read. */
export function isWholeEvent(row: Readonly<Record<string, unknown>>): boolean {
  const event = { ...row, streamKey: row['stream_key'] };
  try {
    return isEventRow(event) && eventHash(toStoredEvent(event).event) === event.sha256;
  } catch (error) {
    if (error instanceof SyntaxError) {
      return false;
    }
    throw error;
  }
}

type Writers = Pick<StoreWriter, 'insertEnvironmentEvent' | 'linkEnvironmentEvent'>;

export function environmentEventWriters({ db, path }: Session): Writers {
  const session = { db, path };
  const insert = db.prepare<[Omit<EventRow, 'id'> & { readonly run: string; readonly parent: number | null }]>(`
    INSERT INTO environment_event
      (run, parent, previous, source, body, json, answers, done, derived, closing, stream_key, reward, sha256)
    VALUES (@run, @parent, @previous, @source, @body, @json, @answers, @done, @derived, @closing, @streamKey, @reward, @sha256)`);
  const link = db.prepare<[number, string, number]>(
    'INSERT INTO decision_events (decision, side, event) VALUES (?, ?, ?)',
  );
  return {
    insertEnvironmentEvent: withStoreErrors(session, ({ run, parent, previous, event, reward }) => {
      if (event.text.length > MAX_EVENT_TEXT || (reward !== null && !Number.isFinite(reward))) {
        throw new C3Error(
          'store',
          `An event of the environment ${event.source} is longer than ${MAX_EVENT_TEXT} characters, or its reward is no number: nothing was stored.`,
        );
      }
      const row = {
        run,
        parent,
        previous,
        source: event.source,
        body: event.text,
        json: JSON.stringify(event.json),
        answers: event.answers === undefined ? null : JSON.stringify(event.answers),
        done: event.done,
        derived: event.derived ? 1 : 0,
        closing: event.closing ? 1 : 0,
        streamKey: event.streamKey,
        reward,
        sha256: eventHash(event),
      } as const;
      return Number(insert.run(row).lastInsertRowid);
    }),
    linkEnvironmentEvent: withStoreErrors(session, (message, side, event) => link.run(message, side, event)),
  };
}
