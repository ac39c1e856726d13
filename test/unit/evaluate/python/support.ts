import { PythonGrader, type PythonBackend, type PythonGraderOptions } from '../../../../src/evaluate/python/grader.ts';
import { findBackendOnce } from '../../../../src/evaluate/python/native/native.ts';
import type { PythonTests } from '../../../../src/evaluate/python/rules.ts';
import { sandboxPlaces } from '../../../support/programs.ts';

/** All backends of this machine: both, or, where nothing can keep the user's Python apart, the bundled one. */
export const BACKENDS: readonly PythonBackend[] = await findBackendOnce().then(
  () => ['bundled', 'python3'] as const,
  () => ['bundled'] as const,
);

/** Tests of the forms; what is not given is empty. */
export const tests = (given: Partial<PythonTests>): PythonTests => ({
  tests: [],
  test: '',
  entryPoint: null,
  setup: '',
  ...given,
});

export const grader = (options: Partial<PythonGraderOptions> = {}): PythonGrader =>
  new PythonGrader({ places: sandboxPlaces(), ...options });
