/** Links into a store, as text. */

/**
 * The subject of a link, a report or a menu. Numbers of messages and buckets belong to one store; the
 * run shows if the store is the same.
 */
export type Subject =
  | { readonly kind: 'run'; readonly run: string }
  | { readonly kind: 'bucket' | 'message'; readonly id: number; readonly run: string };

export interface Link {
  readonly subject: Subject;
  /** Absolute path of the workspace folder with the store. */
  readonly folder: string;
}

/**
 * Returns the address of a subject, to append to the extension's own. The folder comes last, because
 * it may contain any character.
 */
export function formatLink({ subject, folder }: Link): string {
  const id = encodeURIComponent(subject.kind === 'run' ? subject.run : String(subject.id));
  const run = subject.kind === 'run' ? '' : `run=${encodeURIComponent(subject.run)}&`;
  return `/${subject.kind}/${id}?${run}folder=${encodeURIComponent(folder)}`;
}
