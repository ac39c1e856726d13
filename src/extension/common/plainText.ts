/** Texts of models and files for places where the editor reads more than text: what would be markup is made plain. */

/**
 * A sentence for a notification, which makes links of `[words](address)`, links to commands too: a blank takes them
 * apart.
 */
export function withoutLinks(text: string): string {
  return text.replaceAll('](', '] (');
}

/** An entry of a list to pick from, which draws a picture for `$(name)`: a character of no width takes it apart. */
export function withoutIcons(text: string): string {
  return text.replaceAll('$(', '$\u200B(');
}
