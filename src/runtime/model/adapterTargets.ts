/** Which matrices an adapter of PEFT targets: names, ends of names, a pattern, or `all-linear`. */
import { RE2JS } from 're2js';
import { C3Error, messageOf } from '../../shared/errors.ts';
import { adapterModules } from './lora.ts';
import { ADAPTER_MODULES, type AdapterModule } from './transformer.ts';

/** PEFT's word for every linear layer but the output projection. */
const ALL_LINEAR = 'all-linear';
const MAX_PATTERN = 2000;
/** Modules that a pattern could match and that get no factors here. */
const OTHERS = ['lm_head', 'model.embed_tokens', 'model.norm'];

const fullName = (module: AdapterModule, layer: number): string =>
  `model.layers.${layer}.${/^(?:gate|up|down)_/u.test(module) ? 'mlp' : 'self_attn'}.${module}`;

/**
 * The modules that `target_modules` means, as PEFT reads it: a text is `all-linear` or a regular expression that the
 * whole name of a module matches (in the syntax of RE2); of a list, each entry is a name or its end.
 * @param layers of the model
 * @throws C3Error('input') for an entry that is no module; C3Error('model') for a pattern that cannot be read, matches
 *   nothing, or not the same modules of every layer
 */
export function targetedModules(targets: string | readonly string[], layers: number, place: string): AdapterModule[] {
  if (targets === ALL_LINEAR) {
    return [...ADAPTER_MODULES];
  }
  const isPattern = typeof targets === 'string';
  const matches = isPattern ? patternOf(targets, place) : endsWithOneOf(targets);
  // In the order of the file.
  const named = isPattern
    ? ADAPTER_MODULES
    : adapterModules(
        targets.map((end) => moduleAt(end, layers) ?? end),
        place,
      );
  const asks = (what: string): C3Error =>
    new C3Error('model', `${place}: target_modules ${what}, which the runtime does not compute.`);
  const other = OTHERS.find(matches);
  if (other !== undefined) {
    throw asks(`matches ${other}`);
  }
  const found = [...new Set(named)].filter((module) => {
    const count = Array.from({ length: layers }, (_, layer) => fullName(module, layer)).filter(matches).length;
    if (count > 0 && count < layers) {
      throw asks(`asks for ${module} in ${count} of ${layers} layers`);
    }
    return count > 0;
  });
  if (found.length === 0) {
    throw new C3Error(
      'model',
      `${place}: target_modules: no matrix of this model matches ${JSON.stringify(targets).slice(0, 100)}; choose the model that the adapter was trained over.`,
    );
  }
  return found;
}

type Matches = (name: string) => boolean;

function patternOf(source: string, place: string): Matches {
  try {
    const pattern = RE2JS.compile(source.slice(0, MAX_PATTERN));
    return (name) => pattern.matches(name);
  } catch (error) {
    throw new C3Error(
      'model',
      `${place}: target_modules is no regular expression that can be read (${messageOf(error).replaceAll(/\s+/gu, ' ').slice(0, 200)}); name the modules in a list.`,
      { cause: error },
    );
  }
}

const isEnd = (name: string, end: string): boolean => name === end || name.endsWith(`.${end}`);

const endsWithOneOf =
  (ends: readonly string[]): Matches =>
  (name) =>
    ends.some((end) => isEnd(name, end));

/** The module of some layer whose name ends so. */
const moduleAt = (end: string, layers: number): AdapterModule | undefined =>
  ADAPTER_MODULES.find((module) =>
    Array.from({ length: layers }, (_, layer) => fullName(module, layer)).some((name) => isEnd(name, end)),
  );
