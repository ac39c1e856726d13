/** Tiny runs that are watched, broken and compared. */

import type { ModelRuntime } from '../../../src/runtime/modelRuntime.ts';
import { C3Error } from '../../../src/shared/errors.ts';
import { connect } from '../../../src/store/files/sqlite.ts';
import { tablesOf, type Row } from '../../crash/tables.ts';
import type { TinyRun } from './tinyRun.ts';

/** All rows, clocks and the index of the search aside. */
export function rowsOf({
  store,
  snapshotFolder,
}: Pick<TinyRun, 'store' | 'snapshotFolder'>): Readonly<Record<string, readonly Row[]>> {
  const db = connect(store.path, 'read');
  try {
    const tables = Object.entries(tablesOf(db, { [snapshotFolder]: 'FOLDER' }));
    return Object.fromEntries(tables.filter(([table]) => !table.startsWith('message_search')));
  } finally {
    db.close();
  }
}

/** A member of a runtime, a method bound to it. */
export function bound(target: ModelRuntime, name: string | symbol): unknown {
  const value: unknown = Reflect.get(target, name);
  return typeof value === 'function' ? value.bind(target) : value;
}

type Wrap = (runtime: ModelRuntime) => ModelRuntime;

/** Sees every call of the runtime before it is made; what it throws, the call throws. */
export const watching =
  (see: (name: string, args: readonly unknown[]) => void): Wrap =>
  (runtime) =>
    new Proxy(runtime, {
      get: (target, name): unknown => {
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== 'function') {
          return value;
        }
        return (...args: unknown[]): unknown => {
          see(String(name), args);
          return Reflect.apply(value, target, args);
        };
      },
    });

/** Sees what the optimizer's steps are given. */
export const watchingSteps = (see: (...args: Parameters<ModelRuntime['step']>) => void): Wrap =>
  watching((name, args) => {
    if (name === 'step') {
      see(...(args as Parameters<ModelRuntime['step']>));
    }
  });

/** Fails the n-th call of one of the runtime's methods, once. */
export function failing(method: keyof ModelRuntime, at: number): Wrap {
  let calls = 0;
  return watching((name) => {
    if (name === method && ++calls === at) {
      throw new C3Error('model', 'It broke.');
    }
  });
}
