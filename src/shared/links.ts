/** Links into a store, as text. */

/**
 * What a link, a report or a menu is about. Numbers of messages and buckets are those of one store; their run says
 * whether it is the same.
 */
export type Subject =
  | { readonly kind: 'run'; readonly run: string }
  | { readonly kind: 'bucket' | 'message'; readonly id: number; readonly run: string };

export interface Link {
  readonly subject: Subject;
  /** Absolute path of the workspace folder whose store is meant. */
  readonly folder: string;
}

/**
 * The address of a subject as text, to be put behind the extension's own. The folder comes last: whatever it holds is
 * part of it.
 */
export function linkText({ subject, folder }: Link): string {
  const id = encodeURIComponent(subject.kind === 'run' ? subject.run : String(subject.id));
  const run = subject.kind === 'run' ? '' : `run=${encodeURIComponent(subject.run)}&`;
  return `/${subject.kind}/${id}?${run}folder=${encodeURIComponent(folder)}`;
}
