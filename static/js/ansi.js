// What a terminal would show of a program's output: colours as names of classes, everything else that steers a terminal taken out.

// Sequences that begin with ESC (or C1), and single control signs but tab and new line.
const STEERING = /(?:\u001b\[|\u009b)([0-9;:?<=>]*)[ -/]*([@-~])|\u001b[\]PX^_][^\u0007\u001b\u009c]*(?:\u0007|\u001b\\|\u009c|$)|\u001b[ -/]*[0-~]?|[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

const COLOURS = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];

export const plain = (text) => overwritten(text).replace(STEERING, "");

// [{text, classes}]: runs of text that look alike.
export function coloured(text) {
  const source = overwritten(text);
  const runs = [];
  let look = { bold: false, dim: false, colour: null };
  let from = 0;
  const push = (end) => {
    if (end > from) runs.push({ text: source.slice(from, end), classes: classesOf(look) });
  };
  for (const match of source.matchAll(STEERING)) {
    push(match.index);
    from = match.index + match[0].length;
    if (match[2] === "m") look = looking(look, match[1]);
  }
  push(source.length);
  return runs;
}

function classesOf({ bold, dim, colour }) {
  return [bold && "ansi-bold", dim && "ansi-dim", colour && `ansi-${colour}`].filter(Boolean).join(" ");
}

function looking(before, codes) {
  let look = before;
  const numbers = codes.split(/[;:]/).map(Number);
  for (let at = 0; at < numbers.length; at += 1) {
    const code = numbers[at];
    if (code === 0) look = { bold: false, dim: false, colour: null };
    else if (code === 1) look = { ...look, bold: true };
    else if (code === 2) look = { ...look, dim: true };
    else if (code === 22) look = { ...look, bold: false, dim: false };
    else if (code >= 30 && code <= 37) look = { ...look, colour: COLOURS[code - 30] };
    else if (code >= 90 && code <= 97) look = { ...look, colour: COLOURS[code - 90] };
    else if (code === 39) look = { ...look, colour: null };
    else if (code === 38 || code === 48) at += numbers[at + 1] === 5 ? 2 : 4; // of 256 or of all colours: none of ours
  }
  return look;
}

// A bar of progress writes over its own line: what it wrote last is what can be seen.
function overwritten(text) {
  if (!text.includes("\r")) return text;
  return text.split("\n").map((line) => {
    const kept = line.endsWith("\r") ? line.slice(0, -1) : line;
    return kept.slice(kept.lastIndexOf("\r") + 1);
  }).join("\n");
}
