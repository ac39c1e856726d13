/** `c3 bench named-messages` on the bundled team, in its shorter form. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { benchNamedMessages } from '../../../../src/bench/experiments/blame/namedMessages.ts';

test('c3 bench named-messages names messages of lost episodes, and replaces each with fresh ones', async () => {
  const notes: string[] = [];
  const { figures } = await benchNamedMessages({
    quick: true,
    config: null,
    folder: process.cwd(),
    signal: new AbortController().signal,
    note: (line) => notes.push(line),
  });
  const value = (name: string): number => figures.find((one) => one.name === name)?.value ?? Number.NaN;
  const lost = value('lost episodes');
  assert.equal(notes[0], `${lost} episodes were lost`);
  assert.ok(lost > 0 && value('of them a message is named in') > 0);
  for (const { name, value: saved } of figures.filter((one) => one.name.startsWith('saved by'))) {
    assert.ok(saved !== null && saved >= 0 && saved <= 100, name);
  }
});
