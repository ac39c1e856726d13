/** Which rows of the message tree are asked for before they are seen. */
import { WINDOW } from '../../../src/shared/protocols/transcriptProtocol.ts';

/** Windows asked for ahead. */
const AHEAD = 3;

/**
 * The visible places whose rows are asked for before they are seen, nearest first: one in each of the next windows on
 * the way.
 * @param first the first place drawn
 * @param end the place after the last drawn
 * @param visible places in all
 */
export function placesAhead(first: number, end: number, visible: number, down: boolean): readonly number[] {
  const nearest = down ? end - 1 : first;
  const places = Array.from({ length: AHEAD }, (_, step) => nearest + (down ? 1 : -1) * (step + 1) * WINDOW);
  return [...new Set(places.map((place) => Math.max(0, Math.min(visible - 1, place))))].filter(
    (place) => place < first || place >= end,
  );
}
