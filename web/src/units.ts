/* units.ts: numbers as people read them, in the words of pitot's own reports (src/base/units.h, the short
 * style): three digits, "1.23s", "45.6ms", "1.50kB", "1,234,567". */

interface Step {
  size: number;
  name: string;
}

const TIME: Step[] = [
  { size: 3600e9, name: "h" },
  { size: 60e9, name: "min" },
  { size: 1e9, name: "s" },
  { size: 1e6, name: "ms" },
  { size: 1e3, name: "us" },
  { size: 1, name: "ns" },
];
const BYTES: Step[] = ["PB", "TB", "GB", "MB", "kB", "B"].map((name, i) => ({ size: 1024 ** (5 - i), name }));

/* Names of units, in lower case without a plural s: how many of the family's smallest they are. */
const KNOWN = new Map<string, [number, Step[]]>(Object.entries({
  ns: [1, TIME],
  nanosecond: [1, TIME],
  us: [1e3, TIME],
  microsecond: [1e3, TIME],
  ms: [1e6, TIME],
  millisecond: [1e6, TIME],
  s: [1e9, TIME],
  sec: [1e9, TIME],
  second: [1e9, TIME],
  b: [1, BYTES],
  byte: [1, BYTES],
  kb: [1024, BYTES],
  kilobyte: [1024, BYTES],
  mb: [1024 ** 2, BYTES],
  megabyte: [1024 ** 2, BYTES],
}));

/* 1234567 -> "1,234,567" */
export function grouped(value: number): string {
  return value.toFixed(0).replace(/\B(?=(\d{3})+$)/g, ",");
}

function threeDigits(value: number): string {
  const size = Math.abs(value);
  return size < 9.995 ? value.toFixed(2) : size < 99.95 ? value.toFixed(1) : grouped(value);
}

/* A value of the event in the step of its unit that suits its size; a plain count for other units. */
export function amount(value: number, unit: string): string {
  const name = unit.toLowerCase();
  const known = KNOWN.get(name.length > 2 ? name.replace(/s$/, "") : name);
  if (value === 0) return "0";
  if (known === undefined) return grouped(value);
  const scaled = value * known[0];
  const steps = known[1];
  const step = steps.find((s) => Math.abs(scaled) >= s.size) || steps[steps.length - 1];
  return (step.name === "B" ? grouped(scaled) : threeDigits(scaled / step.size)) + step.name;
}

/* With its sign: "+1.20s", "-3". */
export function signed(value: number, unit: string): string {
  return (value > 0 ? "+" : "") + amount(value, unit);
}

/* The change of a value with its part of what it was: "+200 (+66.7%)". */
export function changed(before: number, after: number, unit: string): string {
  const part = (after - before) / before;
  const share = before === 0 ? "new" : after === 0 ? "gone" : `${part > 0 ? "+" : "-"}${percent(Math.abs(part), 1)}`;
  return after === before ? "no change" : `${signed(after - before, unit)}, ${share}`;
}

export function percent(part: number, whole: number): string {
  if (!(whole > 0)) return "0%";
  if (part < 0) return `-${percent(-part, whole)}`;
  const share = (100 * part) / whole;
  if (share === 0) return "0%";
  if (share < 0.01) return "<0.01%";
  return `${share.toFixed(share < 0.1 ? 2 : 1)}%`;
}
