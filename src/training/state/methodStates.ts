/**
 * What a method carries from step to step. It is always read from the store: a step after an interruption, or executed
 * again, has the same as any other.
 */
import { C3Error } from '../../shared/errors.ts';
import type { MethodState } from '../../shared/records/methodState.ts';
import type { StoreReader, StoreWriter } from '../../store/types.ts';
import type { Method, MethodSettings } from '../methods/method.ts';

/** Of methods that carry nothing. */
const NO_STATE: MethodState = { json: null, tensors: {} };

interface Place {
  readonly store: StoreReader;
  readonly run: string;
  readonly method: Method;
}

/**
 * With what the credit of an iteration begins.
 * @throws C3Error where it is not stored, damaged, or of another version or method
 */
export function stateBefore({ store, run, method }: Place, iteration: number, settings: MethodSettings): MethodState {
  if (method.state !== undefined && iteration === 1) {
    return method.state.initial(settings);
  }
  return stateAfter({ store, run, method }, iteration - 1);
}

/** What the credit of an iteration gave, with which its updates are made. @throws as `stateBefore` */
export function stateAfter({ store, run, method }: Place, iteration: number): MethodState {
  if (method.state === undefined) {
    return NO_STATE;
  }
  const { name, version } = method.state;
  const stored = store.methodState(run, iteration);
  const where = `after step ${String(iteration)} of run ${run}`;
  if (stored === null) {
    throw new C3Error('store', `The store ${store.path} has no state ${name} ${where}; start a new run.`);
  }
  if (stored.name === name && stored.version === version) {
    return stored;
  }
  const found = `is ${stored.name}, version ${String(stored.version)}`;
  throw new C3Error(
    'input',
    `The method's state ${where} ${found}, and this is ${name}, version ${String(version)}: nothing was changed; continue with the version of C3 that wrote it, or start a new run.`,
  );
}

/**
 * Refuses a run whose steps another version of its method, or another method, credited.
 * @throws as `stateBefore`, before anything is changed
 */
export function requireOwnStates(place: Place): void {
  const { store, run, method } = place;
  if (method.state === undefined) {
    return;
  }
  const { steps } = store.run(run);
  if (steps > 0) {
    stateAfter(place, steps);
  }
  // A step whose messages are stored and whose updates are not made.
  if (store.methodState(run, steps + 1) !== null) {
    stateAfter(place, steps + 1);
  }
}

/** Stores what the credit of an iteration gave, in the transaction of its messages. */
export function storeState(
  store: StoreWriter,
  { run, method }: Omit<Place, 'store'>,
  iteration: number,
  state: MethodState,
): void {
  if (method.state === undefined) {
    return;
  }
  const { name, version } = method.state;
  store.insertMethodState(run, iteration, { ...state, name, version });
}
