// Tables: sort, filter, and cards where a table is wider than its place. Without this script each is a whole table.
//   th[data-by="number|text"]   the heading of a column that can be sorted, by data-value of its cells or by their text
//   td[data-nil]                a cell with nothing in it: the last in each order
//   tbody[data-many]            has a field that filters its rows
// Of cards only the first ones are shown, with a button for the rest. A row that is ticked is always shown: nobody sends
// what he does not see.
"use strict";

window.mqopsTables = (() => {
  const FIRST = 4; // cards before the button
  const states = new Map(); // what the person has chosen, for a table that a live part makes anew
  const narrow = window.matchMedia("(max-width: 640px)");
  const root = document.documentElement;
  const own = (table) => table.tBodies[0]?.rows.length > FIRST + 1 && !table.closest("[data-filtered], .ticks");
  const made = (name, of = {}) => Object.assign(document.createElement(name), of);

  const heads = (table) => [...table.tHead.rows[0].cells];
  const words = (head) => head.textContent.trim().replace(/\s+/g, " ");
  const stateOf = (table) => {
    const alike = [...document.querySelectorAll("table")].filter((one) => key(one) === key(table)).indexOf(table);
    const name = `${key(table)} ${alike}`;
    if (!states.has(name)) states.set(name, { by: "", up: true, text: "", all: false });
    return states.get(name);
  };
  const key = (table) => (table.caption?.textContent ?? "").replace(/[\d,]+/g, "");

  const value = (cell, by) => {
    if (!cell || cell.matches("[data-nil]") && by === "text") return null;
    const text = cell.dataset.value ?? cell.textContent.trim();
    if (by === "text") return text || null;
    const number = Number(text.replaceAll(",", ""));
    return text === "" || Number.isNaN(number) ? null : number;
  };
  const compared = (one, two) => typeof one === "number" ? one - two : one.localeCompare(two, "en", { numeric: true });

  // The rows in the order that the person has chosen; rows without a value are the last.
  const order = (table, state) => {
    const place = heads(table).findIndex((one) => words(one) === state.by && one.dataset.by);
    const by = heads(table)[place]?.dataset.by;
    const rows = [...table.tBodies[0].rows];
    rows.forEach((row, number) => { row.dataset.place ??= number; });
    const keys = new Map(rows.map((row) => [row, place < 0 ? Number(row.dataset.place) : value(row.cells[place], by)]));
    rows.sort((one, two) => {
      const [a, b] = [keys.get(one), keys.get(two)];
      const first = a === null || b === null ? (a === null) - (b === null) : (state.up || place < 0 ? 1 : -1) * compared(a, b);
      return first || one.dataset.place - two.dataset.place;
    });
    table.tBodies[0].append(...rows);
    heads(table).forEach((one, number) => {
      if (one.dataset.by) one.ariaSort = number === place ? (state.up ? "ascending" : "descending") : "none";
    });
  };

  // The rows that fit the filter; of cards the first ones until the person asks for all. And those that are ticked.
  const show = (table, state) => {
    if (!own(table)) return;
    const rows = [...table.tBodies[0].rows];
    const fit = rows.filter((row) => row.textContent.toLowerCase().includes(state.text.trim().toLowerCase()));
    const cards = table.parentElement.classList.contains("folded");
    const meant = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const whole = !cards || state.all || (meant && table.contains(meant));
    const ticked = (row) => row.querySelector("[data-listed]:checked");
    const seen = new Set(whole ? fit : fit.slice(0, FIRST));
    rows.forEach((row) => { row.hidden = !seen.has(row) && !ticked(row); });
    const stay = rows.filter((row) => ticked(row) && !fit.includes(row)).length;
    const told = (state.text ? `${fit.length} of ${rows.length} rows fit.` : "") + (stay ? ` Shown besides, as ticked: ${stay}.` : "");
    const place = table.parentElement.previousElementSibling?.querySelector(".tools > [role=status]");
    if (place && place.textContent !== told) place.textContent = told; // a screen reader reads out what changes
    const more = table.parentElement.nextElementSibling;
    more.hidden = fit.every((row) => !row.hidden);
    more.textContent = `Show all ${fit.length.toLocaleString("en")} rows`;
  };

  const sortable = (table, state) => {
    for (const head of heads(table)) {
      if (!head.dataset.by || head.querySelector("button")) continue;
      const button = made("button", { type: "button", className: "sort" });
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const first = head.dataset.by === "text"; // numbers begin with the largest
        if (state.by !== words(head)) [state.by, state.up] = [words(head), first];
        else if (state.up === first) state.up = !first;
        else state.by = "";
        order(table, state);
        show(table, state);
      });
    }
  };

  // Above a table of many rows: what filters them, and for cards, which have no headings, what orders them.
  const tools = (table, state) => {
    const tools = made("div", { className: "tools" });
    const field = made("input", { type: "search", value: state.text, size: 14 });
    const label = made("label", { textContent: "Filter the rows" });
    label.append(field);
    const sorts = made("label", { className: "order", textContent: "Order" });
    const list = made("select");
    list.append(new Option("as listed", ""), ...heads(table).filter((one) => one.dataset.by).map((one) => new Option(words(one))));
    list.value = state.by;
    sorts.append(list);
    tools.append(label, sorts, made("span", { className: "quiet", role: "status" }));
    field.addEventListener("input", () => { state.text = field.value; show(table, state); });
    field.addEventListener("keydown", (event) => { if (event.key === "Enter") event.preventDefault(); }); // sends no form
    list.addEventListener("change", () => {
      [state.by, state.up] = [list.value, heads(table).find((one) => words(one) === list.value)?.dataset.by === "text"];
      order(table, state);
      show(table, state);
    });
    return tools;
  };

  const around = (table, state) => {
    const place = table.parentElement;
    if (!own(table) || place.nextElementSibling?.matches(".more")) return;
    if (table.tBodies[0].matches("[data-many]")) place.before(tools(table, state));
    const more = made("button", { type: "button", className: "more" });
    place.after(more);
    more.addEventListener("click", () => {
      state.all = true;
      show(table, state);
      place.focus({ preventScroll: true });
    });
  };

  // Each cell of a card has the heading of its column.
  const all = (element) => {
    for (const table of element.querySelectorAll(".scrolls > table")) {
      const names = heads(table).map(words);
      for (const row of table.tBodies[0]?.rows ?? []) {
        [...row.cells].forEach((cell, place) => { if (cell.colSpan === 1) cell.dataset.label = names[place]; });
      }
      const state = stateOf(table);
      sortable(table, state);
      if (state.by) order(table, state);
      around(table, state);
    }
  };

  let width = 0; // for which tables are folded
  const fold = (left = window.scrollX, top = window.scrollY) => {
    const whole = [...document.querySelectorAll(".scrolls")];
    whole.forEach((one) => one.classList.remove("folded"));
    for (const again of [false, true]) { // a page that grows gets a scroll bar, which takes room
      const cut = whole.filter((one) => narrow.matches || one.scrollWidth > one.clientWidth);
      cut.forEach((one) => one.classList.add("folded"));
      if (again || !cut.length) break;
    }
    for (const one of whole) {
      const table = one.querySelector(":scope > table");
      if (!table) continue;
      const cards = one.classList.contains("folded"); // their headings are not to be seen, so nothing there has the focus
      heads(table).forEach((head) => { if (head.querySelector("button")) head.querySelector("button").tabIndex = cards ? -1 : 0; });
      show(table, stateOf(table));
    }
    width = root.clientWidth;
    window.scrollTo(left, top); // a page that was shorter meanwhile has lost its place
  };

  document.addEventListener("DOMContentLoaded", () => {
    all(document);
    fold();
    new ResizeObserver(() => { if (root.clientWidth !== width) fold(); }).observe(root);
    document.addEventListener("toggle", () => fold(), true); // a table that was not to be seen has no width
    window.addEventListener("hashchange", () => fold());
  });
  return { made: all, fold };
})();
