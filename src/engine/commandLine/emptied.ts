/** `c3 diagnose --emptied`: held-out questions with and without what a role says. */
import type { Interval } from '../../domain/credit.ts';
import { emptiedEffects, timesEmptied, type EmptiedEffect } from '../../report/emptied.ts';
import { messagesToEmpty, type EmptiedSettings } from '../diagnose/emptied.ts';
import { parseRecipe, protocolOf } from '../recipe/recipe.ts';
import type { EngineService } from '../service.ts';

/**
 * Replays held-out messages of a role with nothing in their place, and reads what that changed. Messages that were
 * emptied so often before are left as they are, so that a command that was cancelled goes on.
 * @throws C3Error('input') for a role that nobody follows, or a run without a sampled evaluation; CancelledError
 */
export async function emptiedRun(
  service: EngineService,
  run: string,
  { replays, ...settings }: EmptiedSettings & { readonly replays: number },
  { signal, onMessage }: { readonly signal: AbortSignal; readonly onMessage: (done: number, total: number) => void },
): Promise<readonly EmptiedEffect[]> {
  const { asked, times } = service.reading((store) => ({
    asked: messagesToEmpty(store, run, protocolOf(parseRecipe(store.runConfig(run), run)), settings),
    times: timesEmptied(store, run),
  }));
  for (const [index, { id: message }] of asked.entries()) {
    if ((times.get(message) ?? 0) < replays) {
      await service.replay({ message, alternatives: 0, replays, text: '' }, { signal, onProgress: () => undefined });
    }
    onMessage(index + 1, asked.length);
  }
  return service.reading((store) => emptiedEffects(store, run));
}

const share = ({ value, low, high, n }: Interval): string =>
  `${value.toFixed(3)} [${low === null || high === null ? 'no interval' : `${low.toFixed(3)}, ${high.toFixed(3)}`}], n ${n}`;

/** One paragraph for each role and evaluation. */
export const emptiedWords = (effects: readonly EmptiedEffect[]): readonly string[] =>
  effects.flatMap(({ role, evaluation, team, without, difference, replays }) => [
    `${evaluation}: ${role}, ${replays} replays on each side, 95 % intervals over questions`,
    `  with its message        ${share(team)}`,
    `  with an empty message   ${share(without)}`,
    `  difference              ${share(difference)}`,
  ]);
