/** Fetches what sets mathematics when the first formula is to be shown: most pages never do. */
import type { formulaOf } from './mathematics.ts';

export type SetFormula = typeof formulaOf;

/** Calls back once mathematics can be set; at once where it can already, never where it cannot be loaded. */
export type WithMathematics = (ready: (set: SetFormula) => void) => void;

/** The bundle beside the page's own, and the name that it goes by in the page. */
const BUNDLE = 'mathematics.js';
const NAME = 'c3Mathematics';

/**
 * Loads the bundle by a script element with the nonce of the page's own script, the only one that the content policy
 * lets run.
 * @param own the page's script; known only while it runs
 */
export function mathematicsBeside(own: HTMLOrSVGScriptElement | null): WithMathematics {
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
      const set = registered();
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

function registered(): SetFormula | null {
  const bundle: unknown = Reflect.get(globalThis, NAME);
  return isBundle(bundle) ? bundle.formulaOf : null;
}

function isBundle(value: unknown): value is { readonly formulaOf: SetFormula } {
  return typeof value === 'object' && value !== null && 'formulaOf' in value && typeof value.formulaOf === 'function';
}
