/** Sampling buckets of a stored run to be measured on, on this machine. */
import { C3Error } from '../../shared/errors.ts';
import { capabilitiesOf, requireCapability } from '../../shared/rolePolicies.ts';
import { valuesStates } from '../../training/methods/methods.ts';
import { sampleDiagnostics, type SampleControl, type SampleSettings } from '../diagnose/diagnoseSample.ts';
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
  const { run, signal, rules } = session;
  if (session.isImported) {
    throw new C3Error(
      'input',
      `Run ${run} was recorded elsewhere, so nothing of it is sampled here; fork its messages with \`c3 replay --team\`, then use --origin request.`,
    );
  }
  const { config } = session.recipe;
  if (settings.role !== null) {
    requireCapability(config.policies, settings.role, 'samples', 'measure another role');
  }
  const dependencies = {
    ...rules,
    evaluator: session.evaluator(session.judge),
    samples: (role: string) => capabilitiesOf(config.policies, role).samples,
    source: (snapshot: string) => (valuesStates(config) ? session.valuedTeam(snapshot) : session.team(snapshot)),
  };
  return sampleDiagnostics(run, settings, dependencies, { ...control, signal });
}
