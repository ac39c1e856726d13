/** Messages between the extension host and the failure taxonomy panel. */
import { anyOf, integer, literal, nullable, object, text, type Guarded } from './guard.ts';
import { TAXONOMY_CLASSES, type TaxonomyClass } from './records.ts';

/** What the panel keeps across a reload. */
export const isTaxonomyState = object({
  version: literal(1),
  run: text(200),
  selected: nullable(literal(...TAXONOMY_CLASSES)),
});
export type TaxonomyState = Guarded<typeof isTaxonomyState>;

export type TaxonomyFromHost =
  | { readonly type: 'opened'; readonly run: string; readonly title: string; readonly subtitle: string }
  | { readonly type: 'classes'; readonly run: string; readonly classes: readonly TaxonomyClass[] }
  | { readonly type: 'working'; readonly run: string }
  | { readonly type: 'failed'; readonly message: string };

export const isTaxonomyToHost = anyOf(
  object({ type: literal('ready') }),
  object({ type: literal('refresh') }),
  object({ type: literal('open'), message: integer() }),
);
export type TaxonomyToHost = Guarded<typeof isTaxonomyToHost>;
