"use strict";
// Draws a page again and again while a run goes on, and leaves the reader where they are.
(() => {
  const { make } = quickfitPage;
  const bar = document.getElementById("live");
  const page = document.getElementById("page");
  const positions = new CSSStyleSheet();
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, positions];
  // The markup that each section was made from: what has not changed stays as it is.
  const sources = new Map();
  const FOCUSABLE = "a, button, summary, [tabindex]";

  const say = (state, label, progress) => {
    bar.dataset.state = state;
    for (const [id, text] of [["live-state", label], ["live-progress", progress ?? ""]]) {
      const place = document.getElementById(id);
      if (place.textContent !== text) place.textContent = text;
    }
  };

  // -- where the reader is, to be there again after the drawing ----------------------------------
  const anchor = () => {
    let best = null;
    for (const one of page.querySelectorAll("[id]")) {
      const { top, height } = one.getBoundingClientRect();
      if (height && (!best || Math.abs(top) < Math.abs(best.top))) best = { id: one.id, top };
    }
    return best;
  };
  const reading = (section) => ({
    open: [...section.querySelectorAll("details")].map((one) => one.open),
    scrolled: [...section.querySelectorAll(".scroll, .listing")].map((one) => one.scrollLeft),
    focus: section.contains(document.activeElement)
      ? [...section.querySelectorAll(FOCUSABLE)].indexOf(document.activeElement) : -1,
    isInTree: Boolean(document.activeElement?.closest?.("#icicle")),
  });
  const readOn = (section, before) => {
    section.querySelectorAll("details").forEach((one, n) => { one.open = before.open[n] ?? one.open; });
    section.querySelectorAll(".scroll, .listing").forEach((one, n) => { one.scrollLeft = before.scrolled[n] ?? 0; });
    if (before.focus >= 0 && !before.isInTree) {
      section.querySelectorAll(FOCUSABLE)[before.focus]?.focus({ preventScroll: true });
    }
  };
  // What is being selected is not taken away: it is drawn when the selection is given up.
  let waiting = null;
  const isSelecting = () => {
    const selection = getSelection();
    return !selection.isCollapsed && page.contains(selection.anchorNode);
  };
  document.addEventListener("selectionchange", () => {
    if (waiting && !isSelecting()) draw(waiting);
  });

  const draw = (drawing) => {
    waiting = isSelecting() ? drawing : null;
    if (waiting) return;
    const { title, body, sheet, facts } = drawing;
    const drawn = new DOMParser().parseFromString(body, "text/html");
    const kept = quickfitPage.state();
    const before = anchor();
    let isDrawn = false, isTreeFocused = false;
    const take = (section) => {
      // The verdict has no id; its class says so.
      const name = section.id || section.className.split(" ")[0] || section.tagName;
      const source = section.outerHTML;
      const old = page.querySelector(`[data-part="${name}"]`);
      if (old && sources.get(name) === source) return old;
      sources.set(name, source);
      isDrawn = true;
      const taken = document.adoptNode(section);
      taken.dataset.part = name;
      if (old) {
        const was = reading(old);
        isTreeFocused ||= was.isInTree;
        old.replaceWith(taken);
        readOn(taken, was);
      }
      return taken;
    };
    const order = (parent, wanted) => {
      for (const one of [...parent.children]) if (!wanted.includes(one)) one.remove();
      wanted.forEach((one, n) => {
        if (parent.children[n] !== one) parent.insertBefore(one, parent.children[n] ?? null);
      });
    };
    const main = page.querySelector(":scope > main") ?? page.appendChild(make("main"));
    order(main, [...drawn.querySelectorAll("main > section")].map(take));
    const ends = ["header", "footer"].map((name) => take(drawn.querySelector(`body > ${name}`)));
    order(page, [ends[0], main, ends[1]]);
    positions.replaceSync(sheet);
    if (document.title !== title) document.title = title;
    if (isDrawn) {
      quickfitPage.start(facts, kept);
      if (isTreeFocused) quickfitPage.focusNode();
    }
    const now = before && document.getElementById(before.id);
    if (now && scrollY > 0) scrollBy({ top: now.getBoundingClientRect().top - before.top, behavior: "instant" });
    page.dataset.drawings = Number(page.dataset.drawings ?? 0) + 1;
  };

  // -- the runs ---------------------------------------------------------------------------------
  let listed = "";
  const list = (runs) => {
    const source = JSON.stringify(runs);
    if (source === listed) return;
    listed = source;
    const box = document.getElementById("runs");
    box.querySelector("summary").textContent = runs.length === 2 ? "1 run" : `${runs.length - 1} runs`;
    box.querySelector("ul").replaceChildren(...runs.map(({ label, detail, query, isShown }) => {
      const link = make("a", label);
      link.href = query;
      if (isShown) link.setAttribute("aria-current", "page");
      link.append(make("small", detail));
      const item = make("li");
      item.append(link);
      return item;
    }));
  };

  const events = new EventSource(`events${location.search}`);
  let isOver = false;
  events.addEventListener("status", ({ data }) => {
    const { state, label, progress, runs } = JSON.parse(data);
    say(state, label, progress);
    list(runs);
  });
  events.addEventListener("page", ({ data }) => draw(JSON.parse(data)));
  let shown = null;
  events.addEventListener("run", ({ data }) => {
    // After a connection was lost and found again it is the same run, and what is read stays.
    const { name } = JSON.parse(data);
    if (name === shown) return;
    shown = name;
    waiting = null;
    page.replaceChildren(make("p", "The recording is being read.", "hint"));
    sources.clear();
  });
  events.addEventListener("bye", ({ data }) => {
    isOver = true;
    events.close();
    say("ended", JSON.parse(data).label, "");
  });
  events.addEventListener("error", () => {
    if (!isOver) say("lost", "no connection to quickfit; this is what was seen last", "");
  });
})();
