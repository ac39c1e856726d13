/** Reads credits and costs of a run's steps and evaluations as sums for charts. */

import type { Ledger } from '../../../domain/run.ts';
import { summarizeSpread, type StepCredits } from '../../../domain/stepRows.ts';
import { withStoreErrors, type Session } from '../../files/sqlite.ts';
import type { Round, StoreReader } from '../../types.ts';

interface CreditRow {
  readonly role: string;
  readonly bucket: number;
  readonly value: number;
}

interface CostRow {
  readonly prompt: number;
  readonly reused: number;
  readonly completion: number;
}

export function stepReaders(session: Session): Pick<StoreReader, 'stepCredits' | 'roundCost' | 'latestLedger'> {
  const { db } = session;
  // The iteration learned from the first credit of a message. Diagnostics add later ones.
  const credits = db.prepare<[{ run: string; iteration: number }], CreditRow>(`
    SELECT decision.event_type AS role, decision.bucket AS bucket, value
    FROM decision JOIN credit ON credit.id = (SELECT min(id) FROM credit AS word WHERE word.bucket = decision.bucket AND word.decision = decision.id)
    WHERE decision.run = @run AND phase = 'train' AND decision.iteration = @iteration ORDER BY decision.bucket, decision.id`);
  const tokens = db.prepare<[Round], CostRow>(`
    SELECT coalesce(sum(prompt_tokens), 0) AS prompt, coalesce(sum(reused_tokens), 0) AS reused, coalesce(sum(length(tokens) / 4), 0) AS completion
    FROM decision WHERE run = @run AND phase = @phase AND iteration = @iteration AND reused_tokens <= prompt_tokens`);
  const taken = db
    .prepare<[Round], number>(
      `
    SELECT coalesce(sum(length(tokens) / 4), 0)
    FROM decision WHERE run = @run AND phase = @phase AND iteration = @iteration AND reused_tokens > prompt_tokens`,
    )
    .pluck();
  const calls = db
    .prepare<[Round], number>(
      'SELECT coalesce(sum(evaluator_calls), 0) FROM episode WHERE run = @run AND phase = @phase AND iteration = @iteration',
    )
    .pluck();
  const ledger = db.prepare<[string], { ledger: string }>(
    'SELECT ledger FROM step WHERE run = ? AND metrics IS NOT NULL ORDER BY iteration DESC LIMIT 1',
  );
  return {
    stepCredits: withStoreErrors(session, (run, iteration) => summarizeStepCredits(credits.all({ run, iteration }))),
    roundCost: withStoreErrors(session, ({ run, phase, iteration }) => {
      const round = { run, phase, iteration };
      return {
        evaluatorCalls: calls.get(round) ?? 0,
        tokens: {
          ...(tokens.get(round) ?? { prompt: 0, reused: 0, completion: 0 }),
          reusedCompletion: taken.get(round) ?? 0,
        },
      };
    }),
    latestLedger: withStoreErrors(session, (run) => {
      const row = ledger.get(run);
      // The store wrote this JSON itself.
      return row === undefined ? null : (JSON.parse(row.ledger) as Ledger);
    }),
  };
}

function summarizeStepCredits(rows: readonly CreditRow[]): StepCredits {
  const byRole = Map.groupBy(rows, ({ role }) => role);
  const variances = [...Map.groupBy(rows, ({ bucket }) => bucket).values()].flatMap((members) => {
    if (members.length < 2) {
      return [];
    }
    const values = members.map(({ value }) => value);
    const centre = meanOfValues(values);
    return [meanOfValues(values.map((value) => (value - centre) ** 2))];
  });
  return {
    roles: [...byRole].flatMap(([role, members]) => {
      const spread = summarizeSpread(members.map(({ value }) => value));
      return spread === null ? [] : [{ role, spread }];
    }),
    variance: variances.length === 0 ? null : { value: meanOfValues(variances), contexts: variances.length },
  };
}

const meanOfValues = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;
