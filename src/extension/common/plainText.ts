/** Makes texts of models and files safe for places where the editor interprets markup. */

/** Inserts a blank into `[words](address)`. Notifications turn that into links, also to commands. */
export function withoutLinks(text: string): string {
  return text.replaceAll('](', '] (');
}

/** Inserts a zero-width space into `$(name)`, which lists and quick picks draw as an icon. */
export function withoutIcons(text: string): string {
  return text.replaceAll('$(', '$\u200B(');
}
