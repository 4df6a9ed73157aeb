// How much room a component has.

/** Call `changed` with an element's width in whole pixels, now and whenever it changes; returns a stop. */
export function observeWidth(element: Element, changed: (width: number) => void): () => void {
  let last = 0;
  const tell = (width: number): void => {
    const pixels = Math.floor(width);
    if (pixels < 40 || pixels === last) return;
    last = pixels;
    changed(pixels);
  };
  if (typeof ResizeObserver !== "function") return () => {};
  const observer = new ResizeObserver((entries) => {
    for (const entry of entries) tell(entry.contentRect.width);
  });
  observer.observe(element);
  return () => observer.disconnect();
}
