/** The keys of a run configuration, read from the schema that validates runs. */

import { z } from 'zod';
import type { NamedPath } from '../../shared/text/namedPaths.ts';
import { configSchema } from '../../training/config/config.ts';
import { looksPublished } from '../../training/config/published/publishedForm.ts';
import { publishedSchema } from '../../training/config/published/publishedKeys.ts';

type JsonSchema = z.core.JSONSchema.BaseSchema;

export type KeyKind = 'section' | 'list' | 'choice' | 'boolean' | 'whole' | 'number' | 'text';

export interface Bound {
  readonly value: number;
  /** False if the value itself is out of bounds. */
  readonly inclusive: boolean;
}

export interface ConfigKey {
  /** The key with its sections in front, as `ppo.epochs`. The item of a list has the path of the list. */
  readonly path: string;
  readonly name: string;
  readonly description: string;
  readonly kind: KeyKind;
  /** The value of an omitted key. */
  readonly default: unknown;
  readonly nullable: boolean;
  readonly low: Bound | null;
  readonly high: Bound | null;
  /** Named values, with their meanings. */
  readonly choices: ReadonlyMap<string, string>;
  readonly names: NamedPath | null;
  /** The key of this section to which a bare value belongs, or null. */
  readonly shortFor: string | null;
  /** The version that introduced the key; null for that of its section, or for the first version. */
  readonly since: string | null;
  /** The value for a run that was stored without the key; undefined for the default. */
  readonly earlier: unknown;
  /** The keys of a section, in the order of the schema. */
  readonly keys: readonly ConfigKey[];
  /** The item of a list. */
  readonly item: ConfigKey | null;
  /** The key under every name of a section whose names the user chooses. */
  readonly entry: ConfigKey | null;
}

/** All keys, as one section without a name. */
export const CONFIGURATION: ConfigKey = readConfigKey(z.toJSONSchema(configSchema, { io: 'input' }), '', '');

/** All keys of a file of the published scripts, and the keys of C3 that may be added to it. */
const PUBLISHED: ConfigKey = addOwnKeys(readConfigKey(z.toJSONSchema(publishedSchema, { io: 'input' }), '', ''));

/** Returns the keys that a text may have. @param text the text, which may be unfinished */
export const selectKeys = (text: string): ConfigKey => (looksPublished(text) ? PUBLISHED : CONFIGURATION);

/** Returns the key at a path of keys and list indices, or undefined if there is none. */
export function findConfigKey(
  path: readonly (string | number)[],
  keys: ConfigKey = CONFIGURATION,
): ConfigKey | undefined {
  return path.reduce<ConfigKey | undefined>(
    (key, part) =>
      typeof part === 'number'
        ? (key?.item ?? undefined)
        : (key?.keys.find(({ name }) => name === part) ?? key?.entry ?? undefined),
    keys,
  );
}

function addOwnKeys(published: ConfigKey): ConfigKey {
  const own = CONFIGURATION.keys.filter(({ name }) => published.keys.every((key) => key.name !== name));
  return { ...published, keys: [...published.keys, ...own] };
}

function readConfigKey(schema: JsonSchema, path: string, name: string): ConfigKey {
  const options = (schema.anyOf ?? []).filter(isSchema);
  const nullable = listSchemaTypes(schema).includes('null') || options.some(({ type }) => type === 'null');
  const given = options.find(({ type }) => type !== 'null') ?? {};
  const own: JsonSchema = nullable ? { ...given, ...schema } : schema;
  const named: unknown = own['choices'];
  return {
    path,
    name,
    description: own.description ?? '',
    kind: readKeyKind(own),
    default: own.default ?? null,
    nullable,
    low: readBound(own.minimum, own.exclusiveMinimum),
    high: readBound(own.maximum, own.exclusiveMaximum),
    choices: new Map(
      Object.entries(typeof named === 'object' && named !== null ? named : {}).map(
        ([choice, words]: [string, unknown]) => [choice, String(words)],
      ),
    ),
    names: readNamedPath(own['names']),
    shortFor: typeof own['shortFor'] === 'string' ? own['shortFor'] : null,
    since: typeof own['since'] === 'string' ? own['since'] : null,
    earlier: own['earlier'],
    keys: Object.entries(own.properties ?? {}).flatMap(([key, inner]) =>
      isSchema(inner) ? [readConfigKey(inner, path === '' ? key : `${path}.${key}`, key)] : [],
    ),
    item: isSchema(own.items) ? readConfigKey(own.items, path, name) : null,
    entry: isSchema(own.additionalProperties) ? readConfigKey(own.additionalProperties, `${path}.*`, '*') : null,
  };
}

/** Returns the types of a schema. A nullable number without bounds has two. */
function listSchemaTypes({ type }: JsonSchema): readonly unknown[] {
  return [type].flat();
}

function readKeyKind(schema: JsonSchema): KeyKind {
  if (schema.enum !== undefined) {
    return 'choice';
  }
  switch (listSchemaTypes(schema).find((type) => type !== 'null')) {
    case 'object':
      return 'section';
    case 'array':
      return 'list';
    case 'boolean':
      return 'boolean';
    case 'integer':
      return 'whole';
    case 'number':
      return 'number';
    default:
      return 'text';
  }
}

/** Reads a bound. The limits of safe integers, which the schema adds by itself, do not count as bounds. */
function readBound(inclusive: number | undefined, exclusive: number | boolean | undefined): Bound | null {
  if (typeof exclusive === 'number') {
    return { value: exclusive, inclusive: false };
  }
  return inclusive === undefined || Math.abs(inclusive) === Number.MAX_SAFE_INTEGER
    ? null
    : { value: inclusive, inclusive: true };
}

function readNamedPath(value: unknown): NamedPath | null {
  return value === 'folder' || value === 'protocol' || value === 'rows' ? value : null;
}

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
