/** Which calls are recorded, by the path that they ask. */
import { oneLine } from '../../shared/text/oneLine.ts';

/** Paths that are counted by name, and characters of one. */
const MOST_PATHS = 20;
const MOST_PATH = 100;

/** A path of a request without its query and the slashes at its end. */
function plainPath(path: string): string {
  const [plain = ''] = path.split('?', 1);
  // No pattern: a path may be a row of slashes that ends with something else.
  let end = plain.length;
  while (plain[end - 1] === '/') {
    end--;
  }
  return plain.slice(0, end);
}

/** Says which calls were not recorded: by path, as many paths as a report has lines for. */
export class OtherPaths {
  private readonly named = new Set<string>();

  /** Why a call of this path, as the program asked it, was left out. */
  reasonFor(path: string): string {
    const name = oneLine(plainPath(path), MOST_PATH);
    if (this.named.size < MOST_PATHS) {
      this.named.add(name);
    }
    return `calls of ${this.named.has(name) ? name : 'further paths'}, which are not recorded`;
  }
}
