/* palette.ts: the colours of boxes, made so that every one of them carries its text legibly.
 *
 * A box is coloured by its package or module: one of HUES hues around the OKLCH circle at one lightness, so
 * that no hue shouts and the contrast with the text is the same for all (the shades of a hue move it little). The kernel is nearly grey,
 * what has no name is grey, an inlined function is its package's colour, fainter.
 */

export const HUES = 24;
export const SHADES = 3; /* functions of one package differ a little */

export type Variant = "function" | "inlined" | "kernel" | "unresolved";

export const VARIANTS: Variant[] = ["function", "inlined", "kernel", "unresolved"]; /* by Kind */

/* OKLCH to sRGB, after Björn Ottosson's definition of OKLab; clipped to the gamut. */
function oklch(lightness: number, chroma: number, hueDegrees: number): string {
  const hue = (hueDegrees * Math.PI) / 180;
  const a = chroma * Math.cos(hue);
  const b = chroma * Math.sin(hue);
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const linear = [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ];
  const hex = linear.map((c) => {
    const v = c <= 0.0031308 ? 12.92 * c : 1.055 * c ** (1 / 2.4) - 0.055;
    return Math.round(Math.min(1, Math.max(0, v)) * 255)
      .toString(16)
      .padStart(2, "0");
  });
  return `#${hex.join("")}`;
}

/* The fill of a box. Text on it is TEXT[theme]. */
export function boxColour(dark: boolean, variant: Variant, hue: number, shade: number): string {
  const angle = 20 + (hue * 360) / HUES;
  const step = (shade - 1) * (dark ? 0.035 : 0.03);
  switch (variant) {
    case "function":
      return dark ? oklch(0.44 + step, 0.085, angle) : oklch(0.84 + step, 0.085, angle);
    case "inlined":
      return dark ? oklch(0.34 + step / 2, 0.05, angle) : oklch(0.92 + step / 2, 0.045, angle);
    case "kernel":
      return dark ? oklch(0.42 + step, 0.02, 250) : oklch(0.79 + step, 0.02, 250);
    case "unresolved":
      return dark ? oklch(0.33, 0, 0) : oklch(0.9, 0, 0);
  }
}

export const CHANGE_STEPS = 8; /* each way; a class each in pictures (src/render/flame_svg.c) */

/* The fill of a box of a difference: -1 the largest decrease (green), 1 the largest increase (red). The square root
 * shows small changes, too. */
export function changeColour(dark: boolean, change: number): string {
  const much = Math.sqrt(Math.min(1, Math.abs(change)));
  const angle = change > 0 ? 25 : 150;
  return dark ? oklch(0.34 + 0.1 * much, 0.15 * much, angle) : oklch(0.93 - 0.17 * much, 0.15 * much, angle);
}

export const TEXT = { light: "#16181d", dark: "#f2f3f5" };
