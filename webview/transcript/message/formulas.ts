/** Loads the code that sets mathematics when the first formula is shown. Most pages never need it. */

import type { formulaOf } from './mathematics.ts';

export type SetFormula = typeof formulaOf;

/** Calls `ready` once mathematics can be set, at once if it is loaded. Never calls it on failure. */
export type WithMathematics = (ready: (set: SetFormula) => void) => void;

/** File name of the bundle, beside the page's own, and the global variable that it sets. */
const BUNDLE = 'mathematics.js';
const NAME = 'c3Mathematics';

/**
 * Returns a function that loads the bundle with a script element. The element has the nonce of the
 * page's own script, because the content policy allows no other script.
 * @param own the page's script; `document.currentScript` is set only while it runs
 */
export function loadMathematicsBeside(own: HTMLOrSVGScriptElement | null): WithMathematics {
  let loading: Promise<SetFormula> | null = null;
  return (ready) => {
    loading ??= load(own);
    loading.then(ready, (error: unknown) => console.warn(error));
  };
}

function load(own: HTMLOrSVGScriptElement | null): Promise<SetFormula> {
  return new Promise((resolve, reject) => {
    if (!(own instanceof HTMLScriptElement)) {
      reject(new Error('The page does not know its own script.'));
      return;
    }
    const script = document.createElement('script');
    script.nonce = own.nonce;
    script.src = new URL(BUNDLE, own.src).toString();
    script.addEventListener('load', () => {
      const set = findRegisteredBundle();
      if (set === null) {
        reject(new Error(`${BUNDLE} has unexpected contents.`));
      } else {
        resolve(set);
      }
    });
    script.addEventListener('error', () =>
      reject(new Error(`${BUNDLE} could not be loaded: mathematics is shown as it was written.`)),
    );
    document.head.append(script);
  });
}

function findRegisteredBundle(): SetFormula | null {
  const bundle: unknown = Reflect.get(globalThis, NAME);
  return isBundle(bundle) ? bundle.formulaOf : null;
}

function isBundle(value: unknown): value is { readonly formulaOf: SetFormula } {
  return typeof value === 'object' && value !== null && 'formulaOf' in value && typeof value.formulaOf === 'function';
}
