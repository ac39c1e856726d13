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
 * The HTML of a panel. The policy allows one script, by nonce, what that script loads with its own nonce, and our own
 * style sheet: no image, no network, no evaluation, no style in markup. The toolkit's styles are constructed style
 * sheets; it only tries one style element, with the nonce that it finds in the page. That is another nonce than the
 * script's, so that nothing in the page names the one that could run a script.
 */
export function webviewPage({ title, cspSource, script, style }: PageParts): string {
  const scriptNonce = randomBytes(24).toString('base64url');
  const styleNonce = randomBytes(24).toString('base64url');
  const policy = `default-src 'none'; script-src 'nonce-${scriptNonce}'; style-src ${cspSource} 'nonce-${styleNonce}'`;
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${escapeAttribute(policy)}">
<meta property="csp-nonce" content="${styleNonce}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="${escapeAttribute(style)}">
<title>${escapeAttribute(title)}</title>
</head>
<body>
<main id="app"></main>
<script nonce="${scriptNonce}" src="${escapeAttribute(script)}"></script>
</body>
</html>`;
}

/** Escapes what HTML reads as markup, in text and in quoted attributes. */
export function escapeAttribute(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
