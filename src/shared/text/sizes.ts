/** Large numbers in a readable form. */

const formatScaled = (
  value: number,
  units: readonly (readonly [size: number, name: string])[],
  smallest: string,
): string => {
  const unit = units.find(([size]) => value >= 0.9995 * size);
  return unit === undefined
    ? `${Math.round(value)} ${smallest}`.trim()
    : `${formatThreeDigits(value / unit[0])} ${unit[1]}`;
};

/** Formats a number with at most three digits. */
const formatThreeDigits = (value: number): string =>
  value >= 99.95
    ? value.toFixed(0)
    : value >= 9.995
      ? value.toFixed(1).replace(/\.0$/, '')
      : value.toFixed(2).replace(/\.?0+$/, '');

/** Formats `0`, `512 B`, `1.5 kB`, `64.5 MB`, `9.12 GB`, with powers of ten. */
export const formatBytes = (bytes: number): string =>
  formatScaled(
    bytes,
    [
      [1e12, 'TB'],
      [1e9, 'GB'],
      [1e6, 'MB'],
      [1e3, 'kB'],
    ],
    'B',
  );

/** Formats `812`, `85.8 thousand`, `494 million`, `4.02 billion`. */
export const formatCount = (count: number): string =>
  formatScaled(
    count,
    [
      [1e9, 'billion'],
      [1e6, 'million'],
      [1e3, 'thousand'],
    ],
    '',
  );
