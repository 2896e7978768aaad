/* profile.ts: a profile that the page reads itself, and the readers of formats that need no symbols: profile.proto,
 * folded stacks, speedscope's JSON and V8's .cpuprofile. */

import { readProto } from "./proto";

export interface LocalFrame {
  name: string;
  file: string;
  line: number; /* 0: unknown */
  module: string;
  inlined: boolean; /* into the frame that calls it */
  nameless: boolean; /* the name is an address */
}

export interface LocalSample {
  stack: number[]; /* frames, the root first */
  values: number[]; /* one an event */
}

export interface LocalProfile {
  events: { type: string; unit: string }[];
  event: number; /* shown first */
  frames: LocalFrame[];
  samples: LocalSample[];
  notes?: string[]; /* sentences about how it was read */
}

export const UNKNOWN = "This is no profile that the page can read by itself: it reads profile.proto, folded stacks, speedscope's JSON and .cpuprofile. pitot serve opens the others.";

/* Frames by what they are: each once. */
export class FrameTable {
  readonly frames: LocalFrame[] = [];
  private known = new Map<string, number>();

  add(frame: Partial<LocalFrame> & { name: string }): number {
    const whole: LocalFrame = { file: "", line: 0, module: "", inlined: false, nameless: false, ...frame };
    whole.name = String(whole.name); /* a file may hold anything there */
    whole.file = String(whole.file);
    const key = `${whole.name}\0${whole.file}\0${whole.line}\0${whole.module}\0${whole.inlined}`;
    const found = this.known.get(key);
    if (found !== undefined) return found;
    this.known.set(key, this.frames.length);
    return this.frames.push(whole) - 1;
  }
}

const FRAMES_A_BYTE = 32;
const FRAMES_LEAST = 1 << 16;
const FRAMES_MOST = 1 << 24;

/* How many frames the stacks of a file may have together: a stack is short in a file that holds a tree, and may be long. */
export class Room {
  private left: number;

  constructor(fileBytes: number) {
    this.left = Math.min(FRAMES_MOST, FRAMES_LEAST + fileBytes * FRAMES_A_BYTE);
  }

  take(frames: number): void {
    this.left -= frames;
    if (this.left < 0) throw new Error("its stacks have too many frames for the page. pitot serve opens it.");
  }
}

/* ---- Folded stacks: "main;parse;read 300" ---- */

function readFolded(text: string): LocalProfile | null {
  const table = new FrameTable();
  const samples: LocalSample[] = [];
  for (const line of text.split("\n")) {
    if (line.trim() === "" || line.startsWith("#")) continue;
    const found = line.match(/^(.*\S)\s+(\d+(?:\.\d+)?)\s*$/);
    if (found === null) return null;
    samples.push({ stack: found[1].split(";").map((name) => table.add({ name })), values: [Number(found[2])] });
  }
  return samples.length === 0 ? null : { events: [{ type: "samples", unit: "count" }], event: 0, frames: table.frames, samples };
}

/* ---- speedscope: https://www.speedscope.app/file-format-schema.json ---- */

interface Speedscope {
  shared: { frames: { name: string; file?: string; line?: number }[] };
  profiles: {
    type: string;
    unit: string;
    startValue: number;
    endValue: number;
    samples?: number[][];
    weights?: number[];
    events?: { type: "O" | "C"; frame: number; at: number }[];
  }[];
}

const NANOSECONDS: Record<string, number> = { nanoseconds: 1, microseconds: 1e3, milliseconds: 1e6, seconds: 1e9 };

/* Values of a unit of speedscope's in one of ours. */
function unitOf(unit: string): { unit: string; scale: number } {
  if (unit in NANOSECONDS) return { unit: "nanoseconds", scale: NANOSECONDS[unit] };
  return { unit: unit === "bytes" ? "bytes" : "count", scale: 1 };
}

function readEvented(profile: Speedscope["profiles"][0], room: Room, add: (stack: number[], value: number) => void): void {
  const open: number[] = [];
  let last = profile.startValue;
  for (const event of profile.events || []) {
    if (event.at > last && open.length > 0) {
      room.take(open.length);
      add(open, event.at - last);
    }
    last = Math.max(last, event.at);
    if (event.type === "O") open.push(event.frame);
    else if (open.pop() !== event.frame) throw new Error("An event closes a frame that is not the innermost one.");
  }
}

/* All threads together; the unit of the first decides which. */
function readSpeedscope(data: Speedscope, room: Room): LocalProfile {
  const table = new FrameTable();
  const frames = data.shared.frames.map(({ name, file, line }) => table.add({ name, file: file || "", line: line || 0 }));
  const first = data.profiles[0];
  const { unit, scale } = unitOf(first ? first.unit : "none");
  const samples: LocalSample[] = [];
  const add = (stack: number[], value: number): void => {
    const known = stack.map((f) => frames[f]);
    if (known.includes(undefined as unknown as number)) throw new Error("A stack names a frame that the file does not hold.");
    samples.push({ stack: known, values: [Math.round(value * scale)] });
  };
  for (const profile of data.profiles.filter((p) => p.unit === first.unit)) {
    if (profile.type === "evented") readEvented(profile, room, add);
    else (profile.samples || []).forEach((stack, i) => add(stack, profile.weights ? profile.weights[i] : 1));
  }
  return { events: [{ type: unit === "nanoseconds" ? "time" : "samples", unit }], event: 0, frames: table.frames, samples };
}

/* ---- V8: https://chromedevtools.github.io/devtools-protocol/tot/Profiler/#type-Profile ---- */

interface CpuProfile {
  nodes: {
    id: number;
    parent?: number;
    children?: number[];
    hitCount?: number;
    callFrame: { functionName: string; url: string; lineNumber: number };
  }[];
  samples?: number[];
  timeDeltas?: number[]; /* microseconds since the sample before */
}

function readCpuProfile(data: CpuProfile, room: Room): LocalProfile {
  const table = new FrameTable();
  const parent = new Map<number, number>();
  for (const node of data.nodes) {
    if (node.parent !== undefined) parent.set(node.id, node.parent);
    for (const child of node.children || []) parent.set(child, node.id);
  }
  const frame = new Map(
    data.nodes.map(({ id, callFrame }) => [
      id,
      table.add({ name: callFrame.functionName || "(anonymous)", file: callFrame.url, line: callFrame.lineNumber + 1 }),
    ])
  );
  const sums = new Map<number, [number, number]>();
  const count = (node: number, hits: number, ns: number): void => {
    const sum = sums.get(node) || [0, 0];
    sums.set(node, [sum[0] + hits, sum[1] + ns]);
  };
  const { samples, timeDeltas } = data;
  /* A sample lasts until the next one. */
  if (samples && timeDeltas) samples.forEach((node, i) => count(node, 1, (timeDeltas[i + 1] || 0) * 1e3));
  else data.nodes.forEach((node) => count(node.id, node.hitCount || 0, 0));
  const rows: LocalSample[] = [];
  for (const [id, values] of sums) {
    const stack: number[] = [];
    let steps = 0; /* parents may form a circle */
    for (let at: number | undefined = id; at !== undefined && steps++ < data.nodes.length; at = parent.get(at)) {
      const known = frame.get(at);
      if (known === undefined) throw new Error("A sample names a node that the file does not hold.");
      if (table.frames[known].name !== "(root)") stack.push(known);
    }
    room.take(steps);
    if (stack.length > 0 && (values[0] > 0 || values[1] !== 0)) rows.push({ stack: stack.reverse(), values });
  }
  const timed = samples !== undefined && timeDeltas !== undefined;
  return {
    events: [{ type: "samples", unit: "count" }, ...(timed ? [{ type: "time", unit: "nanoseconds" }] : [])],
    event: timed ? 1 : 0,
    frames: table.frames,
    samples: timed ? rows : rows.map(({ stack, values }) => ({ stack, values: [values[0]] })),
  };
}

/* ---- Any of them ---- */

/* Not among the types of this TypeScript: https://compression.spec.whatwg.org */
declare class DecompressionStream {
  constructor(format: "gzip");
  readonly readable: ReadableStream<Uint8Array>;
  readonly writable: WritableStream<Uint8Array>;
}

const MOST_BYTES = 1 << 30; /* after decompression */

async function inflated(bytes: Uint8Array): Promise<Uint8Array> {
  if (typeof DecompressionStream === "undefined") throw new Error("This browser cannot decompress files.");
  const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")).getReader();
  const parts: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    parts.push(value);
    size += value.length;
    if (size > MOST_BYTES) throw new Error("The file is larger than a gibibyte when it is decompressed.");
  }
  const all = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/* Throws an Error that a person can read. */
export async function readProfile(file: Blob): Promise<LocalProfile> {
  let bytes: Uint8Array = new Uint8Array(await file.arrayBuffer());
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) {
    bytes = await inflated(bytes).catch((e) => {
      throw e instanceof Error && e.message.endsWith(".") ? e : new Error("The compressed file is damaged.");
    });
  }
  const start = new TextDecoder().decode(bytes.subarray(0, 64)).trimStart();
  if (start.startsWith("{")) {
    const data = JSON.parse(new TextDecoder().decode(bytes));
    if (data.shared && Array.isArray(data.shared.frames) && Array.isArray(data.profiles)) return readSpeedscope(data, new Room(bytes.length));
    if (Array.isArray(data.nodes)) return readCpuProfile(data, new Room(bytes.length));
    throw new Error(UNKNOWN);
  }
  const made = bytes[0] === 0x0a ? readProto(bytes) : readFolded(new TextDecoder().decode(bytes));
  if (made === null || made.samples.length === 0) throw new Error(UNKNOWN);
  return made;
}
