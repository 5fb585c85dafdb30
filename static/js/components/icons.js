// Line icons, 20 units square, drawn in the text's colour; decoration only: the button around them has the words.
import { html } from "../../vendor/preact.js";

const PATHS = {
  plus: "M10 4v12M4 10h12",
  search: "M9 15A6 6 0 1 0 9 3a6 6 0 0 0 0 12ZM13.5 13.5 17 17",
  menu: "M3.5 6h13M3.5 10h13M3.5 14h13",
  sidebar: "M5 3.5h10A1.5 1.5 0 0 1 16.5 5v10a1.5 1.5 0 0 1-1.5 1.5H5A1.5 1.5 0 0 1 3.5 15V5A1.5 1.5 0 0 1 5 3.5ZM8 3.5v13",
  pencil: "M12.5 4.5l3 3L7 16H4v-3l8.500-8.500Z",
  dots: "M5 10h.01M10 10h.01M15 10h.01",
  trash: "M4 5.500h12M8 5.500V4h4v1.500M5.500 5.500 6.200 16h7.600l.7-10.500M8.500 8.500v5M11.500 8.500v5",
  send: "M10 16V4.500M5 9.500l5-5 5 5",
  stop: "M6 6h8v8H6Z",
  copy: "M8 7h7.500v9.500H8ZM12 7V3.500H4.500V13H8",
  check: "M4.500 10.500 8.500 14.500 15.500 6",
  retry: "M15.500 9A5.800 5.800 0 1 0 14 13.600M15.800 4.500V9h-4.500",
  down: "M10 4v11.500M5 10.500l5 5 5-5",
  chevron: "M6 8l4 4 4-4",
  left: "M12 5l-5 5 5 5",
  right: "M8 5l5 5-5 5",
  close: "M5 5l10 10M15 5 5 15",
  warning: "M10 3.500 17.500 16.500h-15ZM10 8.500v3.500M10 14.200v.1",
  person: "M10 9.800a3 3 0 1 0 0-6 3 3 0 0 0 0 6ZM4 16.500c.6-3 3-4.500 6-4.500s5.400 1.500 6 4.500",
  key: "M7 13.500a3.500 3.500 0 1 0 0-7 3.500 3.500 0 0 0 0 7ZM10.400 10H17v3M14 10v2.200",
  shield: "M10 3l6 2v4.500c0 3.600-2.400 6.300-6 7.500-3.600-1.200-6-3.900-6-7.500V5Z",
  keyboard: "M3 5.500h14v9H3ZM6 8.500h.01M9 8.500h.01M12 8.500h.01M14.500 8.500h.01M6.500 11.800h7",
  leave: "M8.500 3.500H4v13h4.500M12 6.500l3.500 3.500-3.500 3.500M15.500 10H8",
  theme: "M10 3.500v13M10 16.500a6.500 6.500 0 1 0 0-13 6.500 6.500 0 0 0 0 13ZM10 6.500c4 1 4 6 0 7",
  cloudOff: "M3.500 3.500l13 13M6.500 7A4.200 4.200 0 0 0 6 15h8M8.500 5.200A4.500 4.500 0 0 1 14.500 9c1.700.2 2.700 1.500 2.700 3 0 .8-.3 1.500-.8 2",
};

export function Icon({ name }) {
  return html`<svg class="icon" viewBox="0 0 20 20" aria-hidden="true" focusable="false"><path d=${PATHS[name]} /></svg>`;
}
