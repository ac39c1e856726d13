/** Scores the JSON in a message by a JSON Schema (draft 2020-12). */

import { dereference, Validator, type Schema } from '@cfworker/json-schema';
import { findFencedBlock } from './python/code.ts';

export interface SchemaVerdict {
  readonly score: 0 | 1;
  /** `json-schema: valid`, the first keyword that fails and its place, or `no-json`. */
  readonly rule: string;
}

export type SchemaCheck = (message: string) => SchemaVerdict;

/** The largest length of JSON that is read, because `uniqueItems` compares all pairs. */
const MAX_JSON = 32_768;
/** Keywords whose values are schemas by names that the user chooses. */
const NAMED = new Set(['properties', '$defs', 'definitions', 'dependentSchemas']);
/** Keywords whose values are not schemas. */
const VALUES = new Set(['const', 'enum', 'default', 'examples', 'required', 'dependentRequired']);
/** Refused keywords: regular expressions can take exponential time, and dynamic references are rare. */
const REFUSED = new Set(['pattern', 'patternProperties', '$dynamicRef', '$recursiveRef']);

/**
 * Reads a JSON Schema. `format` is only an annotation, as is the draft's default. `pattern`,
 * `patternProperties` and references out of the schema are refused.
 * @returns the check, or the reason why the schema cannot be used, as part of a sentence
 */
export function readSchema(text: string): SchemaCheck | string {
  const parsed = parseBoundedJson(text);
  if (parsed === undefined || (typeof parsed.value !== 'boolean' && !isObject(parsed.value))) {
    return 'it is not a JSON object';
  }
  const schema = typeof parsed.value === 'boolean' ? parsed.value : simplifySchema(parsed.value);
  if (typeof schema === 'string') {
    return `it has the keyword ${schema}, which is not supported`;
  }
  if (hasDanglingReference(schema)) {
    return 'a reference of it leads nowhere';
  }
  const validator = new Validator(schema, '2020-12');
  return (message) => validateMessage(validator, message);
}

/** Returns true if a reference names a place that the schema does not have. */
function hasDanglingReference(schema: Schema | boolean): boolean {
  const places = dereference(schema);
  return Object.values(places).some((place) => {
    const to = typeof place === 'boolean' ? undefined : (place.__absolute_ref__ ?? place.$ref);
    return to !== undefined && places[to] === undefined;
  });
}

function validateMessage(validator: Validator, message: string): SchemaVerdict {
  const json = parseBoundedJson(message) ?? parseBoundedJson(findFencedBlock(message, ['json']) ?? '');
  if (json === undefined) {
    return { score: 0, rule: 'no-json' };
  }
  try {
    const { valid, errors } = validator.validate(json.value);
    const [first] = errors;
    const failed = first === undefined ? 'not valid' : `${first.keyword} at ${first.instanceLocation.slice(0, 200)}`;
    return valid ? { score: 1, rule: 'json-schema: valid' } : { score: 0, rule: `json-schema: ${failed}` };
  } catch (error) {
    // A message that is nested too deeply must score 0, not be masked as if the evaluator had failed.
    if (error instanceof RangeError) {
      return { score: 0, rule: 'json-schema: nested too deeply' };
    }
    throw error;
  }
}

/** Parses a text as JSON; undefined if it is not JSON or is too long. */
function parseBoundedJson(text: string): { readonly value: unknown } | undefined {
  try {
    return text.length > MAX_JSON ? undefined : { value: JSON.parse(text) as unknown };
  } catch {
    return undefined;
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns a schema without its formats, or the keyword for which it is refused. */
function simplifySchema(schema: Record<string, unknown>): Schema | string {
  const plain: Schema = {};
  for (const [key, value] of Object.entries(schema)) {
    if (REFUSED.has(key)) {
      return key;
    }
    if (key !== 'format') {
      const inner = VALUES.has(key) ? value : simplifyPart(value, NAMED.has(key));
      if (inner instanceof Refusal) {
        return inner.keyword;
      }
      plain[key] = inner;
    }
  }
  return plain;
}

class Refusal {
  readonly keyword: string;
  constructor(keyword: string) {
    this.keyword = keyword;
  }
}

/** Returns the value of a keyword without formats: schemas by name, in a list, or one, or any value. */
function simplifyPart(value: unknown, isNamed: boolean): unknown {
  if (Array.isArray(value)) {
    const parts = value.map((one) => simplifyPart(one, false));
    return parts.find((one) => one instanceof Refusal) ?? parts;
  }
  if (!isObject(value)) {
    return value;
  }
  if (!isNamed) {
    const schema = simplifySchema(value);
    return typeof schema === 'string' ? new Refusal(schema) : schema;
  }
  const parts = Object.entries(value).map(([name, one]) => [name, simplifyPart(one, false)] as const);
  return parts.find(([, one]) => one instanceof Refusal)?.[1] ?? Object.fromEntries(parts);
}
