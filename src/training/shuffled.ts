/**
 * Returns the items in a random order (Fisher and Yates).
 * @param draw random numbers in [0, 1) by their position
 */
export function shuffleItems<Item>(items: readonly Item[], draw: (position: number) => number): Item[] {
  const order = items.map((_, place) => place);
  for (let last = order.length - 1; last > 0; last--) {
    const other = Math.floor(draw(order.length - 1 - last) * (last + 1));
    [order[last], order[other]] = [order[other] ?? other, order[last] ?? last];
  }
  return order.flatMap((place) => items.slice(place, place + 1));
}
