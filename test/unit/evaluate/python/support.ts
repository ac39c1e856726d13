import { SANDBOX_PLACES } from '../../../../src/engine/places.ts';
import { PythonGrader, type PythonGraderOptions } from '../../../../src/evaluate/python/grader.ts';
import type { PythonTests } from '../../../../src/evaluate/python/rules.ts';

/** Tests of the forms; what is not given is empty. */
export const tests = (given: Partial<PythonTests>): PythonTests => ({ tests: [], test: '', entryPoint: null, setup: '', ...given });

export const grader = (options: Partial<PythonGraderOptions> = {}): PythonGrader => new PythonGrader({ places: SANDBOX_PLACES, ...options });
