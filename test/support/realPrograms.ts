/** The programs of test/programs, which use the real libraries, and a function that records one. */

import { join } from 'node:path';
import { record } from '../../src/engine/record/recordProgram.ts';
import type { EngineService } from '../../src/engine/service.ts';
import type { Served } from './served.ts';

export const PROGRAMS = join(import.meta.dirname, '../programs');

/** `own` is a file that the program writes, or null. `tools` are the tool events of an episode. */
export const REAL_PROGRAMS = [
  { name: 'LangGraph', place: 'langGraph', own: 'checkpoints.sqlite', tools: [] },
  { name: 'the AI SDK', place: 'aiSdk', own: 'spans.jsonl', tools: [] },
  { name: 'the OpenAI Agents SDK', place: 'openaiAgents', own: null, tools: ['note'] },
] as const;
export type RealProgram = (typeof REAL_PROGRAMS)[number]['place'];

/**
 * Records a program while a bundled team answers it.
 * @param given its arguments, and its file if that is not main.mjs
 */
export const recordProgram = (
  service: EngineService,
  place: string,
  given: { readonly main?: string; readonly args: readonly string[] },
  { folder, served, model }: { readonly folder: string; readonly served: Served; readonly model: string },
): ReturnType<typeof record> =>
  record(
    service,
    {
      command: [process.execPath, join(PROGRAMS, place, given.main ?? 'main.mjs'), ...given.args],
      folder,
      maskSecrets: false,
      right: null,
      upstream: served.url,
      served: { model, key: served.key },
      quiet: true,
    },
    new AbortController().signal,
  );
