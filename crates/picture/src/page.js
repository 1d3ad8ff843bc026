
"use strict";
// Marks an edge, its step and its transactions together; a click keeps the mark until the next one or Escape.
(() => {
  const kept = new Map();
  const byId = (id) => document.getElementById(id);
  const section = (element) => element.closest(".witness");
  const stepOf = (edge) => section(edge).querySelector(`[data-edge="${edge.id}"]`);
  const edges = (within) => [...within.querySelectorAll(".edge")];

  function light(within, edge) {
    within.querySelectorAll(".lit").forEach((element) => element.classList.remove("lit"));
    const picture = within.querySelector(".picture");
    const reason = within.querySelector(".reason");
    picture.classList.toggle("busy", Boolean(edge));
    reason.classList.toggle("on", Boolean(edge));
    if (!reason.dataset.first) reason.dataset.first = reason.textContent;
    if (!edge) {
      reason.textContent = reason.dataset.first;
      return;
    }
    const marked = [edge, stepOf(edge), byId(edge.dataset.from), byId(edge.dataset.to)];
    marked.forEach((element) => element && element.classList.add("lit"));
    reason.textContent = edge.getAttribute("aria-label");
  }

  function keep(within, edge) {
    kept.set(within, kept.get(within) === edge ? null : edge);
    light(within, kept.get(within));
  }

  function connect(element, edge) {
    const within = section(edge);
    const on = () => light(within, edge);
    const off = () => light(within, kept.get(within));
    element.addEventListener("mouseenter", on);
    element.addEventListener("mouseleave", off);
    element.addEventListener("focus", on);
    element.addEventListener("blur", off);
    element.addEventListener("click", () => keep(within, edge));
  }

  function move(event, edge) {
    const all = edges(section(edge));
    const place = all.indexOf(edge);
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (step) all[(place + step + all.length) % all.length].focus();
    else if (event.key === "Enter" || event.key === " ") keep(section(edge), edge);
    else return;
    event.preventDefault();
  }

  document.querySelectorAll(".edge").forEach((edge) => {
    connect(edge, edge);
    edge.addEventListener("keydown", (event) => move(event, edge));
  });
  document.querySelectorAll(".step").forEach((step) => connect(step, byId(step.dataset.edge)));
  document.querySelectorAll(".txn").forEach((txn) => {
    const within = section(txn);
    const say = () => {
      light(within, null);
      txn.classList.add("lit");
      const reason = within.querySelector(".reason");
      reason.textContent = txn.getAttribute("aria-label");
      reason.classList.add("on");
    };
    const off = () => light(within, kept.get(within));
    txn.addEventListener("mouseenter", say);
    txn.addEventListener("mouseleave", off);
    txn.addEventListener("focus", say);
    txn.addEventListener("blur", off);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    document.querySelectorAll(".witness").forEach((within) => {
      kept.set(within, null);
      light(within, null);
    });
  });
})();
