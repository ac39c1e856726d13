/** Sampling buckets of a stored run to be measured on, on this machine. */
import { C3Error } from '../../shared/errors.ts';
import { IMPORTED } from '../../shared/records/logImport.ts';
import { capabilitiesOf, requireCapability } from '../../shared/rolePolicies.ts';
import type { StoreWriter } from '../../store/types.ts';
import { runSampling } from '../../training/config/config.ts';
import { valuesStates } from '../../training/methods/methods.ts';
import { sampleDiagnostics, type SampleControl, type SampleSettings } from '../diagnose/diagnoseSample.ts';
import { judging } from '../models/judging.ts';
import { runRenderer } from '../models/roles.ts';
import { parseRecipe, protocolOf } from '../recipe/recipe.ts';
import type { ReplayPlace } from './replayHere.ts';

/**
 * Samples in a store that is held for writing.
 * @returns the sample's number
 * @throws C3Error; CancelledError, keeping the complete buckets
 */
export function sampleHere(
  { work, models, lending, evaluators }: ReplayPlace,
  store: StoreWriter,
  run: string,
  settings: SampleSettings,
  control: SampleControl,
): Promise<number> {
  if (store.run(run).method === IMPORTED) {
    throw new C3Error(
      'input',
      `Run ${run} was recorded elsewhere, so nothing of it is sampled here; fork its messages with \`c3 replay --team\`, then use --origin request.`,
    );
  }
  const recipe = parseRecipe(store.runConfig(run), run);
  const { config } = recipe;
  if (settings.role !== null) {
    requireCapability(config.policies, settings.role, 'samples', 'measure another role');
  }
  const signal = work.stopping(control.signal);
  const dependencies = {
    store,
    protocol: protocolOf(recipe),
    render: runRenderer(models.texts, recipe, signal),
    sampling: runSampling(config),
    seed: config.seed,
    returnBound: config.credit.return_clip,
    samples: (role: string) => capabilitiesOf(config.policies, role).samples,
    lend: valuesStates(config) ? lending.valuesLender(run, recipe, signal) : lending.lender(run, recipe, signal),
  };
  return evaluators.using(
    recipe,
    (evaluator) => sampleDiagnostics(run, settings, { ...dependencies, evaluator }, { ...control, signal }),
    judging(models.endpoints, config.scorer?.judge, () => models.endpoints.account(store, run)),
  );
}
