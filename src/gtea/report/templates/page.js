// What every page of a report does. Text reaches the page by textContent only, and nothing is fetched.
(() => {
  const one = (selector, inside = document) => inside.querySelector(selector);
  const all = (selector, inside = document) => [...inside.querySelectorAll(selector)];
  const root = document.documentElement, data = JSON.parse(one("#data").textContent);
  const made = (tag, text, name) => {
    const element = document.createElement(tag);
    if (text != null) element.textContent = text;
    if (name) element.className = name;
    return element;
  };
  const drawn = (tag, attributes) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const name in attributes) element.setAttribute(name, attributes[name]);
    return element;
  };
  const clamp = (value, low, high) => Math.max(low, Math.min(high, value));
  const press = (group, chosen) => all("button", group).forEach(b => b.setAttribute("aria-pressed", b === chosen));

  // --- a table that sorts, filters and is walked through by keys
  const table = one("table.listed"), body = one("tbody", table), rows = all("tr.row", body);
  const filter = one("#filter"), count = one("#count"), live = one("#live");
  const words = rows.map(row => row.dataset.words.toLowerCase());
  const place = new Map(rows.map((row, at) => [row, at]));
  const rove = row => rows.forEach(other => { other.tabIndex = other === row ? 0 : -1; });
  const close = () => one("tr.more", body)?.remove();
  const key = (row, column) => {
    const text = row.cells[column].dataset.key ?? row.cells[column].textContent;
    return text !== "" && isFinite(text) ? Number(text) : text;
  };
  const before = (x, y) => typeof x === typeof y ? (x < y ? -1 : x > y ? 1 : 0) : typeof x === "number" ? -1 : 1;
  all("th button", table).forEach(sorter => sorter.addEventListener("click", () => {
    const head = sorter.closest("th"), down = head.getAttribute("aria-sort") !== "descending";
    all("th[aria-sort]", table).forEach(other => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const column = head.cellIndex, sign = down ? -1 : 1;
    const keys = new Map(rows.map(row => [row, key(row, column)]));
    rows.sort((a, b) => sign * before(keys.get(a), keys.get(b)) || place.get(a) - place.get(b));
    close();
    body.append(...rows);
  }));
  let kind = "all";
  const sift = () => {
    const wanted = filter.value.trim().toLowerCase();
    close();
    rows.forEach(row => {
      row.hidden = !words[place.get(row)].includes(wanted) || (kind !== "all" && row.dataset.kind !== kind);
    });
    const seen = rows.filter(row => !row.hidden);
    count.textContent = seen.length === rows.length
      ? `${rows.length} ${rows.length === 1 ? data.thing : data.things}` : `${seen.length} of ${rows.length} ${data.things}`;
    rove(seen[0]);
    siftRest(wanted);
  };
  const rest = one("#rest");
  const siftRest = wanted => {
    if (rest?.open) all("tbody tr", rest).forEach(row => { row.hidden = !row.textContent.toLowerCase().includes(wanted); });
  };
  rest?.addEventListener("toggle", () => siftRest(filter.value.trim().toLowerCase()));
  filter.addEventListener("input", sift);
  one("#kind")?.addEventListener("click", event => {
    const chosen = event.target.closest("button");
    if (!chosen) return;
    press(chosen.parentNode, chosen);
    kind = chosen.dataset.kind;
    sift();
  });
  document.addEventListener("keydown", event => {
    if (event.key !== "/" || event.target.matches("input")) return;
    event.preventDefault();
    filter.focus();
  });
  const walk = event => {
    const row = event.target.closest("tr.row");
    if (!row || event.target !== row) return;
    const seen = rows.filter(other => !other.hidden), at = seen.indexOf(row);
    const next = { ArrowDown: seen[at + 1], ArrowUp: seen[at - 1], Home: seen[0], End: seen.at(-1) };
    if (event.key in next) {
      event.preventDefault();
      if (!next[event.key]) return;
      rove(next[event.key]);
      next[event.key].focus();
    } else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      open(row);
    } else keys?.(event, row);
  };
  body.addEventListener("keydown", walk);
  let open = row => one("a", row).click(), keys = null;

  if (data.kind === "index") index(); else lanes();
  sift();
  root.classList.add("scripted");

  // --- the index: what a number of accounts to look at means
  function index() {
    body.addEventListener("click", event => {
      const row = event.target.closest("tr.row");
      if (row && !event.target.closest("a") && !String(getSelection())) open(row);
    });
    const range = one("#range"), told = one("#told"), band = one(".standing .band"), cut = one(".standing .cut");
    const label = one(".standing .cut-label"), here = one(".curve .here"), dot = one(".curve circle");
    const precise = score => score > .9999 ? "> 0.9999" : score.toFixed(score > .999 ? 4 : 3);
    const percent = share => `${Math.round(100 * share)} %`;
    const spend = () => {
      const budget = Number(range.value), score = data.scores[budget - 1], x = data.width * score;
      one("#budget").textContent = budget;
      rows.forEach(row => row.classList.toggle("past", place.get(row) >= budget));
      band.setAttribute("x", x);
      band.setAttribute("width", data.width - x);
      cut.setAttribute("x1", x);
      cut.setAttribute("x2", x);
      label.textContent = `first ${budget}: from ${precise(score)}`;
      label.setAttribute("x", Math.max(x - 5, 110));
      const hours = budget * Number(one("#minutes").value) / 60;
      const work = `${hours < 10 ? Math.round(10 * hours) / 10 : Math.round(hours)} hours of work`;
      if (!data.expected) { told.textContent = `${work}.`; return; }
      const [share, low, high] = data.expected[budget - 1];
      const right = [...new Set([low, high].map(each => Math.round(each * budget)))].join(" to ");
      told.textContent = `${percent(share)} of them are expected to be right (${percent(low)} to ${percent(high)}), `
        + `${right} of ${budget}. ${work[0].toUpperCase()}${work.slice(1)}.`;
      const [left, wide, floor, tall] = data.frame, at = left + wide * (budget - 1) / Math.max(1, rows.length - 1);
      const high_ = floor - tall * share;
      here.setAttribute("d", `M${at} ${floor}V${high_}`);
      dot.setAttribute("cx", at);
      dot.setAttribute("cy", high_);
    };
    range.addEventListener("input", spend);
    one("#minutes").addEventListener("input", spend);
    spend();
  }

  // --- the case: the same counterparty in picture and table, and its events in time
  function lanes() {
    const WIDE = 1000, MID = 18, DAY = 86400;
    const flow = one(".flow"), tip = one("#tip"), cross = one("#cross"), wrap = one(".wrap");
    // Histories are flat: gap since the event before, amount, and sent + 2 * (events merged into it - 1).
    const pairs = data.pairs.map(pair => {
      const events = [];
      for (let at = 0, time = data.first; at < pair.events.length; at += 3) {
        const code = pair.events[at + 2];
        events.push({ time: time += pair.events[at], amount: pair.events[at + 1], sent: code & 1, merged: (code >> 1) + 1 });
      }
      return { ...pair, events };
    });
    const pairOf = row => pairs[row.dataset.i];
    const format = options => new Intl.DateTimeFormat("en-GB", { timeZone: "UTC", ...options });
    const dates = format({ day: "numeric", month: "short", year: "numeric" });
    const minutes = format({ day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit" });
    const shortDates = format({ day: "numeric", month: "short" }), hours = format({ hour: "2-digit", minute: "2-digit" });
    const said = (style, time) => data.steps ? `step ${Math.round(time)}` : style.format(1000 * time);
    const figures = new Intl.NumberFormat("en-GB", { maximumSignificantDigits: 6 });
    const amount = value => figures.format(value);
    let [from, to] = data.focus, picked = null, stepped = -1;

    const show = (x, y, text) => {
      tip.textContent = text;
      tip.style.left = `${clamp(x + 14, 4, Math.max(4, innerWidth - tip.offsetWidth - 4))}px`;
      tip.style.top = `${y + tip.offsetHeight + 22 > innerHeight ? y - tip.offsetHeight - 12 : y + 16}px`;
      tip.style.visibility = "visible";
    };
    const hide = () => { tip.style.visibility = cross.style.visibility = "hidden"; };

    const light = i => {
      rows.forEach(row => row.classList.toggle("on", row.dataset.i === i));
      if (!flow) return;
      flow.classList.toggle("lit", i != null && one(`.node[data-i="${i}"]`, flow) !== null);
      all(".on", flow).forEach(element => element.classList.remove("on"));
      if (i == null) return;
      all(`[data-i="${i}"], [data-a="${i}"], [data-b="${i}"]`, flow).forEach(element => {
        element.classList.add("on");
        [element.dataset.a, element.dataset.b].forEach(end => one(`.node[data-i="${end}"]`, flow)?.classList.add("on"));
      });
    };
    const pick = (i, scroll) => {
      picked = picked === i ? null : i;
      close();
      // No aria-expanded: it is for the rows of a tree, not for those of a table. The live region says what has opened.
      rows.forEach(row => row.classList.toggle("picked", row.dataset.i === picked));
      live.textContent = picked == null ? "closed" : `opened: ${pairs[picked].facts}`;
      if (flow) all(".node", flow).forEach(node => node.classList.toggle("picked", node.dataset.i === picked));
      if (picked == null) return;
      const row = rows.find(other => other.dataset.i === picked);
      row.hidden = false;
      rove(row);
      expand(row);
      if (!scroll) return;
      row.scrollIntoView({ block: "center" });
      row.focus({ preventScroll: true });
    };
    open = row => pick(row.dataset.i);

    const expand = row => {
      const pair = pairOf(row), more = made("tr", null, "more"), cell = made("td"), list = made("ol");
      cell.colSpan = row.cells.length;
      cell.append(made("p", pair.id, "id"), made("p", pair.facts, "note"));
      pair.bursts.forEach(([number, first, last, without]) => {
        const when = number === 1 ? said(minutes, first) : `${said(minutes, first)} to ${said(minutes, last)}`;
        const line = made("p", `Without the ${number === 1 ? "event" : `${number} events`} of ${when} the score would be ${without}. `);
        const zoomer = made("button", "Zoom");
        zoomer.type = "button";
        zoomer.addEventListener("click", () => {
          const margin = last - first + (data.steps ? 1 : 7200);
          zoom(first - margin, last + margin);
        });
        line.append(zoomer);
        cell.append(line);
      });
      const last = pair.events.slice(-48).reverse();
      if (pair.num_events > last.length) cell.append(made("p", `The last of ${pair.num_events} events:`, "note"));
      last.forEach(event => {
        const item = made("li"), what = event.sent ? "sent" : "received";
        item.append(made("span", said(minutes, event.time)));
        item.append(made("span", event.merged > 1 ? `${event.merged} ${what}` : what, "note"));
        item.append(made("b", data.amounts ? amount(event.amount) : ""));
        list.append(item);
      });
      cell.append(list);
      more.append(cell);
      row.after(more);
    };

    const burst = (pair, event) => {
      const found = pair.bursts.find(([, first, last]) => first <= event.time && event.time <= last);
      return found ? `\nwithout this burst of ${found[0]}: ${found[3]}` : "";
    };
    const summed = (events, sent) => {
      const chosen = events.filter(event => event.sent === sent);
      if (!chosen.length) return "";
      const number = chosen.reduce((sum, event) => sum + event.merged, 0);
      const total = data.amounts ? ` ${amount(chosen.reduce((sum, event) => sum + event.amount, 0))}` : "";
      return `\n${sent ? "sent" : "received"}${total}${number > 1 ? ` in ${number} events` : ""}`;
    };
    const spoken = (pair, events) => {
      const first = events[0], last = events.at(-1);
      const when = first === last ? said(minutes, first.time) : `${said(minutes, first.time)} to ${said(minutes, last.time)}`;
      return when + summed(events, 0) + summed(events, 1) + burst(pair, last);
    };
    const binOf = event => Math.floor((event.time - from) / (to - from) * data.bins);
    const rule = x => {
      cross.style.left = `${x - wrap.getBoundingClientRect().left + wrap.scrollLeft}px`;
      cross.style.visibility = "visible";
    };
    body.addEventListener("pointermove", event => {
      const cell = event.target.closest("td.when");
      if (!cell) return hide();
      const box = one(".lane", cell).getBoundingClientRect(), pair = pairOf(cell.parentNode);
      const xOf = time => box.left + (time - from) / (to - from) * box.width;
      const distance = other => Math.abs(xOf(other.time) - event.clientX);
      const nearest = pair.events.reduce((best, other) => distance(other) < distance(best) ? other : best);
      rule(event.clientX);
      if (distance(nearest) > 14) tip.style.visibility = "hidden";
      else show(event.clientX, event.clientY, spoken(pair, pair.events.filter(other => binOf(other) === binOf(nearest))));
    });
    keys = (event, row) => {
      if (event.key === "Escape") { hide(); if (picked != null) pick(picked); return; }
      const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key], pair = pairOf(row), last = pair.events.length - 1;
      if (!by || last < 0) return;
      event.preventDefault();
      stepped = stepped < 0 ? (by < 0 ? last : 0) : clamp(stepped + by, 0, last);
      const at = pair.events[stepped], half = (to - from) / 2;
      if (at.time < from || at.time >= to) zoom(at.time - half, at.time + half);
      const box = one(".lane", row).getBoundingClientRect(), x = box.left + (at.time - from) / (to - from) * box.width;
      rule(x);
      show(x, box.bottom - 12, spoken(pair, [at]));
      live.textContent = `${stepped + 1} of ${last + 1}: ${spoken(pair, [at]).replaceAll("\n", ", ")}`;
    };
    body.addEventListener("pointerover", event => light(event.target.closest("tr.row")?.dataset.i));
    body.addEventListener("pointerleave", () => { light(); hide(); });
    body.addEventListener("click", event => {
      const row = event.target.closest("tr.row");
      if (row && !String(getSelection())) open(row);
    });
    body.addEventListener("focusin", event => {
      const row = event.target.closest("tr.row");
      if (row?.matches(":focus-visible")) light(row.dataset.i);
    });
    body.addEventListener("focusout", () => { light(); hide(); stepped = -1; });
    flow?.addEventListener("pointerover", event => {
      const node = event.target.closest(".node[data-i]");
      light(node?.dataset.i);
      if (!node) return hide();
      const pair = pairs[node.dataset.i];
      show(event.clientX, event.clientY, `${pair.short}\n${pair.facts}\nwithout it ${pair.without}`);
    });
    flow?.addEventListener("pointerleave", () => { light(); hide(); });
    flow?.addEventListener("click", event => {
      const node = event.target.closest(".node[data-i]");
      if (node) pick(node.dataset.i, true);
    });

    // --- time: one window for all lanes
    const brush = one(".brush"), pane = one("#window"), edges = one("#edges"), ticks = one("#ticks"), grid = one("#grid");
    const span = one("#span"), times = one("#times"), [first, last] = [data.first, data.last];
    const STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9];
    const CLOCK = [60, 300, 900, 3600, 10800, 21600, 43200, DAY, 2 * DAY, 7 * DAY, 14 * DAY, 30 * DAY, 91 * DAY, 182 * DAY, 365 * DAY];
    const LETTER = 6.6; // pixels
    const rulers = () => {
      const room = Math.max(4, brush.clientWidth / 70), length = to - from;
      const step = (data.steps ? STEPS : CLOCK).find(size => length / size <= room) ?? length / 2;
      const style = step < DAY ? null : step < 90 * DAY ? shortDates : dates;
      let lines = "";
      ticks.textContent = "";
      for (let time = Math.ceil(from / step) * step; time < to; time += step) {
        const share = (time - from) / length, x = `${100 * share}%`;
        lines += `M${(share * WIDE).toFixed(1)} 0V60`;
        ticks.append(drawn("line", { x1: x, x2: x, y2: 5 }));
        const text = drawn("text", { x, y: 15, dx: 3 });
        text.textContent = data.steps ? Math.round(time) : (style ?? (time % DAY ? hours : shortDates)).format(1000 * time);
        if (share * brush.clientWidth + LETTER * text.textContent.length < brush.clientWidth) ticks.append(text);
      }
      grid.setAttribute("d", lines);
    };
    const binned = pair => {
      const sides = [new Map(), new Map()], unread = pair.num_events - data.reads;
      let seen = 0;
      pair.events.forEach(event => {
        seen += event.merged;
        if (event.time < from || event.time > to) return;
        const bin = Math.min(binOf(event), data.bins - 1), side = sides[event.sent], old = side.get(bin) ?? [0, false];
        side.set(bin, [old[0] + (data.amounts ? Math.abs(event.amount) : event.merged), old[1] || seen > unread]);
      });
      return sides;
    };
    const redraw = () => {
      const sums = pairs.map(binned);
      const sizes = sums.flatMap(sides => sides.flatMap(side => [...side.values()].map(bin => bin[0]))).sort((a, b) => a - b);
      const tallest = sizes[Math.floor(.97 * (sizes.length - 1))] || 1;
      const height = sum => clamp((MID - 1.5) * Math.sqrt(sum / tallest), 2, MID - 1.5);
      rows.forEach(row => {
        const lane = one(".lane", row), pair = pairOf(row), paths = { in: "", "in-old": "", out: "", "out-old": "" };
        sums[row.dataset.i].forEach((side, sent) => side.forEach(([sum, read], bin) => {
          const stick = `M${((bin + .5) * WIDE / data.bins).toFixed(1)} ${MID}v${((sent ? 1 : -1) * height(sum)).toFixed(1)}`;
          paths[(sent ? "out" : "in") + (read ? "" : "-old")] += stick;
        }));
        for (const name in paths) one(`.${name}`, lane)?.setAttribute("d", paths[name]);
        all(".burst", lane).forEach((box, at) => {
          const [, start, end] = pair.bursts[at], x = time => (time - from) / (to - from) * WIDE;
          const left = Math.max(0, x(start)), right = Math.min(WIDE, x(end));
          const wide = x(end) >= 0 && x(start) <= WIDE ? Math.max(right - left + 8, 14) : 0;
          box.setAttribute("x", (left + right - wide) / 2);
          box.setAttribute("width", wide);
        });
      });
    };
    const zoom = (start, end, chosen = null) => {
      const least = data.steps ? 2 : 600, middle = (start + end) / 2, half = Math.max(end - start, least) / 2;
      from = Math.max(first, middle - half);
      to = Math.min(last, middle + half);
      if (to - from < least) [from, to] = [Math.max(first, to - least), Math.min(last, from + least)];
      const x = time => (time - first) / (last - first) * WIDE;
      pane.setAttribute("x", x(from));
      pane.setAttribute("width", x(to) - x(from));
      edges.setAttribute("d", `M${x(from)} 0v46M${x(to)} 0v46`);
      span.textContent = [...new Set([said(dates, from), said(dates, to)])].join(" – ");
      brush.setAttribute("aria-valuetext", span.textContent);
      brush.setAttribute("aria-valuenow", Math.round(x(middle) / 10));
      const bin = (to - from) / data.bins / 60;
      one("#bin").textContent = data.steps ? `${Math.max(1, Math.round(60 * bin))} steps`
        : bin < 60 ? `${Math.max(1, Math.round(bin))} minutes` : bin < 2880 ? `${Math.round(bin / 60)} hours` : `${Math.round(bin / 1440)} days`;
      press(times, chosen);
      rulers();
      redraw();
    };
    times.addEventListener("click", event => {
      const chosen = event.target.closest("button");
      if (chosen) zoom(...{ focus: data.focus, month: [last - 30 * DAY, last], all: [first, last] }[chosen.dataset.time], chosen);
    });
    const timeAt = x => {
      const box = brush.getBoundingClientRect();
      return first + clamp((x - box.left) / box.width, 0, 1) * (last - first);
    };
    let start = null;
    const whole = () => zoom(first, last, one('[data-time="all"]', times));
    brush.addEventListener("pointerdown", event => { start = event.clientX; brush.setPointerCapture(event.pointerId); });
    brush.addEventListener("pointermove", event => {
      if (start === null || Math.abs(event.clientX - start) < 4) return;
      const ends = [timeAt(start), timeAt(event.clientX)];
      zoom(Math.min(...ends), Math.max(...ends));
    });
    brush.addEventListener("pointerup", event => {
      if (start !== null && Math.abs(event.clientX - start) < 4) whole();
      start = null;
    });
    brush.addEventListener("keydown", event => {
      const length = to - from, middle = (from + to) / 2;
      const moved = {
        "+": [middle - length / 4, middle + length / 4], "=": [middle - length / 4, middle + length / 4],
        "-": [middle - length, middle + length],
        ArrowLeft: [Math.max(first, from - length / 5), Math.max(first, from - length / 5) + length],
        ArrowRight: [Math.min(last, to + length / 5) - length, Math.min(last, to + length / 5)],
      }[event.key];
      if (!moved && event.key !== "Escape") return;
      event.preventDefault();
      if (moved) zoom(...moved); else whole();
      live.textContent = span.textContent;
    });
    if (rows.length) new ResizeObserver(rulers).observe(brush);
  }
})();
