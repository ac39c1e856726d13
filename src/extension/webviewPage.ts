/** The page around a panel's bundle. */
import { randomBytes } from 'node:crypto';

export interface PageParts {
  readonly title: string;
  /** What the editor calls the origin of its webview resources. */
  readonly cspSource: string;
  readonly script: string;
  readonly style: string;
}

/**
 * The HTML of a panel. The policy allows one script, by nonce, and our own style sheet: no inline style, no image, no network, no evaluation.
 * The toolkit needs nothing more: its styles are constructed style sheets.
 */
export function webviewPage({ title, cspSource, script, style }: PageParts): string {
  const nonce = randomBytes(24).toString('base64url');
  const policy = `default-src 'none'; script-src 'nonce-${nonce}'; style-src ${cspSource}`;
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${escapeAttribute(policy)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="${escapeAttribute(style)}">
<title>${escapeAttribute(title)}</title>
</head>
<body>
<main id="app"></main>
<script nonce="${nonce}" src="${escapeAttribute(script)}"></script>
</body>
</html>`;
}

/** Escapes what HTML reads as markup, in text and in quoted attributes. */
export function escapeAttribute(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
