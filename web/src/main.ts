/* main.ts: the page of `pitot flame`: one flame graph, whose state is the address's fragment. */

import { checkedData } from "./data";
import { byId, element } from "./dom";
import { Flame } from "./flame";
import { readHash, writeHash } from "./hash";

/* The page around this one, where there is one, learns which function was chosen. */
function tell(name: string): void {
  if (window.parent !== window) window.parent.postMessage({ pitotFunction: name }, window.location.origin);
}

function show(): void {
  const data = checkedData(JSON.parse(byId("data").textContent || ""));
  if (window.parent !== window) document.documentElement.dataset.framed = "1";
  document.title = `${data.title} – pitot flame`;
  byId("title").textContent = data.title;
  const flame = new Flame(
    data,
    {
      read: () => readHash(window.location.hash),
      write: (place, step) => {
        const hash = writeHash(place);
        if (hash === (window.location.hash || "#")) return;
        if (step) window.history.pushState(null, "", hash);
        else window.history.replaceState(null, "", hash);
      },
      chosen: tell,
    },
    new AbortController().signal
  );
  byId("facts").replaceChildren(...flame.facts().map((fact) => element("li", "", fact)));
  window.addEventListener("popstate", () => flame.restore());
  window.addEventListener("hashchange", () => flame.restore());
  document.documentElement.dataset.ready = "1";
}

try {
  show();
} catch (e) {
  const text = e instanceof Error ? e.message : String(e);
  document.body.replaceChildren(element("p", "broken", `This flame graph cannot be shown: ${text}`));
}
