/**
 * Loads the help for configurations. It is a bundle beside the extension's own, so parser and schema cost nothing until
 * a configuration is opened.
 */
import type * as ServiceModule from './service.ts';

export type Service = typeof ServiceModule;

/** The same one each time. */
export function loadService(): Promise<Service> {
  return import('./service.ts');
}
