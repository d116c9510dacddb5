"use strict";
// What moves on a page. A live page is drawn again and again: `start` is called for what is new, with
// what `state` said of the old.
const quickfitPage = (() => {
  const started = { icicle: null, course: null };
  const make = (name, text, kind) => {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    if (kind) made.className = kind;
    return made;
  };

  // -- the icicle: click, or arrow keys and Enter, to look into a part ------------------------
  const startIcicle = (icicle, nodes, kept) => {
    const drawn = [...icicle.querySelectorAll(".node")];
    const detail = document.getElementById("node-detail");
    const children = nodes.map(() => []);
    nodes.forEach((node, n) => node.parent >= 0 && children[node.parent].push(n));
    let focus = 0;
    let chosen = 0;

    const pathTo = (n) => {
      const path = [];
      for (; n >= 0; n = nodes[n].parent) path.unshift(n);
      return path;
    };
    const fit = () => {
      const wide = icicle.clientWidth;
      drawn.forEach((box, n) => {
        const px = box.dataset.share * wide;
        box.classList.toggle("narrow", px < 26);
        box.classList.toggle("short", px < 30 + 6.4 * (nodes[n].label.length + 7));
      });
    };
    const zoom = (target) => {
      focus = target;
      const { left, width } = nodes[target];
      const above = new Set(pathTo(target));
      drawn.forEach((box, n) => {
        const node = nodes[n];
        const begin = above.has(n) ? 0 : (node.left - left) / width;
        const share = above.has(n) ? 1 : node.width / width;
        box.dataset.share = share;
        const isInside = above.has(n) || pathTo(n).includes(target);
        box.classList.toggle("gone", !isInside);
        box.style.left = `${100 * begin}%`;
        box.style.width = `${100 * share}%`;
      });
      icicle.dataset.focus = target;
      fit();
    };
    const choose = (n, { focuses = true } = {}) => {
      drawn[chosen].setAttribute("aria-selected", "false");
      drawn[chosen].tabIndex = -1;
      chosen = n;
      drawn[n].setAttribute("aria-selected", "true");
      drawn[n].tabIndex = 0;
      if (focuses) drawn[n].focus({ preventScroll: true });
      tell(n);
    };
    const tell = (n) => {
      const node = nodes[n];
      detail.replaceChildren();
      const above = pathTo(n).slice(0, -1).map((m) => nodes[m].label);
      if (above.length) detail.append(make("div", `${above.join(" › ")} ›`, "crumbs"));
      detail.append(make("b", node.label.replaceAll("`", "")));
      if (node.finding) {
        const link = make("a", `finding ${node.finding}`);
        link.href = `#finding-${node.finding}`;
        detail.append("  ", link);
      }
      const list = make("dl");
      for (const [what, value] of node.facts) {
        const row = make("div");
        row.append(make("dt", what), make("dd", value));
        list.append(row);
      }
      detail.append(list);
      if (node.code) detail.append(make("code", node.code));
    };
    const beside = (n, by) => {
      const parent = nodes[n].parent;
      const row = parent < 0 ? [n] : children[parent];
      return row[Math.min(Math.max(row.indexOf(n) + by, 0), row.length - 1)];
    };
    const open = (n) => {
      zoom(n === focus && n !== 0 ? nodes[n].parent : n);
      choose(n);
    };
    icicle.addEventListener("click", (event) => {
      const box = event.target.closest(".node");
      if (box) open(Number(box.dataset.node));
    });
    icicle.addEventListener("keydown", (event) => {
      const moves = {
        ArrowRight: () => choose(beside(chosen, 1)),
        ArrowLeft: () => choose(beside(chosen, -1)),
        ArrowDown: () => children[chosen].length && choose(children[chosen][0]),
        ArrowUp: () => {
          const parent = nodes[chosen].parent;
          if (parent < 0) return;
          if (chosen === focus) zoom(parent);
          choose(parent);
        },
        Enter: () => open(chosen),
        " ": () => open(chosen),
        Escape: () => {
          const parent = Math.max(nodes[focus].parent, 0);
          zoom(parent);
          choose(parent);
        },
        Home: () => { zoom(0); choose(0); },
      };
      if (!(event.key in moves)) return;
      event.preventDefault();
      moves[event.key]();
    });
    const named = (n) => pathTo(n).map((m) => nodes[m].key);
    // Parts come and go between two drawings: the nearest part around one that is gone.
    const find = (keys) => keys.slice(1).reduce(({ at, isWhole }, key) => {
      const next = isWhole ? children[at].find((n) => nodes[n].key === key) : undefined;
      return next === undefined ? { at, isWhole: false } : { at: next, isWhole };
    }, { at: 0, isWhole: true }).at;
    // Opens on what matters most: the part of the first finding, or the largest.
    const first = nodes.findIndex((node) => node.finding === "1");
    const largest = nodes.reduce((best, node, n) =>
      n && !children[n].length && node.width > (nodes[best]?.width ?? 0) ? n : best, -1);
    const opening = first >= 0 ? first : Math.max(largest, 0);
    // What the reader has not touched goes on showing what matters most.
    let isTouched = kept !== undefined;
    for (const kind of ["click", "keydown"]) {
      icicle.addEventListener(kind, () => { isTouched = true; }, true);
    }
    zoom(kept ? find(kept.focus) : 0);
    choose(kept ? find(kept.chosen) : opening, { focuses: false });
    return {
      fit,
      state: () => (isTouched ? { focus: named(focus), chosen: named(chosen) } : undefined),
      takeFocus: () => drawn[chosen].focus({ preventScroll: true }),
    };
  };

  // -- over the run: what happened at a moment ------------------------------------------------
  const startCourse = (course, facts, kept) => {
    const { total, steps, memory, marks } = facts;
    const cursor = document.getElementById("cursor");
    const reading = document.getElementById("reading");
    const plot = course.querySelector(".plot");
    let at = 0;
    const last = (rows, time) => {
      let low = 0, high = rows.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (rows[middle][0] <= time) low = middle + 1; else high = middle;
      }
      return rows[low - 1];
    };
    const show = (time) => {
      at = Math.min(Math.max(time, 0), total);
      const around = total / 300;
      const said = [`${at < 10 ? at.toFixed(1) : Math.round(at)} s`];
      const step = last(steps, at);
      if (step && at <= step[1] + around) said.push(step[2]);
      const held = last(memory, at);
      if (held) said.push(`${held[1]} held`);
      for (const [begin, end, kind, label] of marks) {
        const near = kind === "spike" || kind === "trace" ? around : 0;
        if (begin - near <= at && at <= end + near && kind !== "loop") said.push(label);
      }
      const text = said.slice(0, 7).join("  ·  ");
      reading.textContent = text;
      cursor.hidden = false;
      cursor.style.left = `${plot.offsetLeft + (at / total) * plot.clientWidth + plot.offsetParent.offsetLeft - course.offsetLeft}px`;
      course.setAttribute("aria-valuenow", Math.round(at));
      course.setAttribute("aria-valuetext", text);
    };
    course.addEventListener("pointermove", (event) => {
      const box = plot.getBoundingClientRect();
      show(((event.clientX - box.left) / box.width) * total);
    });
    course.addEventListener("pointerleave", () => { cursor.hidden = true; reading.textContent = ""; });
    course.addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowLeft: -1, ArrowUp: 1, ArrowDown: -1, PageUp: 20, PageDown: -20 }[event.key];
      if (by) show(at + (by * total) / 200);
      else if (event.key === "Home") show(0);
      else if (event.key === "End") show(total);
      else return;
      event.preventDefault();
    });
    if (kept !== undefined) show(kept);
    return { state: () => (document.activeElement === course ? at : undefined) };
  };

  // -- commands that can be copied ------------------------------------------------------------
  document.addEventListener("click", async (event) => {
    const button = event.target.closest?.(".copy");
    if (!button) return;
    const command = button.parentElement.querySelector(".cmd");
    let isDone = false;
    try {
      await navigator.clipboard.writeText(command.textContent);
      isDone = true;
    } catch {
      const range = document.createRange();
      range.selectNodeContents(command);
      const selection = getSelection();
      selection.removeAllRanges();
      selection.addRange(range);
      isDone = document.execCommand("copy");
    }
    button.textContent = isDone ? "copied" : "press Ctrl+C";
    setTimeout(() => { button.textContent = "copy"; }, 1600);
  });

  const start = (facts, kept = {}) => {
    const icicle = document.getElementById("icicle");
    const course = document.getElementById("course");
    // A part that stayed as it was has its listeners already.
    if (!icicle || started.icicle?.at !== icicle) {
      started.icicle = icicle && facts.nodes.length
        ? { at: icicle, ...startIcicle(icicle, facts.nodes, kept.icicle) } : null;
    }
    if (!course || started.course?.at !== course) {
      started.course = course && facts.course
        ? { at: course, ...startCourse(course, facts.course, kept.course) } : null;
    }
  };
  const state = () => ({ icicle: started.icicle?.state(), course: started.course?.state() });
  addEventListener("resize", () => started.icicle?.fit());
  return { start, state, make, focusNode: () => started.icicle?.takeFocus() };
})();
quickfitPage.start(JSON.parse(document.getElementById("facts").textContent));
