/** The kinds of keys that a run configuration is made of. */
import { z } from 'zod';
import { SLICE } from '../../shared/text/slice.ts';

export const positive = z.int().positive();
export const share = z.number().min(0).max(1);

declare module 'zod' {
  /** What help, reference and stored configurations read of a key beside its description. */
  interface GlobalMeta {
    /** What each value that has a name means. */
    choices?: Readonly<Record<string, string>>;
    /** What a text names on the disk, relative to the configuration. */
    names?: 'folder' | 'protocol' | 'rows';
    /** The key of a section that a bare value represents. */
    shortFor?: string;
    /** The version that the key, or the section with all its keys, came in; the first version unless given. */
    since?: string;
    /**
     * What a stored configuration without the key means: runs from before the key are continued, verified and replayed
     * as they began. A configuration that says the same is stored without the key, as such runs were.
     */
    earlier?: z.core.$output;
    /** True: the key is stored even where it says what it meant earlier. */
    alwaysStored?: boolean;
  }
}

/** One of some names, each with its meaning: a name without words does not compile. */
export const oneOf = <const Names extends readonly string[]>(
  names: Names,
  choices: Readonly<Record<Names[number], string>>,
) => z.enum(names).meta({ choices });

/** One of the names of a table, each with the words of its row. */
export const described = <Name extends string>(rows: readonly { readonly name: Name; readonly words: string }[]) =>
  z
    .enum(rows.map(({ name }) => name))
    .meta({ choices: Object.fromEntries(rows.map(({ name, words }) => [name, words])) });

/** A slice of a file's rows, such as `test[16:]`. */
export const rowSlice = z.string().max(100).regex(SLICE, 'is no slice; write it as train[:16] or test[16:]');

/** Of the smaller model that comes with the product. */
export const SMALL_WORDS = 'The smaller team that comes with the task logic: about half of the weights.';

/** A path, or a name that means something of the product's own. */
export const pathTo = (names: 'folder' | 'protocol' | 'rows', choices: Readonly<Record<string, string>> = {}) =>
  z.string().min(1).meta({ names, choices });

/** The schema of what is written for a key: without its default, null, short forms, and what values are turned into. */
export function writtenSchema(schema: z.core.$ZodType): z.core.$ZodType {
  if (schema instanceof z.ZodPipe) {
    return writtenSchema(schema.in instanceof z.ZodTransform ? schema.out : schema.in);
  }
  return schema instanceof z.ZodDefault ||
    schema instanceof z.ZodPrefault ||
    schema instanceof z.ZodNullable ||
    schema instanceof z.ZodOptional
    ? writtenSchema(schema.unwrap())
    : schema;
}

/** The keys of a section by name; none of what is no section. */
export function sectionKeys(schema: z.core.$ZodType): Readonly<Record<string, z.ZodType>> {
  const written = writtenSchema(schema);
  return written instanceof z.ZodObject ? written.shape : {};
}
