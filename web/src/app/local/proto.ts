/* proto.ts: reads profile.proto: https://github.com/google/pprof/blob/main/proto/profile.proto. Numbers beside the
 * messages' names are those of their fields there. */

import { Pattern } from "./pattern";
import { FrameTable, LocalProfile, LocalSample, Room } from "./profile";

const DAMAGED = "The file is damaged, or no profile.proto.";
const TWO_32 = 2 ** 32;

type Id = number | bigint; /* a bigint from 2^53 on, where numbers have gaps */

/* The fields of a message, one after the other. */
class Fields {
  private at: number;
  field = 0;
  wire = 0;
  private low = 0; /* of a number: its 64 bits */
  private high = 0;
  from = 0; /* of bytes: [from, to) */
  to = 0;

  constructor(readonly bytes: Uint8Array, from = 0, private end = bytes.length) {
    this.at = from;
  }

  private varint(): void {
    [this.low, this.high] = [0, 0];
    for (let shift = 0; shift < 70; shift += 7) {
      if (this.at >= this.end) throw new Error(DAMAGED);
      const byte = this.bytes[this.at++];
      if (shift < 28) this.low += (byte & 0x7f) * 2 ** shift;
      else if (shift > 28) this.high = (this.high + (byte & 0x7f) * 2 ** (shift - 32)) % TWO_32;
      else [this.low, this.high] = [this.low + (byte & 0xf) * 2 ** 28, (byte >> 4) & 7];
      if (byte < 0x80) return;
    }
    throw new Error(DAMAGED);
  }

  /* The number, as an int64; rounded from 2^53 on. */
  get value(): number {
    return (this.high >= TWO_32 / 2 ? this.high - TWO_32 : this.high) * TWO_32 + this.low;
  }

  /* The number, as a uint64. */
  get exact(): bigint {
    return (BigInt(this.high) << BigInt(32)) | BigInt(this.low);
  }

  get id(): Id {
    return this.high < 2 ** 21 ? this.high * TWO_32 + this.low : this.exact;
  }

  next(): boolean {
    if (this.at >= this.end) return false;
    this.varint();
    this.field = Math.floor(this.low / 8);
    this.wire = this.low % 8;
    if (this.wire === 2 || this.wire === 0) this.varint();
    if (this.wire === 0) return true;
    const size = this.wire === 1 ? 8 : this.wire === 5 ? 4 : this.wire === 2 ? this.value : -1;
    this.from = this.at;
    this.to = this.at += size;
    if (size < 0 || this.at > this.end) throw new Error(DAMAGED);
    return true;
  }

  inside(): Fields {
    return new Fields(this.bytes, this.from, this.to);
  }

  /* Takes each number of a repeated field, packed or not. */
  numbers(take: (f: Fields) => void): void {
    if (this.wire === 0) return take(this);
    const inside = this.inside();
    while (inside.at < inside.end) {
      inside.varint();
      take(inside);
    }
  }
}

/* A pattern of the profile's own that names whole functions; null: it has none. */
function wholePattern(text: string): Pattern | null {
  return text === "" ? null : new Pattern(text, true);
}

/* A name without its arguments, as drop_frames names it: google/pprof's simplifyFunc. */
export function withoutArguments(name: string): string {
  const from = name.startsWith(".") ? 1 : 0;
  for (let at = name.indexOf("(", from); at >= 0; at = name.indexOf("(", at + 1)) {
    if (name.startsWith("(anonymous namespace)", at)) at += "(anonymous namespace".length;
    else if (name.startsWith("operator()", at - "operator".length) && at - "operator".length >= from) at += 1;
    else return name.slice(from, at);
  }
  return name.slice(from);
}

/* The numbers of a message by their fields. */
function numbersOf(f: Fields): Record<number, number> {
  const made: Record<number, number> = {};
  while (f.next()) if (f.wire === 0) made[f.field] = f.value;
  return made;
}

interface Mapping {
  id: Id;
  start: bigint;
  offset: bigint;
  file: number;
}

function mappingOf(f: Fields): Mapping {
  const made: Mapping = { id: 0, start: BigInt(0), offset: BigInt(0), file: 0 };
  while (f.next()) {
    if (f.field === 1) made.id = f.id;
    if (f.field === 2) made.start = f.exact;
    if (f.field === 4) made.offset = f.exact;
    if (f.field === 5) made.file = f.value;
  }
  return made;
}

interface Named {
  id: Id;
  name: number;
  systemName: number;
  file: number;
  startLine: number;
}

function functionOf(f: Fields): Named {
  const made: Named = { id: 0, name: 0, systemName: 0, file: 0, startLine: 0 };
  while (f.next()) {
    if (f.field === 1) made.id = f.id;
    if (f.field === 2) made.name = f.value;
    if (f.field === 3) made.systemName = f.value;
    if (f.field === 4) made.file = f.value;
    if (f.field === 5) made.startLine = f.value;
  }
  return made;
}

interface Location {
  id: Id;
  mapping: Id;
  address: bigint;
  lines: { function: Id; line: number }[]; /* the innermost first */
}

function lineOf(f: Fields): Location["lines"][0] {
  const made: Location["lines"][0] = { function: 0, line: 0 };
  while (f.next()) {
    if (f.field === 1) made.function = f.id;
    if (f.field === 2) made.line = f.value;
  }
  return made;
}

function locationOf(f: Fields): Location {
  const made: Location = { id: 0, mapping: 0, address: BigInt(0), lines: [] };
  while (f.next()) {
    if (f.field === 1) made.id = f.id;
    if (f.field === 2) made.mapping = f.id;
    if (f.field === 3) made.address = f.exact;
    if (f.field === 4) made.lines.push(lineOf(f.inside()));
  }
  return made;
}

/* The name of a frame without one, as pitot's reports have it. */
function placeText(path: string, address: bigint): string {
  const base = path.slice(path.lastIndexOf("/") + 1);
  const name = base.length > 2 && base.startsWith("[") && base.endsWith("]") ? base.slice(1, -1) : base;
  if (address === BigInt(0) && name === "") return "[unknown]";
  return name === "" ? `[0x${address.toString(16)}]` : `[${name}+0x${address.toString(16)}]`;
}

export function readProto(bytes: Uint8Array): LocalProfile | null {
  const strings: string[] = [];
  const types: { type: number; unit: number }[] = [];
  const raw: { locations: Id[]; values: number[] }[] = [];
  const mappings = new Map<Id, Mapping>();
  const functions = new Map<Id, Named>();
  const locations = new Map<Id, Location>();
  const decoder = new TextDecoder();
  let [usual, drop, keep] = [0, 0, 0];
  const f = new Fields(bytes);
  while (f.next()) {
    if (f.field === 1) {
      const type = numbersOf(f.inside());
      types.push({ type: type[1] || 0, unit: type[2] || 0 });
    } else if (f.field === 2) {
      const sample = { locations: [] as Id[], values: [] as number[] };
      const inside = f.inside();
      while (inside.next()) {
        if (inside.field === 1) inside.numbers(({ id }) => sample.locations.push(id));
        if (inside.field === 2) inside.numbers(({ value }) => sample.values.push(value));
      }
      raw.push(sample);
    } else if (f.field === 3) {
      const mapping = mappingOf(f.inside());
      mappings.set(mapping.id, mapping);
    } else if (f.field === 5) {
      const row = functionOf(f.inside());
      functions.set(row.id, row);
    } else if (f.field === 4) {
      const location = locationOf(f.inside());
      locations.set(location.id, location);
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
  const framesOf = new Map<Id, number[]>(); /* of a location, the outermost first */
  const frames = (id: Id): number[] => {
    const known = framesOf.get(id);
    if (known !== undefined) return known;
    const location = locations.get(id);
    if (location === undefined) throw new Error(DAMAGED);
    const { address } = location;
    const mapping = mappings.get(location.mapping);
    const module = text(mapping?.file);
    const made = location.lines.map(({ function: fn, line }, i) => {
      const row = functions.get(fn);
      return table.add({ name: text(row?.name) || text(row?.systemName) || "[unknown]", file: text(row?.file), line: row?.startLine || line, module, inlined: i + 1 < location.lines.length });
    });
    if (made.length === 0) {
      const inFile = mapping !== undefined && module !== "" && address !== BigInt(0);
      const place = inFile ? placeText(module, BigInt.asUintN(64, address - mapping.start + mapping.offset)) : placeText("", address);
      made.push(table.add({ name: place, module, nameless: true }));
    }
    framesOf.set(id, made.reverse());
    return made;
  };
  /* drop_frames, as google/pprof's Prune applies it: what a dropped frame calls goes with it, but for dropped frames
   * before the first other location. */
  const notes: string[] = [];
  const dropped = new Set<number>(); /* frames */
  try {
    const [goes, stays] = [wholePattern(text(drop)), wholePattern(text(keep))];
    raw.forEach(({ locations: ids }) => ids.forEach(frames));
    table.frames.forEach((frame, i) => {
      const name = withoutArguments(frame.name);
      if (!frame.nameless && goes?.matches(name) && !stays?.matches(name)) dropped.add(i);
    });
  } catch (e) {
    if ((e as Error).message === DAMAGED) throw e;
    dropped.clear();
    notes.push(`The pattern of the profile's drop_frames or keep_frames is not used: ${(e as Error).message}.`);
  }
  const isDropped = (frame: number): boolean => dropped.has(frame);
  const leftOf = new Map<Id, { frames: number[]; ends: boolean }>(); /* of a location */
  const left = (id: Id): { frames: number[]; ends: boolean } => {
    let found = leftOf.get(id);
    if (found === undefined) {
      const all = frames(id);
      const at = all.findIndex(isDropped);
      leftOf.set(id, (found = { frames: at > 0 ? all.slice(0, at) : all, ends: at >= 0 }));
    }
    return found;
  };
  const room = new Room(bytes.length);
  const samples: LocalSample[] = raw.map(({ locations: ids, values }) => {
    if (values.length !== types.length) throw new Error(DAMAGED);
    const stack: number[] = [];
    let begun = false;
    for (let i = ids.length - 1; i >= 0; i--) {
      const { frames: here, ends } = left(ids[i]);
      if (begun && ends && isDropped(here[0])) break;
      room.take(here.length);
      for (const frame of here) stack.push(frame);
      if (begun && ends) break;
      begun = begun || !ends;
    }
    return { stack, values };
  });
  const named = types.map(({ type, unit }) => ({ type: text(type), unit: text(unit) }));
  const found = named.findIndex(({ type }) => usual > 0 && type === text(usual));
  return { events: named, event: found >= 0 ? found : named.length - 1, frames: table.frames, samples, notes };
}
