/** The panels, and what must say the same: their pages, icons, package.json and where they are restored. */

import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { integer, isRecord, object, text } from '../../../../src/shared/guard.ts';
import { guardToHost, type Panel } from '../../../../src/shared/protocols/panel.ts';
import { RUNS_PANEL } from '../../../../src/shared/protocols/runsTable.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..', '..');
const PROTOCOLS = join(ROOT, 'src', 'shared', 'protocols');
const isPanel = (value: unknown): value is Panel => isRecord(value) && ['view', 'bundle'].every((key) => key in value);
/** Each panel by the name of its constant. */
const PANELS = new Map<string, Panel>();
for (const file of readdirSync(PROTOCOLS)) {
  const found: unknown = await import(join(PROTOCOLS, file));
  for (const [name, value] of Object.entries(isRecord(found) ? found : {})) {
    if (isPanel(value)) {
      PANELS.set(name, value);
    }
  }
}
const panels = [...PANELS.values()];
const views = panels.map(({ view }) => view);

const manifestText = readFileSync(join(ROOT, 'package.json'), 'utf8');
const manifestSchema = z.object({
  activationEvents: z.array(z.string()),
  contributes: z.object({ commands: z.array(z.object({ command: z.string() })) }),
});
const manifest = manifestSchema.parse(JSON.parse(manifestText));

describe('the panels', () => {
  it('name each view and bundle once', () => {
    for (const key of ['view', 'title', 'bundle'] as const) {
      assert.equal(new Set(panels.map((panel) => panel[key])).size, panels.length, key);
    }
    for (const panel of panels) {
      assert.notEqual(panel.title.trim(), '');
      assert.equal(guardToHost(panel)({ type: 'noSuchMessage' }), false);
    }
  });

  it('take events that carry what their table says, whole, and requests of theirs', () => {
    const guard = guardToHost({
      ...RUNS_PANEL,
      events: { go: { run: text(3) }, stop: {} },
      requests: { rows: { asked: object({ offset: integer() }), answer: text() } },
    });
    for (const message of [
      { type: 'go', run: 'abc' },
      { type: 'stop' },
      { type: 'request', id: 1, kind: 'rows', asked: { offset: 0 } },
    ]) {
      assert.ok(guard(message), JSON.stringify(message));
    }
    for (const message of [
      { type: 'go' },
      { type: 'go', run: 'abcd' },
      { type: 'stop', run: 'abc' },
      { type: 'toString' },
      { type: 'request', id: 1, kind: 'go', asked: { offset: 0 } },
      { type: 'request', id: 1, kind: 'rows', asked: { offset: -1 } },
    ]) {
      assert.equal(guard(message), false, JSON.stringify(message));
    }
  });

  it('have a page each, and there is a panel for each page', () => {
    const pages = readdirSync(join(ROOT, 'webview')).filter((name) =>
      existsSync(join(ROOT, 'webview', name, 'main.ts')),
    );
    assert.deepEqual(panels.map(({ bundle }) => bundle).sort(), pages.sort());
  });

  it('are all restored by the extension after a reload', () => {
    const extension = readFileSync(join(ROOT, 'src', 'extension', 'extension.ts'), 'utf8');
    const restored = [...extension.matchAll(/^ +\[([A-Z_]+), \w+\],$/gmu)].map(([, name]) => name ?? '');
    assert.deepEqual(restored.sort(), [...PANELS.keys()].sort());
  });

  it('have the icons that they name', () => {
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

  it('names only known panels in its conditions', () => {
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
