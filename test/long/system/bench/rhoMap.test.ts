/** The map of rho, stopped and continued. */

import assert from 'node:assert/strict';
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { MapScale } from '../../../../src/bench/experiments/map/mapScale.ts';
import { makeRhoMap } from '../../../../src/bench/experiments/map/rhoMap.ts';
import { CancelledError } from '../../../../src/shared/errors.ts';

/** One step of three places: nothing is learned, but all of it is there. */
const MAP_SCALE: MapScale = {
  rows: [
    { places: [{ level: 4, roles: 2, learns: false }], seeds: [0, 1] },
    { places: [{ level: 1, roles: 3, learns: true }], seeds: [0, 1] },
    { places: [{ level: 8, roles: 2, learns: true }], seeds: [0] },
  ],
  rates: [1e-3, 3e-3],
  searchSeeds: [1000],
  run: {
    steps: 1,
    instances_per_step: 2,
    evaluator_budget: 8,
    'evaluation.instances': 8,
    'evaluation.samples': 2,
    'device.threads': 1,
  },
  teams: { 2: { fanout: [2, 4] }, 3: { fanout: [2, 2, 2] } },
  pilot: { questions: 12, alternatives: 4, replays: 4 },
  noiseSteps: 2,
};

/** The scale may have other sizes than MAP_SCALE, not other rows and seeds. */
function continuedMap(scale: MapScale): void {
  let folder = '';
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'c3-map-'));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  test('the map continues after its last whole line, at one budget for both methods, and runs nothing twice', async () => {
    let notes = 0;
    const make = (until: number): Promise<unknown> => {
      const controller = new AbortController();
      const note = (): void => {
        if (++notes >= until) {
          controller.abort();
        }
      };
      return makeRhoMap({ quick: true, folder, signal: controller.signal, note }, scale);
    };
    const path = join(folder, '.c3/rho-map-quick/lines.jsonl');
    const lines = (): string[] => readFileSync(path, 'utf8').trim().split('\n');
    await assert.rejects(make(4), CancelledError);
    const stopped = lines();
    assert.ok(stopped.length >= 4);
    // What a kill leaves of a line that was being written.
    appendFileSync(path, '{"overrides":["task');
    await make(Infinity);
    // Three pilots and a ratio; two methods at two rhos try two rates; then each row with its seeds.
    assert.equal(lines().length, 4 + 8 + 10);
    assert.deepEqual(lines().slice(0, stopped.length), stopped);
    const text = (name: string): string => readFileSync(join(folder, '.c3/rho-map-quick', name), 'utf8');
    const map = JSON.parse(text('map.json')) as {
      runs: { method: string; seed: number; level: number; evaluatorCalls: number; before: number }[];
      trends: { learns: boolean; trends: { roles: number | null }[] }[];
      cells: { level: number; difference: { n: number } }[];
    };
    assert.equal(map.runs.length, 10);
    assert.deepEqual(
      map.trends.map(({ learns, trends }) => [learns, trends.map(({ roles }) => roles)]),
      [
        [false, [2]],
        [true, [3]],
        [true, [2]],
      ],
    );
    assert.deepEqual(map.cells.map(({ level, difference }) => `${level} ${difference.n}`).sort(), [
      '1 2',
      '4 2',
      '8 1',
    ]);
    for (const { level, seed, before: untrained } of map.runs) {
      const same = map.runs.filter((one) => one.level === level && one.seed === seed);
      assert.deepEqual([...new Set(same.map((one) => one.before))], [untrained]);
    }
    assert.match(text('map.html'), /^<!doctype html>/u);
    const all = readFileSync(path, 'utf8');
    notes = 0;
    await make(Infinity);
    assert.equal(readFileSync(path, 'utf8'), all);
    // Of each row and seed, that the page was written.
    assert.equal(notes, 5);

    // The map alone, as it comes from another machine, says as much as the lines.
    rmSync(path);
    notes = 0;
    await make(Infinity);
    assert.equal(notes, 5);
    assert.deepEqual(lines().toSorted(), all.trim().split('\n').toSorted());
    const { variances } = JSON.parse(text('map.json')) as { variances: { level: number; ratio: { n: number } }[] };
    assert.deepEqual(
      variances.map(({ level, ratio }) => [level, ratio.n]),
      [[4, 4]],
    );
    // One that was made on two machines names each once.
    const file = join(folder, '.c3/rho-map-quick/map.json');
    const hardware = (): string => (JSON.parse(text('map.json')) as { hardware: string }).hardware;
    const here = hardware();
    writeFileSync(file, text('map.json').replace(`"hardware":"${here}"`, `"hardware":"Another, 2 cores; ${here}"`));
    await make(Infinity);
    assert.equal(hardware(), `${here}; Another, 2 cores`);
    // Lines after a gap are shown before the gap is filled.
    const rest = lines().filter((line) => !(line.includes('"task.levels=[0,0,0,1]"') && line.includes('"seed=1"')));
    assert.equal(rest.length, all.trim().split('\n').length - 2);
    writeFileSync(path, rest.map((line) => `${line}\n`).join(''));
    rmSync(file);
    notes = 0;
    await assert.rejects(make(5), CancelledError);
    const { runs } = JSON.parse(text('map.json')) as typeof map;
    assert.deepEqual(
      runs.map(({ level, seed }) => `${level} ${seed}`),
      ['4 0', '4 0', '1 0', '1 0', '1 1', '1 1', '8 0', '8 0'],
    );
    // One of other settings is not continued.
    rmSync(path);
    writeFileSync(file, readFileSync(file, 'utf8').replace('"steps":"1"', '"steps":"2"'));
    notes = 0;
    await assert.rejects(make(2), CancelledError);
    assert.equal(lines().length, 1);
  });
}

continuedMap(MAP_SCALE);
