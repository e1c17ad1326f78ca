// Tables of the registry: a click on a head sorts by its column, and what is typed above leaves the rows that have it.
document.addEventListener("DOMContentLoaded", () => {
  for (const table of document.querySelectorAll("table.registry")) {
    const body = table.tBodies[0];
    const text = (row, column) => row.cells[column].textContent.trim();
    const number = (value) => parseFloat(value.replace(/,/g, ""));
    const filter = document.createElement("input");
    filter.type = "search";
    filter.className = "registry";
    filter.placeholder = "filter: CPU, cloud type, commit";
    filter.setAttribute("aria-label", "filter the table");
    filter.addEventListener("input", () => {
      const wanted = filter.value.toLowerCase().split(/\s+/);
      for (const row of body.rows) {
        row.hidden = !wanted.every((word) => row.textContent.toLowerCase().includes(word));
      }
    });
    table.before(filter);
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      head.tabIndex = 0;
      const sort = () => {
        const down = head.getAttribute("aria-sort") !== "descending";
        for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const compared = (one, other) => {
          const [a, b] = [text(one, column), text(other, column)];
          const numbers = number(a) - number(b);
          return (down ? -1 : 1) * (Number.isNaN(numbers) ? a.localeCompare(b) : numbers);
        };
        body.append(...[...body.rows].sort(compared));
      };
      head.addEventListener("click", sort);
      head.addEventListener("keydown", (event) => event.key === "Enter" && sort());
    });
  }
});
