/** The kinds of keys in a run configuration. */

import { z } from 'zod';
import { SLICE } from '../../shared/text/slice.ts';

export const positive = z.int().positive();
export const share = z.number().min(0).max(1);

declare module 'zod' {
  /** Metadata of a key, besides its description, for help, reference and stored configurations. */
  interface GlobalMeta {
    /** The meaning of each named value. */
    choices?: Readonly<Record<string, string>>;
    /** The kind of thing on the disk that a text names, relative to the configuration. */
    names?: 'folder' | 'protocol' | 'rows';
    /** The key of a section that a bare value represents. */
    shortFor?: string;
    /** The version that introduced the key, or the section with all its keys; by default the first version. */
    since?: string;
    /**
     * The meaning of a stored configuration without the key, so that runs from before the key are
     * continued, verified and replayed as they began. A configuration with the same meaning is stored
     * without the key, as those runs were.
     */
    earlier?: z.core.$output;
    /** True stores the key even if its value means the same as no key. */
    alwaysStored?: boolean;
  }
}

/** Makes a key that takes one of some names. A name without a meaning does not compile. */
export const enumKey = <const Names extends readonly string[]>(
  names: Names,
  choices: Readonly<Record<Names[number], string>>,
) => z.enum(names).meta({ choices });

/** Makes a key that takes one of the names of a table, with the words of their rows as meanings. */
export const tableKey = <Name extends string>(rows: readonly { readonly name: Name; readonly words: string }[]) =>
  z
    .enum(rows.map(({ name }) => name))
    .meta({ choices: Object.fromEntries(rows.map(({ name, words }) => [name, words])) });

/** A slice of a file's rows, such as `test[16:]`. */
export const rowSlice = z.string().max(100).regex(SLICE, 'is no slice; write it as train[:16] or test[16:]');

/** Help text for the smaller model that comes with the product. */
export const SMALL_WORDS = 'The smaller team that comes with the task logic: about half of the weights.';

/** Makes a key for a path, or for a name that the product gives a meaning. */
export const pathKey = (names: 'folder' | 'protocol' | 'rows', choices: Readonly<Record<string, string>> = {}) =>
  z.string().min(1).meta({ names, choices });

/** Returns the schema of the written value: without default, null, short forms and transformations. */
export function unwrapSchema(schema: z.core.$ZodType): z.core.$ZodType {
  if (schema instanceof z.ZodPipe) {
    return unwrapSchema(schema.in instanceof z.ZodTransform ? schema.out : schema.in);
  }
  return schema instanceof z.ZodDefault ||
    schema instanceof z.ZodPrefault ||
    schema instanceof z.ZodNullable ||
    schema instanceof z.ZodOptional
    ? unwrapSchema(schema.unwrap())
    : schema;
}

/** Returns the keys of a section by name; an empty object if the schema is not a section. */
export function listSectionKeys(schema: z.core.$ZodType): Readonly<Record<string, z.ZodType>> {
  const written = unwrapSchema(schema);
  return written instanceof z.ZodObject ? written.shape : {};
}
