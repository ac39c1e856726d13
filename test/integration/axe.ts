/** axe-core in a panel's document. */

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { FrameLocator } from 'playwright-core';
import { isRecord } from '../../src/shared/guard.ts';
import { frameOf } from './team.ts';

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

export interface Finding {
  readonly rule: string;
  readonly impact: string;
  readonly help: string;
  readonly places: readonly string[];
}

/** What axe-core finds there. */
export async function findings(panel: FrameLocator): Promise<readonly Finding[]> {
  const frame = await frameOf(panel);
  if ((await frame.evaluate('typeof axe')) !== 'object') {
    await frame.evaluate(await readFile(AXE, 'utf8'));
  }
  const result: unknown = await frame.evaluate('axe.run(document, { iframes: false, resultTypes: ["violations"] })');
  assert.ok(
    isRecord(result) &&
      Array.isArray(result['violations']) &&
      Array.isArray(result['passes']) &&
      result['passes'].length > 0,
    'axe-core has looked at something',
  );
  return result['violations'].map((violation: unknown): Finding => {
    assert.ok(isRecord(violation) && Array.isArray(violation['nodes']));
    const places = violation['nodes'].map((node: unknown) =>
      isRecord(node) ? `${String(node['html'])} ${String(node['failureSummary']).replaceAll(/\s+/gu, ' ')}` : '',
    );
    return {
      rule: String(violation['id']),
      impact: String(violation['impact']),
      help: String(violation['help']),
      places,
    };
  });
}
