/**
 * The state that a method carries from step to step. It is always read from the store, so a step after
 * an interruption, or executed again, gets the same state.
 */

import type { MethodState } from '../../domain/step.ts';
import { C3Error } from '../../shared/errors.ts';
import type { StoreReader, StoreWriter } from '../../store/types.ts';
import type { Method, MethodSettings, StateKind } from '../methods/method.ts';

/** The state of methods that carry nothing. */
const NO_STATE: MethodState = { json: null, tensors: {} };

interface Place {
  readonly store: StoreReader;
  readonly run: string;
  readonly method: Method;
  readonly config: MethodSettings;
}

const getKind = ({ method, config }: Pick<Place, 'method' | 'config'>): StateKind | null =>
  method.state?.(config) ?? null;

/**
 * Returns the state at the start of the credit of an iteration, or of a stage of it.
 * @throws C3Error if it is not stored, damaged, or of another version or method
 */
export function readStateBefore(place: Place, iteration: number, stage = 0): MethodState {
  const { store, run, config } = place;
  const kind = getKind(place);
  if (kind === null || stage > 0) {
    return readStateAfter(place, iteration, stage - 1);
  }
  if (iteration === 1) {
    return kind.initial(config);
  }
  const final = findFinalStage(store, run, iteration - 1);
  const isStored = store.methodState(run, iteration - 1, final) !== null;
  return readStateAfter(place, iteration - 1, isStored ? final : final - 1);
}

/** Returns the stage number of the state after a step's updates: the one after its last stage. */
const findFinalStage = (store: StoreReader, run: string, iteration: number): number =>
  (store.stages(run, iteration).at(-1)?.stage ?? 0) + 1;

/** Stores the state after the updates of a finished step, in the transaction that finishes it. */
export function storeFinalState(
  store: StoreWriter,
  place: Omit<Place, 'store'>,
  iteration: number,
  state: MethodState,
): void {
  storeState(store, place, iteration, state, findFinalStage(store, place.run, iteration));
}

/**
 * Returns the state after the credit of a stage of an iteration, for its updates.
 * @param stage by default the last one that is stored
 * @throws as `readStateBefore`
 */
export function readStateAfter(place: Place, iteration: number, stage?: number): MethodState {
  const { store, run } = place;
  const kind = getKind(place);
  if (kind === null) {
    return NO_STATE;
  }
  const { name, version } = kind;
  const found = stage ?? store.stages(run, iteration).at(-1)?.stage ?? 0;
  const stored = store.methodState(run, iteration, found);
  const part = found === 0 ? '' : `stage ${found} of `;
  const where = `after ${part}step ${iteration} of run ${run}`;
  if (stored === null) {
    throw new C3Error('store', `The store ${store.path} has no state ${name} ${where}; start a new run.`);
  }
  if (stored.name === name && stored.version === version) {
    return stored;
  }
  const other = `is ${stored.name}, version ${stored.version}`;
  throw new C3Error(
    'input',
    `The method's state ${where} ${other}, and this is ${name}, version ${version}: nothing was changed; continue with the version of C3 that wrote it, or start a new run.`,
  );
}

/**
 * Refuses a run whose steps were credited by another method, or by another version of its method.
 * @throws as `readStateBefore`, before anything is changed
 */
export function requireOwnStates(place: Place): void {
  const { store, run } = place;
  if (getKind(place) === null) {
    return;
  }
  const { steps } = store.run(run);
  if (steps > 0) {
    readStateAfter(place, steps);
  }
  // The step whose messages are stored and whose updates are not finished.
  if (store.methodState(run, steps + 1) !== null) {
    readStateAfter(place, steps + 1);
  }
}

/** Stores the state after the credit of a stage, in the transaction of its messages. */
export function storeState(
  store: StoreWriter,
  place: Omit<Place, 'store'>,
  iteration: number,
  state: MethodState,
  stage = 0,
): void {
  const kind = getKind(place);
  if (kind === null) {
    return;
  }
  const { name, version } = kind;
  store.insertMethodState(place.run, iteration, { ...state, name, version }, stage);
}
