/** What is kept of a page while it is scrolled: not at every pixel, and not too late. */

/** Milliseconds after which scrolling rests. */
const REST = 150;

/**
 * Waits with some work until it is not asked for any more, or until the keyboard leaves the page: that may be hidden
 * next, and nothing is executed in a page that is hidden.
 * @returns asks for the work
 */
export function onceRested(work: () => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const now = (): void => {
    clearTimeout(timer);
    timer = undefined;
    work();
  };
  window.addEventListener('blur', () => {
    if (timer !== undefined) {
      now();
    }
  });
  return () => {
    clearTimeout(timer);
    timer = setTimeout(now, REST);
  };
}
