// Of many that can be chosen one is in the order of tabs: arrows lead to the others, Enter and space choose.

export class Roving {
  // `next` tells to which one a key leads from another; nothing: the key is none of these.
  constructor(container, selector, next, choose) {
    this.container = container;
    this.selector = selector;
    this.current = null;
    container.addEventListener("focusin", (event) => this.mark(event.target.closest(selector)));
    container.addEventListener("click", (event) => {
      const item = event.target.closest(selector);
      if (item) choose(item);
    });
    container.addEventListener("keydown", (event) => {
      const item = event.target.closest(selector);
      if (!item || event.ctrlKey || event.metaKey || event.altKey) return;
      const isChoice = event.key === "Enter" || event.key === " ";
      const other = isChoice ? item : next(item, event.key);
      if (!other) return;
      // Else the key would go on to what opens, and press its first button.
      event.preventDefault();
      if (isChoice) return choose(item);
      other.focus({ preventScroll: true });
      other.scrollIntoView({ block: "nearest", inline: "nearest" });
    });
  }

  // After items have come or gone: one that is there can be reached.
  refresh() {
    if (!this.current?.isConnected) this.mark(this.container.querySelector(this.selector));
  }

  mark(item) {
    if (!item) return;
    this.current?.setAttribute("tabindex", -1);
    item.setAttribute("tabindex", 0);
    this.current = item;
  }
}

const PAGE = 10;

// To which of so many a key leads from one; null: it is no such key.
export function stepped(place, count, key) {
  const steps = { ArrowUp: -1, ArrowDown: 1, PageUp: -PAGE, PageDown: PAGE, Home: -count, End: count };
  return key in steps ? Math.min(Math.max(place + steps[key], 0), count - 1) : null;
}

export function rowAfter(row, key) {
  const { rows } = row.parentElement;
  return rows[stepped(row.sectionRowIndex, rows.length, key)] ?? null;
}
