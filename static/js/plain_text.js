// Text of strangers as it is: what is written to deceive (marks that turn the direction of writing, signs without width) is
// shown by name, so that an address or a command reads as the machine reads it. Pure.

// Directional marks, signs without width, soft hyphen, fillers that look like nothing, tags, and control characters but tab and line ends.
const HIDDEN = /[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F\u00AD\u034F\u061C\u115F\u1160\u17B4\u17B5\u180B-\u180E\u200B\u200E\u200F\u2028-\u202E\u2060-\u206F\u3164\uFEFF\uFFA0\uFFF9-\uFFFB\u{E0000}-\u{E0FFF}]/gu;

export const revealed = (text) => String(text).replace(HIDDEN, (sign) => `⟨U+${sign.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);

export const hasHidden = (text) => String(text).search(HIDDEN) >= 0;

// A value of an argument as text: lists of plain values on a line, what is deeper as JSON.
export function asText(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "string") return value;
  if (Array.isArray(value) && value.every((item) => typeof item !== "object")) return value.join(", ");
  return typeof value === "object" ? JSON.stringify(value, null, 2) : String(value);
}
