/** Writes the HTML page around a panel's bundle. */

import { randomBytes } from 'node:crypto';

export interface PageParts {
  readonly title: string;
  /** The origin of the editor's webview resources, for the content security policy. */
  readonly cspSource: string;
  readonly script: string;
  readonly style: string;
}

/**
 * Returns the HTML of a panel. The content security policy allows one script by its nonce, scripts
 * that it loads with that nonce, and the style sheet of C3. It allows no images, network, evaluation
 * or inline styles. The toolkit uses constructed style sheets, and tries one style element with the
 * nonce of the `csp-nonce` tag. That nonce differs from the script's, so that no markup reveals a
 * nonce that could run a script.
 */
export function createWebviewPage({ title, cspSource, script, style }: PageParts): string {
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

/** Escapes HTML markup in a text or a quoted attribute. */
export function escapeAttribute(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
