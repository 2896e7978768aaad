/* units.ts: numbers as people read them. */

interface Step {
  size: number;
  name: string;
}

const TIME: Step[] = [
  { size: 3600e9, name: "h" },
  { size: 60e9, name: "min" },
  { size: 1e9, name: "s" },
  { size: 1e6, name: "ms" },
  { size: 1e3, name: "µs" },
  { size: 1, name: "ns" },
];
const BYTES: Step[] = [
  { size: 2 ** 40, name: "TiB" },
  { size: 2 ** 30, name: "GiB" },
  { size: 2 ** 20, name: "MiB" },
  { size: 2 ** 10, name: "KiB" },
  { size: 1, name: "B" },
];
const TO_NS: Record<string, number> = {
  nanoseconds: 1,
  ns: 1,
  microseconds: 1e3,
  us: 1e3,
  milliseconds: 1e6,
  ms: 1e6,
  seconds: 1e9,
  s: 1e9,
};

function digits(value: number): string {
  const size = Math.abs(value);
  return value.toFixed(size >= 100 || size === Math.floor(size) ? 0 : size >= 10 ? 1 : 2);
}

function scaled(value: number, steps: Step[]): string {
  const size = Math.abs(value);
  const step = steps.find((s) => size >= s.size) || steps[steps.length - 1];
  return `${digits(value / step.size)} ${step.name}`;
}

/* 1234567 -> "1 234 567", with thin spaces. */
function grouped(value: number): string {
  return String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, "\u2009");
}

/* A value of the event in the unit that suits its size: "1.23 s", "4.5 MiB", "12 345 samples". */
export function amount(value: number, unit: string): string {
  if (unit in TO_NS) return value === 0 ? "0" : scaled(value * TO_NS[unit], TIME);
  if (unit === "bytes") return scaled(value, BYTES);
  const name = unit === "count" || unit === "" ? "" : ` ${unit}`;
  return grouped(value) + name;
}

export function percent(part: number, whole: number): string {
  if (!(whole > 0)) return "0%";
  const share = (100 * part) / whole;
  if (share === 0) return "0%";
  if (share < 0.01) return "<0.01%";
  return `${share.toFixed(share >= 99.95 ? 0 : share >= 10 ? 1 : 2)}%`;
}
