"use strict";
// Tables sort by a click or key on a header; rows without a value always stay last.
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const headers = [...table.querySelectorAll("th[data-column]")];
  for (const header of headers) {
    header.querySelector("button").addEventListener("click", () => {
      const column = Number(header.dataset.column);
      const first = header.dataset.first || "ascending";
      const other = first === "ascending" ? "descending" : "ascending";
      const order = header.getAttribute("aria-sort") === first ? other : first;
      for (const one of headers) one.setAttribute("aria-sort", "none");
      header.setAttribute("aria-sort", order);
      const key = (row) => row.cells[column].dataset.sort;
      const sign = order === "ascending" ? 1 : -1;
      const rows = [...body.rows].sort((a, b) => {
        const [x, y] = [key(a), key(b)];
        if (x === undefined || y === undefined) return (x === undefined) - (y === undefined);
        const [p, q] = [Number(x), Number(y)];
        return sign * (Number.isNaN(p) || Number.isNaN(q) ? x.localeCompare(y) : p - q);
      });
      body.append(...rows);
    });
  }
}
const search = document.getElementById("search");
if (search) {
  const rows = [...document.querySelectorAll("#runs-table tbody tr")];
  const texts = rows.map((row) => row.textContent.toLowerCase());
  const count = document.getElementById("search-count");
  search.addEventListener("input", () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    rows.forEach((row, place) => {
      row.hidden = !words.every((word) => texts[place].includes(word));
      shown += row.hidden ? 0 : 1;
    });
    count.textContent = words.length ? `${shown} of ${rows.length} runs` : "";
  });
}
