/** `c3 bench`. */

import type { BenchBundle } from '../benchSuites.ts';
import { BENCH_ENTRY } from '../places.ts';
import type { CommandContext } from './command.ts';
import type { Given } from './declared/declaration.ts';
import type { BENCH } from './declared/machine.ts';

export async function bench(given: Given<typeof BENCH>, context: CommandContext): Promise<void> {
  const { print, note, folder, signal } = context;
  const { json, quick, config, device, out, continue: from } = given;
  const { runBench } = (await import(BENCH_ENTRY.href)) as BenchBundle;
  print(await runBench(given.suite ?? undefined, { json, quick, config, device, out, from, folder, signal, note }));
}
