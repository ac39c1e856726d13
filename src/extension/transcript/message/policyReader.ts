/** What answered for a role of a stored run in the place of its model. */
import { basename } from 'node:path';
import { storedRecipe } from '../../../domain/run.ts';
import { isRecord } from '../../../shared/guard.ts';
import { POLICY_KINDS, type PolicyKind } from '../../../shared/rolePolicies.ts';
import type { StoreReader } from '../../../store/read/reader.ts';

/**
 * The kind of policy of a role, from the recipe that the run's row keeps, with the weights that answered where it has
 * its own; null for the run's model, and for a kind of another version.
 */
export function policyOfRole(reader: Pick<StoreReader, 'runConfig'>, run: string, role: string): PolicyKind | null {
  const recipe = storedRecipe(reader.runConfig(run));
  const name = valueIn(recipe, ['config', 'policies', role, 'kind']);
  const kind: PolicyKind | undefined = POLICY_KINDS.find((one) => one.name === name);
  if (kind === undefined) {
    return null;
  }
  const [folder, snapshot] = ['folder', 'snapshot'].map((key) => valueIn(recipe, ['roles', role, key]));
  return typeof folder === 'string' && typeof snapshot === 'string'
    ? { ...kind, words: `${kind.words} Weights ${snapshot.slice(0, 12)} of ${basename(folder)}.` }
    : kind;
}

function valueIn(recipe: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (value, key) => (isRecord(value) && Object.hasOwn(value, key) ? value[key] : undefined),
    recipe,
  );
}
