// The list of a service: it is asked for again when scores have changed, and its rows are moved and marked. All text is
// made by the service; this script puts whole rows in and evaluates nothing.
(() => {
  const one = selector => document.querySelector(selector);
  const state = one("#state"), pause = one("#pause"), form = one("form"), filter = one("#filter"), list = one("#list");
  const AT_MOST_EVERY = 1000, WITHOUT_STREAM = 5000, MARKED = 2500;
  let paused = false, asked = null, stale = false, last = 0, timer = null, connected = false;

  const address = () => {
    const wanted = new URLSearchParams(new FormData(form));
    wanted.set("part", "list");
    return `./?${wanted}`;
  };
  const rowsOf = root => new Map([...root.querySelectorAll("tr.row")].map(row => [row.dataset.key, row]));
  const put = text => {
    // A document of its own: nothing in it is loaded or run.
    const found = new DOMParser().parseFromString(text, "text/html"), before = rowsOf(list);
    if (!found.querySelector("table.live")) return;
    const key = document.activeElement?.closest?.("tr.row")?.dataset.key;
    const score = row => row?.querySelector(".score").textContent;
    rowsOf(found).forEach((row, name) => {
      const old = before.get(name);
      const marked = old ? score(old) !== score(row) : before.size > 0;
      row.classList.toggle("changed", marked);
      if (marked) setTimeout(() => row.classList.remove("changed"), MARKED);
    });
    list.replaceChildren(...found.body.childNodes);
    if (key) list.querySelector(`tr.row[data-key="${key}"] a`)?.focus({ preventScroll: true });
  };
  const renew = async () => {
    clearTimeout(timer);
    timer = null;
    asked?.abort();
    const mine = asked = new AbortController();
    stale = false;
    last = performance.now();
    try {
      const answer = await fetch(address(), { signal: mine.signal, credentials: "same-origin" });
      if (answer.ok && !mine.signal.aborted) put(await answer.text());
      else stale = true;
    } catch { stale = true; }
  };
  const soon = () => {
    stale = true;
    if (paused || document.hidden || timer !== null) return;
    timer = setTimeout(renew, Math.max(0, AT_MOST_EVERY - (performance.now() - last)));
  };
  const say = () => { state.textContent = paused ? "paused" : connected ? "live" : "not connected"; };

  const listen = () => {
    const stream = new EventSource("stream?changes=none");
    stream.addEventListener("open", () => { connected = true; say(); soon(); });
    ["changes", "resync"].forEach(name => stream.addEventListener(name, soon));
    stream.addEventListener("error", () => {
      connected = false;
      say();
      // The browser tries again by itself, unless there was no room for a stream.
      if (stream.readyState === EventSource.CLOSED) setTimeout(() => { soon(); listen(); }, WITHOUT_STREAM);
    });
  };
  listen();

  pause.addEventListener("click", () => {
    paused = !paused;
    pause.setAttribute("aria-pressed", paused);
    say();
    if (!paused && stale) soon();
  });
  document.addEventListener("visibilitychange", () => { if (!document.hidden && stale) soon(); });
  form.addEventListener("submit", event => { event.preventDefault(); renew(); });
  form.addEventListener("input", () => { if (form.checkValidity()) renew(); });
  document.addEventListener("keydown", event => {
    if (event.key === "/" && !event.target.matches("input")) {
      event.preventDefault();
      filter.focus();
    }
  });
  list.addEventListener("keydown", event => {
    const links = [...list.querySelectorAll("tr.row a")], at = links.indexOf(event.target);
    const next = { ArrowDown: links[at + 1], ArrowUp: links[at - 1], Home: links[0], End: links.at(-1) };
    if (at < 0 || !(event.key in next)) return;
    event.preventDefault();
    next[event.key]?.focus();
  });
  list.addEventListener("click", event => {
    const row = event.target.closest("tr.row");
    if (row && !event.target.closest("a") && !String(getSelection())) row.querySelector("a").click();
  });
  document.documentElement.classList.add("scripted");
})();
