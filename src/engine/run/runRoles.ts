/** Loads the weights of roles that do not use the run's own model. */

import { existsSync } from 'node:fs';
import { LocalPolicy, PolicyGone } from '../../policy/policy.ts';
import { LEAST_CACHE_BYTES } from '../../runtime/generate/bounds.ts';
import { C3Error } from '../../shared/errors.ts';
import { snapshotPath } from '../../training/state/checkpoints.ts';
import type { LoadControl, LoadedModel, WeightsFinder } from '../models/models.ts';
import type { RoleModel, RoleModels } from '../models/roles.ts';
import { findRoleWeights, type RoleWeights } from '../recipe/recipe.ts';
import { findEarlierFile } from '../session/earlier.ts';
import type { Session } from '../session/session.ts';
import type { PreparedRole } from './prepareRoles.ts';
import type { PreparedRun } from './prepareRun.ts';

/**
 * Loads the models of the roles that have their own weights, until the session ends.
 * @param own the run's model, which is shared by roles that answer with the base
 * @throws C3Error naming the role, if its weights cannot be loaded or differ from those that the
 *   run began with
 */
export async function takeRoles(
  session: Session,
  { recipe, roles, interrupted }: PreparedRun,
  own: LoadedModel,
  control: LoadControl,
): Promise<RoleModels> {
  const { engine, signal } = session;
  const { models, weights } = engine;
  // The memory plan of the run assumes this size.
  const loading = { ...control, cacheBytes: LEAST_CACHE_BYTES };
  const takeRole = ({ role, folder, adapter, earlier, model }: PreparedRole, began?: string): Promise<RoleModel> => {
    const place = { ...recipe, modelFolder: folder };
    const named = (snapshot: string, find: WeightsFinder): Promise<RoleModel> =>
      PolicyGone.inWords(
        session.keep(models.take(place, snapshot, find, loading)),
        (why) => `policies.${role}: ${why}`,
      );
    const kept = adapter === null || began === undefined ? null : weights.keptFile(began);
    if (kept !== null && began !== undefined) {
      return named(began, () => Promise.resolve(kept));
    }
    if (earlier !== null) {
      return named(earlier.snapshot, (snapshot) => findEarlierFile(engine, { ...earlier, snapshot }, signal));
    }
    return adapter === null && model === null
      ? Promise.resolve({ ...own, policy: createBasePolicy(own) })
      : session.keep(models.takeFolder(place, adapter, loading));
  };
  const taken = new Map<string, RoleModel>();
  for (const prepared of roles) {
    const { role, adapter, folder } = prepared;
    const began = interrupted === null ? undefined : findRoleWeights(interrupted.recipe, role)?.snapshot;
    const one = await takeRole(prepared, began);
    if (interrupted !== null && began !== one.policy.snapshot) {
      throw new C3Error(
        'input',
        `Run ${interrupted.id} cannot be resumed: the model of the role ${role}, ${adapter ?? folder}, no longer has the weights that the run began with; put them back, or start a new run.`,
      );
    }
    taken.set(role, one);
  }
  return taken;
}

const createBasePolicy = ({ runtime, tokenizer, info }: LoadedModel): LocalPolicy =>
  new LocalPolicy(runtime, tokenizer, info.snapshot, info.config.maxPositions);

/** Returns the weights of roles in the form that a run's row stores. */
export function toStoredRoles(roles: readonly PreparedRole[], lent: RoleModels): Readonly<Record<string, RoleWeights>> {
  return Object.fromEntries(
    roles.flatMap(({ role, folder, earlier, texts, rendering }) => {
      const snapshot = lent.get(role)?.policy.snapshot;
      return snapshot === undefined
        ? []
        : [[role, { folder, snapshot, run: earlier?.run ?? null, ...texts, rendering } satisfies RoleWeights]];
    }),
  );
}

/** Copies adapters next to the store, so that replays still work after their folders have changed. */
export async function keepAdapters(roles: readonly PreparedRole[], lent: RoleModels, folder: string): Promise<void> {
  for (const { role, adapter } of roles) {
    const found = adapter === null ? undefined : lent.get(role);
    if (found === undefined || found.policy.snapshot === found.info.snapshot) {
      continue;
    }
    const { runtime, policy } = found;
    const file = snapshotPath(folder, policy.snapshot);
    if (!existsSync(file)) {
      await runtime.saveSnapshot(policy.snapshot, file);
    }
  }
}
