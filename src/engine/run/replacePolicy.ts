/**
 * Implements `c3 replace` and "Replace policy": builds the run that begins with a replaced policy
 * (TeamTR reference section 7). Faults that only show when files are read are reported when that
 * run is prepared.
 */

import { existsSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { C3Error } from '../../shared/errors.ts';
import type { ReplaceParams, StartRunParams } from '../../shared/protocols/engineProtocol.ts';
import { isBundledName } from '../../shared/runNames.ts';
import type { StoreReader } from '../../store/types.ts';
import type { RunConfig } from '../../training/config/config.ts';
import { parseRecipe, parseRecipeProtocol } from '../recipe/recipe.ts';

/** The model without an adapter. */
const BASE = 'base';

/** The source of the new policy. */
type Source =
  | { readonly kind: 'base' }
  | { readonly kind: 'adapter'; readonly folder: string }
  /** @param folder a model folder, or the name of a bundled model */
  | { readonly kind: 'model'; readonly folder: string }
  | { readonly kind: 'run'; readonly run: string; readonly snapshot: string | null; readonly role: string | null };

/**
 * Returns the run that begins with the team of a run and one policy replaced. Retraining begins
 * with the model instead, and with the next seed, because the same seed would repeat the run if
 * nothing else changes.
 * @throws C3Error('input') for an unknown run, role or source, or a combination that is not
 *   possible
 */
export function createReplacementRun(store: Pick<StoreReader, 'runConfig'>, params: ReplaceParams): StartRunParams {
  const { run, role, strategy } = params;
  const recipe = parseRecipe(store.runConfig(run), run);
  const { config } = recipe;
  const roles = parseRecipeProtocol(recipe).roles.map(({ name }) => name);
  if (!roles.includes(role)) {
    throw new C3Error(
      'input',
      `Run ${run} has no role ${JSON.stringify(role.slice(0, 80))}; it has ${roles.join(', ')}.`,
    );
  }
  if (config.adapter?.per !== 'role') {
    throw new C3Error(
      'input',
      `Run ${run} trained no adapter for each role, so none of its policies can be replaced; train ` +
        'with adapter: {per: role}.',
    );
  }
  const source = parsePolicySource(store, params);
  if (source.kind === 'model' && strategy === 'align') {
    throw new C3Error(
      'input',
      `${source.folder} is another model, which answers without learning: stage 0 cannot align it; ` +
        'replace the policy directly.',
    );
  }
  if (strategy === 'retrain' && (source.kind === 'adapter' || source.kind === 'run')) {
    throw new C3Error(
      'input',
      'Retraining begins with the model, so it cannot use a trained policy; name base or a model ' +
        'folder, or choose another strategy.',
    );
  }
  const policies = { ...config.policies, ...(source.kind === 'model' && { [role]: { model: source.folder } }) };
  const changed: Readonly<Record<string, unknown>> = {
    ...config,
    title: formatReplacementTitle(config, role, strategy),
    seed: strategy === 'retrain' ? incrementSeed(config.seed) : config.seed,
    begin:
      strategy === 'retrain'
        ? null
        : { run, ...(source.kind !== 'model' && { replace: createReplaceSection(role, source, params) }) },
    ...(Object.keys(policies).length > 0 && { policies }),
    // The folder may already hold the model of the earlier run.
    output: { ...config.output, save_model: false, save_path: null },
  };
  return {
    config: null,
    overrides: [
      ...Object.entries(changed).flatMap(([key, value]) =>
        value === undefined ? [] : [`${key}=${JSON.stringify(value)}`],
      ),
      ...params.overrides,
    ],
    folder: recipe.folder,
  };
}

const incrementSeed = (seed: number): number => (seed === Number.MAX_SAFE_INTEGER ? 0 : seed + 1);

const formatReplacementTitle = ({ title }: RunConfig, role: string, strategy: ReplaceParams['strategy']): string =>
  `${title}, ${role} ${{ align: 'replaced after stage 0', direct: 'replaced directly', retrain: 'retrained' }[strategy]}`;

function createReplaceSection(
  role: string,
  source: Exclude<Source, { readonly kind: 'model' }>,
  { strategy }: ReplaceParams,
): object {
  const from =
    source.kind === 'base'
      ? {}
      : source.kind === 'run'
        ? { from: { run: source.run, snapshot: source.snapshot, role: source.role } }
        : { with: source.folder };
  return { role, ...from, align: strategy === 'align' };
}

/** Parses a source: `base`, a bundled model, a folder, or RUN, RUN:STEP or RUN:STEP:ROLE. */
function parsePolicySource(store: Pick<StoreReader, 'runConfig'>, { source, folder }: ReplaceParams): Source {
  if (source === BASE) {
    return { kind: 'base' };
  }
  if (isBundledName(source)) {
    return { kind: 'model', folder: source };
  }
  const place = resolve(folder, source);
  if (source !== '' && existsSync(place) && statSync(place).isDirectory()) {
    if (existsSync(join(place, 'adapter_config.json'))) {
      return { kind: 'adapter', folder: place };
    }
    if (existsSync(join(place, 'config.json'))) {
      return { kind: 'model', folder: place };
    }
    throw new C3Error(
      'input',
      `${place} has neither an adapter_config.json nor a config.json; choose the folder of an adapter or of a model.`,
    );
  }
  const [run = '', snapshot = '', role = ''] = source.split(':');
  if (run !== '' && isRun(store, run)) {
    return { kind: 'run', run, snapshot: snapshot === '' ? null : snapshot, role: role === '' ? null : role };
  }
  throw new C3Error(
    'input',
    `${JSON.stringify(source.slice(0, 200))} is neither a folder nor a run of this store; write base, bundled-small, the folder of an adapter or of a model, or RUN:STEP:ROLE.`,
  );
}

function isRun(store: Pick<StoreReader, 'runConfig'>, id: string): boolean {
  try {
    store.runConfig(id);
    return true;
  } catch (error) {
    if (error instanceof C3Error && error.kind === 'input') {
      return false;
    }
    throw error;
  }
}
