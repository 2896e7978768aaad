/* hash.ts: what the address keeps of a flame graph: #zoom=main;parse&find=parse&regex=1&up=1 */

import { Width } from "./data";

export interface Place {
  zoom: string; /* the path of the box (Tree.path); "" is the whole */
  find: string;
  regex: boolean;
  up: boolean;
  width: Width; /* of a difference, as is normalized */
  normalized: boolean;
}

export function readPlace(get: (name: string) => string): Place {
  const width = get("width");
  return {
    zoom: get("zoom"),
    find: get("find"),
    regex: get("regex") === "1",
    up: get("up") === "1",
    width: width === "before" || width === "after" ? width : "both",
    normalized: get("norm") === "1",
  };
}

/* Parameters, "" for those that are as usual. */
export function placeParameters(place: Place): Record<string, string> {
  return {
    zoom: place.zoom,
    find: place.find,
    regex: place.find !== "" && place.regex ? "1" : "",
    up: place.up ? "1" : "",
    width: place.width === "both" ? "" : place.width,
    norm: place.normalized ? "1" : "",
  };
}

export function readHash(hash: string): Place {
  const values = new URLSearchParams(hash.replace(/^#/, ""));
  return readPlace((name) => values.get(name) || "");
}

export function writeHash(place: Place): string {
  const values = new URLSearchParams();
  for (const [name, value] of Object.entries(placeParameters(place))) if (value !== "") values.set(name, value);
  return `#${values.toString()}`;
}
