/** The programs of test/programs, written with the real libraries, and how a test records one. */
import { join } from 'node:path';
import { record } from '../../src/engine/record/recordProgram.ts';
import type { EngineService } from '../../src/engine/service.ts';
import type { Served } from './served.ts';

export const PROGRAMS = join(import.meta.dirname, '../programs');

/** With the file that each writes of its own, where it writes one, and what its tools give in an episode. */
export const REAL_PROGRAMS = [
  { name: 'LangGraph', place: 'langGraph', own: 'checkpoints.sqlite', tools: [] },
  { name: 'the AI SDK', place: 'aiSdk', own: 'spans.jsonl', tools: [] },
  { name: 'the OpenAI Agents SDK', place: 'openaiAgents', own: null, tools: ['note'] },
] as const;
export type RealProgram = (typeof REAL_PROGRAMS)[number]['place'];

/**
 * Records a program while a bundled team answers it.
 * @param named what the program writes, asks, and is given besides
 */
export const recordProgram = (
  service: EngineService,
  place: string,
  named: { readonly file: string; readonly question: string; readonly more?: readonly string[] },
  { folder, served, model }: { readonly folder: string; readonly served: Served; readonly model: string },
): ReturnType<typeof record> =>
  record(
    service,
    {
      command: [process.execPath, join(PROGRAMS, place, 'main.mjs'), named.file, named.question, ...(named.more ?? [])],
      folder,
      maskSecrets: false,
      right: null,
      upstream: served.url,
      served: { model, key: served.key },
      quiet: true,
    },
    new AbortController().signal,
  );
