/**
 * The user's notes on episodes: a score, a note and tags, appended and never changed; the last one
 * counts. This file also defines the return of an episode.
 */

import { BY_HAND } from '../../domain/episode.ts';
import { withStoreErrors } from '../files/sqlite.ts';
import type { Session } from '../files/sqlite.ts';
import type { StoreReader, StoreWriter } from '../types.ts';
import { guardTriggers } from './schema.ts';

/**
 * Adds a score by hand to the list of problems, or removes it.
 * @param row of hand_return
 * @param by 1 or -1
 */
const listScoreSql = (row: string, by: string): string => `
  INSERT INTO problem_round (problem, phase, iteration, episodes, returns, total)
  SELECT id, ${row}.phase, ${row}.iteration, ${by}, ${by}, ${by} * ${row}.return
  FROM problem WHERE run = ${row}.run AND instance = ${row}.instance
  ON CONFLICT (problem, phase, iteration) DO UPDATE SET episodes = episodes + excluded.episodes,
    returns = returns + excluded.returns, total = total + excluded.total;`;

/**
 * The SQL of the store version that keeps them. `tags` is a JSON list of texts; a score of NULL means
 * none. hand_return is derived: it holds the scores by hand that are returns, which are those of
 * recorded episodes without another score. A later score from the log, or a further message, removes
 * the row.
 */
export const EPISODE_NOTES = `
CREATE TABLE episode_note (
  id INTEGER PRIMARY KEY,
  run TEXT NOT NULL REFERENCES run,
  leaf INTEGER NOT NULL REFERENCES decision,
  score REAL,
  note TEXT NOT NULL,
  tags TEXT NOT NULL,
  author TEXT NOT NULL,
  created_at TEXT NOT NULL
) STRICT;
CREATE INDEX episode_note_leaf ON episode_note (leaf);
CREATE INDEX episode_note_run ON episode_note (run);
${guardTriggers('episode_note', 'id = NEW.id')}

CREATE TABLE hand_return (
  leaf INTEGER PRIMARY KEY REFERENCES decision,
  run TEXT NOT NULL REFERENCES run,
  phase TEXT NOT NULL,
  iteration INTEGER NOT NULL,
  instance INTEGER NOT NULL REFERENCES instance,
  return REAL NOT NULL
) STRICT;
CREATE INDEX hand_return_group ON hand_return (run, phase, iteration, instance);

CREATE TRIGGER episode_noted AFTER INSERT ON episode_note BEGIN
  DELETE FROM hand_return WHERE leaf = NEW.leaf;
  INSERT INTO hand_return (leaf, run, phase, iteration, instance, return)
  SELECT id, run, phase, iteration, instance, NEW.score FROM decision AS last
  WHERE id = NEW.leaf AND NEW.score IS NOT NULL AND phase = 'evaluate'
    AND NOT EXISTS (
      SELECT 1 FROM episode WHERE episode.run = last.run AND episode.phase = last.phase
        AND episode.iteration = last.iteration AND episode.instance = last.instance AND leaf = last.id)
    AND NOT EXISTS (SELECT 1 FROM decision AS next WHERE next.parent = last.id AND next.phase = last.phase);
END;
CREATE TRIGGER episode_scored AFTER INSERT ON episode BEGIN
  DELETE FROM hand_return WHERE leaf = NEW.leaf;
END;
CREATE TRIGGER episode_continued AFTER INSERT ON decision WHEN NEW.phase = 'evaluate' AND NEW.parent IS NOT NULL BEGIN
  DELETE FROM hand_return WHERE leaf = NEW.parent;
END;
CREATE TRIGGER hand_return_listed AFTER INSERT ON hand_return BEGIN ${listScoreSql('NEW', '1')}
END;
CREATE TRIGGER hand_return_unlisted AFTER DELETE ON hand_return BEGIN ${listScoreSql('OLD', '-1')}
  DELETE FROM problem_round WHERE episodes = 0 AND phase = OLD.phase AND iteration = OLD.iteration
    AND problem = (SELECT id FROM problem WHERE run = OLD.run AND instance = OLD.instance);
END;
`;

/**
 * The episodes with their returns: those of an evaluator or a log, failures of an evaluator, and, with
 * larger ids than all of these, episodes that only the user scored. Queries for the return of an
 * episode read this instead of the table `episode`. Training learns only from that table.
 */
export const EPISODES = `(
  SELECT id, run, phase, iteration, instance, leaf, return, rule, evaluator_calls FROM episode
  UNION ALL
  SELECT (1 << 52) + leaf, run, phase, iteration, instance, leaf, return, '${BY_HAND}', 0 FROM hand_return)`;

/** True if the row `own` is the newest note of its episode. */
export const IS_NEWEST_NOTE = 'own.id = (SELECT max(id) FROM episode_note WHERE leaf = own.leaf)';

interface Row {
  readonly score: number | null;
  readonly note: string;
  readonly tags: string;
  readonly author: string;
  readonly createdAt: string;
  readonly isReturn: 0 | 1;
}

/**
 * The reader of the user's notes.
 * @param endsOf returns the last messages of the episodes through a message
 */
export function episodeNoteReader(
  session: Session,
  endsOf: (message: number) => readonly number[],
): Pick<StoreReader, 'episodeNote'> {
  const newest = session.db.prepare<[number], Row>(`
    SELECT score, note, tags, author, created_at AS createdAt,
      EXISTS (SELECT 1 FROM hand_return WHERE hand_return.leaf = own.leaf) AS isReturn
    FROM episode_note AS own WHERE leaf = ? ORDER BY id DESC LIMIT 1`);
  return {
    episodeNote: withStoreErrors(session, (message) => {
      const [only = message, ...others] = endsOf(message);
      const row = others.length > 0 ? undefined : newest.get(only);
      // The store wrote this JSON itself.
      return row === undefined
        ? null
        : { ...row, tags: JSON.parse(row.tags) as string[], isReturn: row.isReturn === 1 };
    }),
  };
}

export function episodeNoteWriter(session: Session): Pick<StoreWriter, 'insertEpisodeNote'> {
  const insert = session.db.prepare<[string, number, number | null, string, string, string, string]>(
    'INSERT INTO episode_note (run, leaf, score, note, tags, author, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)',
  );
  return {
    insertEpisodeNote: withStoreErrors(session, ({ run, leaf, score, note, tags, author, createdAt }) =>
      insert.run(run, leaf, score, note, JSON.stringify(tags), author, createdAt),
    ),
  };
}
