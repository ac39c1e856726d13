/** The kinds of keys that a run configuration is made of. */
import { z } from 'zod';
import { SLICE } from '../../shared/text/slice.ts';

export const positive = z.int().positive();
export const share = z.number().min(0).max(1);

/** What the editor's help reads beside a key's description, as metadata of the schema. */
export interface KeyMeta {
  readonly description?: string | undefined;
  /** What each value that has a name means. */
  readonly choices?: Readonly<Record<string, string>>;
  /** What a text names on the disk, relative to the configuration. */
  readonly names?: 'folder' | 'protocol' | 'rows';
  /** The key of a section that a bare value represents. */
  readonly shortFor?: string;
}

/** One of some names, each with its meaning: a name without words does not compile. */
export const oneOf = <const Names extends readonly string[]>(
  names: Names,
  choices: Readonly<Record<Names[number], string>>,
) => z.enum(names).meta({ choices } satisfies KeyMeta);

/** One of the names of a table, each with the words of its row. */
export const described = <Name extends string>(rows: readonly { readonly name: Name; readonly words: string }[]) =>
  z
    .enum(rows.map(({ name }) => name))
    .meta({ choices: Object.fromEntries(rows.map(({ name, words }) => [name, words])) } satisfies KeyMeta);

/** A slice of a file's rows, such as `test[16:]`. */
export const rowSlice = z.string().max(100).regex(SLICE, 'is no slice; write it as train[:16] or test[16:]');

/** Of the smaller model that comes with the product. */
export const SMALL_WORDS = 'The smaller team that comes with the task logic: about half of the weights.';

/** A path, or a name that means something of the product's own. */
export const pathTo = (names: 'folder' | 'protocol' | 'rows', choices: Readonly<Record<string, string>> = {}) =>
  z
    .string()
    .min(1)
    .meta({ names, choices } satisfies KeyMeta);
