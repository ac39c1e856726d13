/** Colors and fonts of the user's color theme. */

/** Returns a color or font of the theme, or the foreground color if the theme does not define it. */
export function readThemeValue(name: string): string {
  const style = getComputedStyle(document.documentElement);
  const value = style.getPropertyValue(name).trim();
  return value === '' ? style.getPropertyValue('--vscode-foreground').trim() : value;
}

/** Calls the listener when the user changes the color theme. */
export function onThemeChange(listener: () => void): void {
  const observer = new MutationObserver(listener);
  observer.observe(document.documentElement, { attributes: true, attributeFilter: ['style', 'class'] });
  observer.observe(document.body, { attributes: true, attributeFilter: ['class'] });
}
