/**
 * From a click on "Replay alternatives" to the first alternative on the screen, with the model loaded: how long it
 * takes in the editor, and what of it the same engine takes for a client of its own, which `c3 bench replay` measures
 * without an editor. The times are printed, never judged.
 */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import type { FrameLocator } from 'playwright-core';
import { CancellationToken } from 'vscode-jsonrpc/node';
import { createEngineClient, type EngineClient } from '../../../src/client/engineClient.ts';
import { AS_RECORDED } from '../../../src/domain/replay.ts';
import { VERSION } from '../../../src/engine/version.ts';
import { workbenchScenarios, type Workbench } from '../../integration/harness/workbench.ts';
import { assertQuiet, choose, firstPlan, frameOf, storeOf, transcriptOf } from '../../integration/team.ts';

const ALTERNATIVES = 8;
const REPLAYS = 4;
/** Clicks that are measured, and requests of another client between them. */
const ROUNDS = 12;

const scenario = workbenchScenarios({
  recording: 'arithmetic',
  settings: { 'c3.replay.alternatives': ALTERNATIVES, 'c3.replay.replays': REPLAYS },
});

/**
 * Notes what the page sees of the next replay, in milliseconds after the click: the word that it runs, the message with
 * its first alternative, the alternative in the page, the frame with it, and the end.
 */
const WATCH = `globalThis.c3Watched = new Promise((resolve) => {
  const times = {};
  let clicked = 0;
  const note = (name) => { times[name] ??= performance.now() - clicked; };
  addEventListener('click', (event) => { clicked = event.timeStamp; }, { capture: true, once: true });
  const heard = ({ data }) => {
    if (data?.type !== 'replay' || clicked === 0) return;
    const { status, bucket } = data.state;
    note('running');
    if (bucket?.alternatives.some(({ original }) => !original)) note('arrived');
    if (status !== 'running') {
      note('ended');
      removeEventListener('message', heard);
      resolve(times);
    }
  };
  addEventListener('message', heard, { capture: true });
  const look = new MutationObserver(() => {
    if (times.arrived === undefined || !document.querySelector('section.bucket li.alternative:not(.own)')) return;
    look.disconnect();
    note('drawn');
    requestAnimationFrame(() => {
      const painted = new MessageChannel();
      painted.port1.onmessage = () => { note('painted'); };
      painted.port2.postMessage(null);
    });
  });
  look.observe(document.body, { childList: true, subtree: true });
}), undefined`;

const STAGES = ['running', 'arrived', 'drawn', 'painted', 'ended'] as const;
type Times = Readonly<Record<(typeof STAGES)[number], number>>;

/** One click, watched in the page. */
async function click(transcript: FrameLocator): Promise<Times> {
  const frame = await frameOf(transcript);
  await frame.evaluate(WATCH);
  await transcript.getByRole('button', { name: 'Replay alternatives' }).click();
  return frame.evaluate<Times>('globalThis.c3Watched');
}

/** The engine of the editor's window, for a client beside it. */
function otherClient(workbench: Workbench, onAlternative: () => void): EngineClient {
  process.env['XDG_RUNTIME_DIR'] = workbench.server.runtime;
  const ignored = (): void => undefined;
  return createEngineClient(
    {
      script: join(import.meta.dirname, '..', '..', '..', 'dist', 'engine.js'),
      store: storeOf(workbench.folder),
      kind: 'command',
      version: VERSION,
    },
    {
      log: ignored,
      jobs: ignored,
      runProgress: ignored,
      replayProgress: ({ bucket: { alternatives } }) => {
        if (alternatives.some(({ original }) => !original)) {
          onAlternative();
        }
      },
      verifyProgress: ignored,
      testModelProgress: ignored,
      waiting: ignored,
      ready: ignored,
      ended: ignored,
    },
  );
}

const quantile = (values: readonly number[], share: number): string =>
  `${Math.round(values.toSorted((a, b) => a - b)[Math.floor(share * values.length)] ?? Number.NaN)} ms`;
const words = (values: readonly number[]): string =>
  `${quantile(values, 0.5)} (95th percentile ${quantile(values, 0.95)})`;

scenario('the first alternative of a click comes soon after the engine has it', async (workbench) => {
  const { question, message } = await firstPlan(workbench);
  const transcript = await transcriptOf(workbench, question);
  await choose(transcript, 'reasoner');
  // Starts the engine and loads the model.
  await click(transcript);
  const shown: number[] = [];
  const client = otherClient(workbench, () => shown.push(performance.now()));
  const [clicks, alone]: [Times[], number[]] = [[], []];
  try {
    for (let round = 0; round < ROUNDS; round++) {
      clicks.push(await click(transcript));
      shown.length = 0;
      const started = performance.now();
      await client.replay(
        {
          message,
          alternatives: ALTERNATIVES,
          replays: REPLAYS,
          text: null,
          independent: false,
          continuation: AS_RECORDED,
        },
        CancellationToken.None,
      );
      const [first] = shown;
      assert.ok(first !== undefined);
      alone.push(first - started);
    }
  } finally {
    await client.dispose();
  }
  for (const stage of STAGES) {
    console.log(`click to ${stage}: ${words(clicks.map((times) => times[stage]))}`);
  }
  console.log(`the engine alone, request to the first alternative: ${words(alone)}`);
  assertQuiet(workbench);
});
