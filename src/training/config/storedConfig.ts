/** A configuration as the store holds it: without keys that say what they meant before they existed. */
import type { z } from 'zod';
import { isRecord } from '../../shared/guard.ts';
import { sectionKeys } from '../keys/keyKinds.ts';
import { configSchema, type RunConfig } from './config.ts';

type Keys = Readonly<Record<string, unknown>>;

/** What keys meant before they existed, by sections. */
const EARLIER = earlierOf(configSchema, 'all keys');
/** The same without keys that are stored whatever they say. */
const LEFT_OUT = earlierOf(configSchema, 'keys left out');

/** A stored configuration with the keys that it lacks. @param config as the store holds it, not checked yet */
export const withEarlier = (config: unknown): unknown => (isRecord(config) ? filled(config, EARLIER) : config);

/** A configuration as it is stored: without what it has in common with runs from before the key. */
export const withoutEarlier = (config: RunConfig): Keys => stripped(config, LEFT_OUT);

function earlierOf(section: z.ZodType, which: 'all keys' | 'keys left out'): Keys {
  return Object.fromEntries(
    Object.entries(sectionKeys(section)).flatMap(([key, schema]): [string, unknown][] => {
      const meta = schema.meta() ?? {};
      if (Object.hasOwn(meta, 'earlier')) {
        return which === 'keys left out' && meta.alwaysStored === true ? [] : [[key, meta.earlier]];
      }
      const inner = earlierOf(schema, which);
      return Object.keys(inner).length > 0 ? [[key, inner]] : [];
    }),
  );
}

function filled(given: Keys, earlier: Keys): Keys {
  const added = Object.entries(earlier).flatMap(([key, meant]): [string, unknown][] => {
    const value = given[key];
    if (isRecord(meant) && (value === undefined || isRecord(value))) {
      return [[key, filled(value ?? {}, meant)]];
    }
    return value === undefined ? [[key, meant]] : [];
  });
  return { ...given, ...Object.fromEntries(added) };
}

function stripped(given: Keys, earlier: Keys): Keys {
  return Object.fromEntries(
    Object.entries(given).flatMap(([key, value]): [string, unknown][] => {
      const meant = earlier[key];
      if (isRecord(meant) && isRecord(value)) {
        const inner = stripped(value, meant);
        return Object.keys(inner).length === 0 ? [] : [[key, inner]];
      }
      return meant !== undefined && meant === value ? [] : [[key, value]];
    }),
  );
}
