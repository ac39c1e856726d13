/** Tables of the page on the clipboard. */
import { env } from 'vscode';
import { confirmed } from '../webview/confirm.ts';

/** Lines of a table that the question shows, and characters of them. */
const [LINES_SHOWN, TEXT_SHOWN] = [12, 600];

/**
 * Puts a table of the page on the clipboard, once the user has seen how it begins: what is pasted elsewhere may run
 * there.
 */
export async function copyConfirmed(text: string): Promise<void> {
  const beginning = text.split(/\r?\n/u, LINES_SHOWN).join('\n').slice(0, TEXT_SHOWN);
  const detail = beginning.length < text.trimEnd().length ? `${beginning}\n…` : beginning;
  if (await confirmed(`Copy ${text.length} characters to the clipboard?`, 'Copy', detail)) {
    await env.clipboard.writeText(text);
  }
}
