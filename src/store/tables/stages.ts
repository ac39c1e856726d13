/**
 * The stages of training steps: rollouts between two updates of a step, with the weights at that time.
 * Steps that sample only at their beginning have no rows.
 */

import { withStoreErrors } from '../files/sqlite.ts';
import type { Session } from '../files/sqlite.ts';
import type { Stage, StoreReader, StoreWriter } from '../types.ts';
import { METHOD_STATE_COLUMNS } from './methodStates.ts';
import { guardTriggers } from './schema.ts';

/**
 * The SQL that adds them to a store. Stages count from 1; the rollouts at the beginning of a step are
 * its stage 0. A stage is stored in one transaction, so its messages are those of the step from
 * `first_decision` up to the next stage.
 */
export const STAGES = `
CREATE TABLE stage (
  run TEXT NOT NULL REFERENCES run,
  iteration INTEGER NOT NULL,
  stage INTEGER NOT NULL CHECK (stage > 0),
  snapshot INTEGER NOT NULL REFERENCES snapshot,
  first_decision INTEGER NOT NULL,
  PRIMARY KEY (run, iteration, stage)
) STRICT;
${guardTriggers('stage', 'run = NEW.run AND iteration = NEW.iteration AND stage = NEW.stage')}
CREATE TABLE stage_state (
  run TEXT NOT NULL REFERENCES run,
  iteration INTEGER NOT NULL,
  stage INTEGER NOT NULL,
  ${METHOD_STATE_COLUMNS},
  PRIMARY KEY (run, iteration, stage)
) STRICT;
${guardTriggers('stage_state', 'run = NEW.run AND iteration = NEW.iteration AND stage = NEW.stage')}
`;

/** The SQL of the stage of a message; null at the beginning of its step and outside training. */
export const STAGE_OF_DECISION = `
  iif(decision.phase = 'train', (
    SELECT max(stage.stage) FROM stage
    WHERE stage.run = decision.run AND stage.iteration = decision.iteration AND first_decision <= decision.id), NULL)`;

export function stageReaders(session: Session): Pick<StoreReader, 'stages' | 'stageOfSnapshot'> {
  const { db } = session;
  const all = db.prepare<[string, number], Stage>(`
    SELECT stage.iteration, stage, weights AS snapshot FROM stage JOIN snapshot ON snapshot.id = stage.snapshot
    WHERE stage.run = ? AND stage.iteration = ? ORDER BY stage`);
  const of = db.prepare<[string, string], Stage>(`
    SELECT stage.iteration, stage, weights AS snapshot FROM stage JOIN snapshot ON snapshot.id = stage.snapshot
    WHERE stage.run = ? AND weights = ? ORDER BY stage.iteration, stage LIMIT 1`);
  return {
    stages: withStoreErrors(session, (run, iteration) => all.all(run, iteration)),
    stageOfSnapshot: withStoreErrors(session, (run, snapshot) => of.get(run, snapshot) ?? null),
  };
}

export function stageWriter(session: Session): Pick<StoreWriter, 'insertStage'> {
  const insert = session.db.prepare<[Stage & { readonly run: string }]>(`
    INSERT INTO stage (run, iteration, stage, snapshot, first_decision)
    VALUES (@run, @iteration, @stage, (SELECT id FROM snapshot WHERE weights = @snapshot AND run = @run),
      (SELECT coalesce(max(id), 0) + 1 FROM decision))`);
  return {
    insertStage: withStoreErrors(session, (run, { iteration, stage, snapshot }) =>
      insert.run({ run, iteration, stage, snapshot }),
    ),
  };
}
