/** The stored form of configurations, which omits keys that mean the same as no key. */

import type { z } from 'zod';
import { isRecord } from '../../shared/guard.ts';
import { listSectionKeys } from '../keys/keyKinds.ts';
import { configSchema, type RunConfig } from './config.ts';

type Keys = Readonly<Record<string, unknown>>;

/** The values that stand for missing keys in stored configurations, by section. */
const EARLIER = collectEarlierValues(configSchema, 'all keys');
/** The same without the keys that are always stored. */
const LEFT_OUT = collectEarlierValues(configSchema, 'keys left out');

/**
 * Adds the missing keys to a stored configuration.
 * @param config as the store holds it, not checked yet
 */
export const addEarlierKeys = (config: unknown): unknown => (isRecord(config) ? fillEarlier(config, EARLIER) : config);

/** Returns a configuration as it is stored: without the keys whose value means the same as no key. */
export const removeEarlierKeys = (config: RunConfig): Keys => stripEarlier(config, LEFT_OUT);

function collectEarlierValues(section: z.ZodType, which: 'all keys' | 'keys left out'): Keys {
  return Object.fromEntries(
    Object.entries(listSectionKeys(section)).flatMap(([key, schema]): [string, unknown][] => {
      const meta = schema.meta() ?? {};
      if (Object.hasOwn(meta, 'earlier')) {
        return which === 'keys left out' && meta.alwaysStored === true ? [] : [[key, meta.earlier]];
      }
      const inner = collectEarlierValues(schema, which);
      return Object.keys(inner).length > 0 ? [[key, inner]] : [];
    }),
  );
}

function fillEarlier(given: Keys, earlier: Keys): Keys {
  const added = Object.entries(earlier).flatMap(([key, meant]): [string, unknown][] => {
    const value = given[key];
    if (isRecord(meant) && (value === undefined || isRecord(value))) {
      return [[key, fillEarlier(value ?? {}, meant)]];
    }
    return value === undefined ? [[key, meant]] : [];
  });
  return { ...given, ...Object.fromEntries(added) };
}

function stripEarlier(given: Keys, earlier: Keys): Keys {
  return Object.fromEntries(
    Object.entries(given).flatMap(([key, value]): [string, unknown][] => {
      const meant = earlier[key];
      if (isRecord(meant) && isRecord(value)) {
        const inner = stripEarlier(value, meant);
        return Object.keys(inner).length === 0 ? [] : [[key, inner]];
      }
      return meant !== undefined && meant === value ? [] : [[key, value]];
    }),
  );
}
