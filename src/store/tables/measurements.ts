/** The measurements of messages that other programs recorded, one row for each message with any. */

import {
  MEASURED_NUMBERS,
  type EpisodeMeasured,
  type Measured,
  type MeasuredNumber,
  type MeasuredSummary,
} from '../../domain/message.ts';
import { IN_TREE } from '../conditions.ts';
import { withStoreErrors, type Session } from '../files/sqlite.ts';
import type { StoreReader, TreeGroup } from '../types.ts';
import { guardTriggers } from './schema.ts';

/**
 * The SQL that adds them to a store. The list of problems sums the measurements of their messages,
 * which have no tokens of their own.
 */
export const MEASUREMENTS = `
CREATE TABLE measurement (
  decision INTEGER PRIMARY KEY REFERENCES decision,
  model TEXT,
  prompt_tokens INTEGER,
  completion_tokens INTEGER,
  start REAL,
  seconds REAL,
  first_token_seconds REAL,
  cost REAL,
  temperature REAL
) STRICT;
${guardTriggers('measurement', 'decision = NEW.decision')}
CREATE TRIGGER measurement_listed AFTER INSERT ON measurement BEGIN
  UPDATE problem SET completion_tokens = problem.completion_tokens + coalesce(NEW.completion_tokens, 0),
    seconds = iif(NEW.seconds IS NULL, problem.seconds, coalesce(problem.seconds, 0) + NEW.seconds)
  FROM decision WHERE decision.id = NEW.decision AND phase <> 'replay' AND problem.run = decision.run AND problem.instance = decision.instance;
END;
`;

/**
 * SQL of each value. A message that was sampled here has it in its own row; one from elsewhere has an
 * empty stream key.
 */
const VALUES: Readonly<Record<MeasuredNumber, string>> = {
  promptTokens: "iif(stream_key = '', measurement.prompt_tokens, decision.prompt_tokens)",
  completionTokens: "iif(stream_key = '', measurement.completion_tokens, length(tokens) / 4)",
  start: 'measurement.start',
  seconds: 'measurement.seconds',
  firstTokenSeconds: 'measurement.first_token_seconds',
  cost: 'measurement.cost',
  temperature: "iif(stream_key = '', measurement.temperature, decision.temperature)",
};
const MEASURED = 'decision LEFT JOIN measurement ON measurement.decision = decision.id';
/** Largest number of models that are listed for an episode. */
const MOST_MODELS = 20;

/** The columns of one number are `promptTokensSum`, `promptTokensLeast`, and so on. */
type SummaryRow = Readonly<Record<string, number | null>>;

export function measurementReaders(session: Session): Pick<StoreReader, 'measured' | 'episodesMeasured'> {
  const { db } = session;
  const one = db.prepare<[number], Measured>(`
    SELECT measurement.model, ${MEASURED_NUMBERS.map((field) => `${VALUES[field]} AS ${field}`).join(', ')}
    FROM ${MEASURED} WHERE decision.id = ?`);
  const summary = db.prepare<[TreeGroup], SummaryRow>(`
    SELECT count(*) AS messages, ${MEASURED_NUMBERS.map((field) => {
      const value = VALUES[field];
      return `sum(${value}) AS ${field}Sum, min(${value}) AS ${field}Least, max(${value}) AS ${field}Most, count(${value}) AS ${field}N`;
    }).join(', ')}
    FROM ${MEASURED} WHERE ${IN_TREE}`);
  const models = db
    .prepare<[TreeGroup], string>(
      `SELECT model FROM decision CROSS JOIN measurement ON measurement.decision = decision.id
      WHERE ${IN_TREE} AND model IS NOT NULL GROUP BY model ORDER BY min(decision.id) LIMIT ${MOST_MODELS}`,
    )
    .pluck();

  return {
    measured: withStoreErrors(session, (message) => one.get(message) ?? null),
    episodesMeasured: withStoreErrors(session, ({ run, phase, iteration, problem }): EpisodeMeasured => {
      const asked = { run, phase, iteration, problem };
      const row = summary.get(asked) ?? {};
      const of = (field: MeasuredNumber): MeasuredSummary | null => {
        const [sum, least, most] = [row[`${field}Sum`], row[`${field}Least`], row[`${field}Most`]];
        return typeof sum === 'number' && typeof least === 'number' && typeof most === 'number'
          ? { sum, least, most, n: row[`${field}N`] ?? 0 }
          : null;
      };
      return {
        messages: row['messages'] ?? 0,
        models: models.all(asked),
        numbers: {
          promptTokens: of('promptTokens'),
          completionTokens: of('completionTokens'),
          start: of('start'),
          seconds: of('seconds'),
          firstTokenSeconds: of('firstTokenSeconds'),
          cost: of('cost'),
          temperature: of('temperature'),
        },
      };
    }),
  };
}

/** Appends the measurements of a message, unless all are null. */
export function measurementWriter({ db }: Session): (message: number, measured: Measured) => void {
  const insert = db.prepare<[readonly (number | string | null)[]]>(
    'INSERT INTO measurement VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)',
  );
  return (message, { model, ...numbers }) => {
    const values = MEASURED_NUMBERS.map((field) => numbers[field]);
    if (model !== null || values.some((value) => value !== null)) {
      insert.run([message, model, ...values]);
    }
  };
}
