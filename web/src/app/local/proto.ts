/* proto.ts: reads profile.proto: https://github.com/google/pprof/blob/main/proto/profile.proto. Numbers beside the
 * messages' names are those of their fields there. */

import { FrameTable, LocalProfile, LocalSample } from "./profile";

const DAMAGED = "The file is damaged, or no profile.proto.";

/* The fields of a message, one after the other. */
class Fields {
  private at: number;
  field = 0;
  wire = 0;
  value = 0; /* of a number */
  from = 0; /* of bytes: [from, to) */
  to = 0;

  constructor(readonly bytes: Uint8Array, from = 0, private end = bytes.length) {
    this.at = from;
  }

  private varint(): number {
    let [value, scale] = [0, 1];
    for (let i = 0; i < 10; i++) {
      if (this.at >= this.end) throw new Error(DAMAGED);
      const byte = this.bytes[this.at++];
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value >= 2 ** 63 ? value - 2 ** 64 : value;
      scale *= 128;
    }
    throw new Error(DAMAGED);
  }

  next(): boolean {
    if (this.at >= this.end) return false;
    const tag = this.varint();
    this.field = Math.floor(tag / 8);
    this.wire = tag % 8;
    if (this.wire === 0) {
      this.value = this.varint();
      return true;
    }
    const size = this.wire === 1 ? 8 : this.wire === 5 ? 4 : this.wire === 2 ? this.varint() : -1;
    this.from = this.at;
    this.to = this.at += size;
    if (size < 0 || this.at > this.end) throw new Error(DAMAGED);
    return true;
  }

  inside(): Fields {
    return new Fields(this.bytes, this.from, this.to);
  }

  /* Numbers of a repeated field, packed or not. */
  numbers(into: number[]): void {
    if (this.wire === 0) {
      into.push(this.value);
      return;
    }
    const inside = this.inside();
    while (inside.at < inside.end) into.push(inside.varint());
  }
}

/* A pattern of the profile's own that names whole functions; null: it has none, or one of another language. */
function wholePattern(text: string): RegExp | null {
  try {
    return text === "" ? null : new RegExp(`^(?:${text})$`);
  } catch (e) {
    return null;
  }
}

/* A name without its arguments, as drop_frames names it. */
const withoutArguments = (name: string): string => name.replace(/(.)\(.*$/, "$1");

/* The numbers of a message by their fields. */
function numbersOf(f: Fields): Record<number, number> {
  const made: Record<number, number> = {};
  while (f.next()) if (f.wire === 0) made[f.field] = f.value;
  return made;
}

interface Location {
  mapping: number;
  address: number;
  lines: { function: number; line: number }[]; /* the innermost first */
}

function locationOf(f: Fields): { id: number; location: Location } {
  let id = 0;
  const location: Location = { mapping: 0, address: 0, lines: [] };
  while (f.next()) {
    if (f.field === 1) id = f.value;
    if (f.field === 2) location.mapping = f.value;
    if (f.field === 3) location.address = f.value;
    if (f.field === 4) {
      const line = numbersOf(f.inside());
      location.lines.push({ function: line[1] || 0, line: line[2] || 0 });
    }
  }
  return { id, location };
}

export function readProto(bytes: Uint8Array): LocalProfile | null {
  const strings: string[] = [];
  const types: { type: number; unit: number }[] = [];
  const raw: { locations: number[]; values: number[] }[] = [];
  const mappings = new Map<number, Record<number, number>>();
  const functions = new Map<number, Record<number, number>>();
  const locations = new Map<number, Location>();
  const decoder = new TextDecoder();
  let [usual, drop, keep] = [0, 0, 0];
  const f = new Fields(bytes);
  while (f.next()) {
    if (f.field === 1) {
      const type = numbersOf(f.inside());
      types.push({ type: type[1] || 0, unit: type[2] || 0 });
    } else if (f.field === 2) {
      const sample = { locations: [] as number[], values: [] as number[] };
      const inside = f.inside();
      while (inside.next()) {
        if (inside.field === 1) inside.numbers(sample.locations);
        if (inside.field === 2) inside.numbers(sample.values);
      }
      raw.push(sample);
    } else if (f.field === 3 || f.field === 5) {
      const row = numbersOf(f.inside());
      (f.field === 3 ? mappings : functions).set(row[1] || 0, row);
    } else if (f.field === 4) {
      const { id, location } = locationOf(f.inside());
      locations.set(id, location);
    } else if (f.field === 6) {
      strings.push(decoder.decode(bytes.subarray(f.from, f.to)));
    } else if (f.field === 7) {
      drop = f.value;
    } else if (f.field === 8) {
      keep = f.value;
    } else if (f.field === 14) {
      usual = f.value;
    }
  }
  if (types.length === 0 || strings[0] !== "") return null;

  const text = (index: number | undefined): string => strings[index || 0] || "";
  const table = new FrameTable();
  const framesOf = new Map<number, number[]>(); /* of a location, the outermost first */
  const frames = (id: number): number[] => {
    const known = framesOf.get(id);
    if (known !== undefined) return known;
    const location = locations.get(id);
    if (location === undefined) throw new Error(DAMAGED);
    const mapping = mappings.get(location.mapping) || {};
    const module = text(mapping[5]);
    const made = location.lines.map(({ function: fn, line }, i) => {
      const row = functions.get(fn) || {};
      return table.add({ name: text(row[2]) || text(row[3]) || "[unknown]", file: text(row[4]), line: row[5] || line, module, inlined: i + 1 < location.lines.length });
    });
    if (made.length === 0) {
      const offset = location.address - (mapping[2] || 0) + (mapping[4] || 0);
      const place = module === "" ? `0x${location.address.toString(16)}` : `${module.slice(module.lastIndexOf("/") + 1)}+0x${offset.toString(16)}`;
      made.push(table.add({ name: `[${place}]`, module, nameless: true }));
    }
    framesOf.set(id, made.reverse());
    return made;
  };
  /* drop_frames, as google/pprof's Prune applies it: what a dropped frame calls goes with it, but for dropped frames
   * before the first other location. */
  const [dropped, kept] = [wholePattern(text(drop)), wholePattern(text(keep))];
  const isDropped = (frame: number): boolean => {
    const name = withoutArguments(table.frames[frame].name);
    return dropped !== null && dropped.test(name) && !(kept !== null && kept.test(name));
  };
  const leftOf = new Map<number, { frames: number[]; ends: boolean }>(); /* of a location */
  const left = (id: number): { frames: number[]; ends: boolean } => {
    let found = leftOf.get(id);
    if (found === undefined) {
      const all = frames(id);
      const at = all.findIndex(isDropped);
      leftOf.set(id, (found = { frames: at > 0 ? all.slice(0, at) : all, ends: at >= 0 }));
    }
    return found;
  };
  const samples: LocalSample[] = raw.map(({ locations: ids, values }) => {
    if (values.length !== types.length) throw new Error(DAMAGED);
    const stack: number[] = [];
    let begun = false;
    for (let i = ids.length - 1; i >= 0; i--) {
      const { frames: here, ends } = left(ids[i]);
      if (begun && ends && isDropped(here[0])) break;
      stack.push(...here);
      if (begun && ends) break;
      begun = begun || !ends;
    }
    return { stack, values };
  });
  const named = types.map(({ type, unit }) => ({ type: text(type), unit: text(unit) }));
  const found = named.findIndex(({ type }) => usual > 0 && type === text(usual));
  return { events: named, event: found >= 0 ? found : named.length - 1, frames: table.frames, samples };
}
