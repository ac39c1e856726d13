/**
 * Loads the language support for configurations. It is a separate bundle, so that the parser and the
 * schema are loaded only when a configuration is opened.
 */

import type * as ServiceModule from './service.ts';

export type Service = typeof ServiceModule;

/** Returns the same module on each call. */
export function loadService(): Promise<Service> {
  return import('./service.ts');
}
