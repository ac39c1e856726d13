/** Samples buckets of a stored run for its diagnostics. */

import { C3Error } from '../../shared/errors.ts';
import { findCapabilities, requireCapability } from '../../shared/rolePolicies.ts';
import { valuesStates } from '../../training/methods/methods.ts';
import {
  sampleDiagnostics,
  type SampleControl,
  type SampleDependencies,
  type SampleSettings,
} from '../diagnose/diagnoseSample.ts';
import { sampleTrainingCredit, type TrainingCreditSettings } from '../diagnose/trainingCredit.ts';
import type { RunSession } from '../session/session.ts';

/**
 * Samples buckets of the session's run.
 * @returns the sample's number
 * @throws C3Error; CancelledError, keeping the complete buckets
 */
export async function sampleStored(
  session: RunSession,
  settings: SampleSettings,
  control: SampleControl,
): Promise<number> {
  const { run, signal } = session;
  const { config } = session.recipe;
  const dependencies = createSampleDependencies(session, settings.role);
  const source = valuesStates(config) ? (snapshot: string) => session.valuedTeam(snapshot) : dependencies.source;
  return sampleDiagnostics(run, settings, { ...dependencies, source }, { ...control, signal });
}

/**
 * Replays messages that the session's run learned from.
 * @throws as sampleTrainingCredit
 */
export async function replayLearned(
  session: RunSession,
  settings: TrainingCreditSettings,
  control: SampleControl,
): Promise<void> {
  const { run, recipe, signal } = session;
  const dependencies = createSampleDependencies(session, settings.role);
  await sampleTrainingCredit({ run, config: recipe.config }, settings, dependencies, { ...control, signal });
}

/** @throws C3Error('input') for a run that was recorded elsewhere, or a role that cannot be sampled */
function createSampleDependencies(session: RunSession, role: string | null): SampleDependencies {
  const { run, rules } = session;
  if (session.isImported) {
    throw new C3Error(
      'input',
      `Run ${run} was recorded elsewhere, so nothing of it is sampled here; fork its messages with \`c3 replay --team\`, then use --origin request.`,
    );
  }
  const { policies } = session.recipe.config;
  if (role !== null) {
    requireCapability(policies, role, 'samples', 'measure another role');
  }
  return {
    ...rules,
    evaluator: session.evaluator(session.judge),
    samples: (name) => findCapabilities(policies, name).samples,
    source: (snapshot) => session.team(snapshot),
  };
}
