/** The table of panels, and what must say the same as it: the pages, the icons and package.json. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { PANEL_NAMES, PANELS } from '../../../../src/shared/protocols/panels.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..', '..');
const panels = Object.values(PANELS);
const views = panels.map(({ view }) => view);

const manifestText = readFileSync(join(ROOT, 'package.json'), 'utf8');
const manifestSchema = z.object({
  activationEvents: z.array(z.string()),
  contributes: z.object({ commands: z.array(z.object({ command: z.string() })) }),
});
const manifest = manifestSchema.parse(JSON.parse(manifestText));

describe('the table of panels', () => {
  it('names each view and bundle once', () => {
    assert.deepEqual(PANEL_NAMES, Object.keys(PANELS));
    for (const key of ['view', 'title', 'bundle'] as const) {
      assert.equal(new Set(panels.map((panel) => panel[key])).size, panels.length, key);
    }
    for (const { title, guard } of panels) {
      assert.notEqual(title.trim(), '');
      assert.equal(guard({ type: 'noSuchMessage' }), false);
    }
  });

  it('has a page for each panel, and a panel for each page', () => {
    const pages = readdirSync(join(ROOT, 'webview')).filter((name) =>
      existsSync(join(ROOT, 'webview', name, 'main.ts')),
    );
    assert.deepEqual(panels.map(({ bundle }) => bundle).sort(), pages.sort());
  });

  it('has the icons that it names', () => {
    for (const { icon } of panels) {
      for (const theme of ['light', 'dark']) {
        assert.ok(existsSync(join(ROOT, 'media', `${icon}-${theme}.svg`)), `${icon}-${theme}.svg`);
      }
    }
  });
});

describe('package.json', () => {
  it('activates the extension for each panel that the editor brings back, and for no other', () => {
    const activated = manifest.activationEvents.flatMap((event) =>
      event.startsWith('onWebviewPanel:') ? [event.slice('onWebviewPanel:'.length)] : [],
    );
    assert.deepEqual(activated.sort(), views.toSorted());
  });

  it('names only panels of the table in its conditions', () => {
    const named = [...manifestText.matchAll(/(?:webviewId|activeWebviewPanelId) *(?:==|!=|=~) *'([^']*)'/gu)].map(
      ([, view]) => view ?? '',
    );
    assert.ok(named.length > 5);
    assert.deepEqual(
      [...new Set(named)].filter((view) => !views.some((known) => known === view)),
      [],
    );
    assert.equal(
      named.length,
      [...manifestText.matchAll(/webviewId|activeWebviewPanelId/gu)].length,
      'every condition on a panel was read',
    );
  });
});
