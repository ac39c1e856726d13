/** The colours and fonts of the user's colour theme. */

/** A colour or font of the theme; the fallback is the foreground. */
export function theme(name: string): string {
  const style = getComputedStyle(document.documentElement);
  const value = style.getPropertyValue(name).trim();
  return value === '' ? style.getPropertyValue('--vscode-foreground').trim() : value;
}

/** Calls back when the user changes the colour theme. */
export function onThemeChange(listener: () => void): void {
  const observer = new MutationObserver(listener);
  observer.observe(document.documentElement, { attributes: true, attributeFilter: ['style', 'class'] });
  observer.observe(document.body, { attributes: true, attributeFilter: ['class'] });
}
