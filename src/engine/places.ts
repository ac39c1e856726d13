/** Where the engine finds what comes with the product, run from source or from the bundle. */
import { fileURLToPath } from 'node:url';

const FROM_SOURCE = import.meta.url.endsWith('.ts');

/** Entry of the worker thread. */
export const WORKER_ENTRY = new URL(FROM_SOURCE ? './worker.ts' : './worker.js', import.meta.url);

/** Entry of the process that examines a provider. */
export const PROBE_ENTRY = new URL(FROM_SOURCE ? './probe.ts' : './probe.js', import.meta.url);

/** The bundled team: weights, tokenizer, protocol. */
export const BUNDLED_TEAM = fileURLToPath(new URL(FROM_SOURCE ? '../../media/team' : '../media/team', import.meta.url));

/** The package's own description; it lies beside the sources and beside the bundles. */
export const PACKAGE_FILE = fileURLToPath(new URL(FROM_SOURCE ? '../../package.json' : '../package.json', import.meta.url));

/** Where a store lies unless told otherwise, below the workspace or the current folder. */
export const DEFAULT_STORE = '.c3/c3.sqlite';
