/** What tests ask of every report page. */

import assert from 'node:assert/strict';

/** Every element is closed in order: what a browser would have to guess is a fault. */
export function assertBalanced(html: string): void {
  const open: string[] = [];
  for (const [whole, closing, name = '', rest = ''] of html
    .replace(/<style>[^]*?<\/style>/u, '')
    .matchAll(/<(\/?)([a-zA-Z!]\w*)((?:[^>"]|"[^"]*")*)>/gu)) {
    if (closing === '/') {
      assert.equal(open.pop(), name, whole);
    } else if (!rest.endsWith('/') && !['!doctype', 'meta'].includes(name)) {
      open.push(name);
    }
  }
  assert.deepEqual(open, []);
}

/** Nothing is fetched, nothing runs, and no link leaves the page. */
export function assertSelfContained(html: string): void {
  assert.match(html, /default-src 'none'; style-src 'unsafe-inline'/u);
  assert.doesNotMatch(
    html,
    /<(?:script|link|img|iframe|object|embed|base|form)\b|\bsrc=|@import|url\((?!#)|<[^>]*\son\w+=/u,
  );
  assert.deepEqual(
    [...html.matchAll(/href="([^"]*)"/gu)].filter(([, target = '']) => !target.startsWith('#')),
    [],
  );
  const ids = [...html.matchAll(/\sid="([^"]*)"/gu)].map(([, id]) => id);
  assert.equal(new Set(ids).size, ids.length, 'an id comes twice');
}

/** What can be read, the markup away. */
export const textOf = (html: string): string =>
  html
    .replace(/<style>[^]*?<\/style>/u, '')
    .replaceAll(/<[^>]*>/gu, ' ')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&#39;', "'")
    .replaceAll('&quot;', '"')
    .replaceAll('&amp;', '&')
    .replaceAll(/\s+/gu, ' ');
