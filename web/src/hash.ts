/* hash.ts: what the address keeps: #zoom=12&find=parse&regex=1&up=1 */

export interface Place {
  zoom: number;
  find: string;
  regex: boolean;
  up: boolean;
}

export function readHash(hash: string, nodes: number): Place {
  const values = new URLSearchParams(hash.replace(/^#/, ""));
  const zoom = Number(values.get("zoom") || "0");
  return {
    zoom: Number.isInteger(zoom) && zoom >= 0 && zoom < nodes ? zoom : 0,
    find: values.get("find") || "",
    regex: values.get("regex") === "1",
    up: values.get("up") === "1",
  };
}

export function writeHash(place: Place): string {
  const values = new URLSearchParams();
  if (place.zoom > 0) values.set("zoom", String(place.zoom));
  if (place.find !== "") values.set("find", place.find);
  if (place.find !== "" && place.regex) values.set("regex", "1");
  if (place.up) values.set("up", "1");
  return values.toString() === "" ? "#" : `#${values.toString()}`;
}
