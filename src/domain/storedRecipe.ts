/** How a run began, as its row has it, for whatever only shows it: keys as they are stored, none of them checked. */
import { isRecord } from '../shared/guard.ts';

type Keys = Readonly<Record<string, unknown>>;

/** @param runConfig the row's JSON, which an imported run has not @returns no key where there is none */
export function storedRecipe(runConfig: string): Keys {
  try {
    const stored: unknown = JSON.parse(runConfig);
    return isRecord(stored) ? stored : {};
  } catch {
    return {};
  }
}

/** A section of such keys; none where it is something else. */
export function sectionOf(keys: Keys, name: string): Keys {
  const section = Object.hasOwn(keys, name) ? keys[name] : undefined;
  return isRecord(section) ? section : {};
}

/** The run configuration within. @param runConfig as storedRecipe */
export const storedConfig = (runConfig: string): Keys => sectionOf(storedRecipe(runConfig), 'config');
