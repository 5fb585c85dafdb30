// Where a source of an answer is, and how it is called. Names and excerpts are strangers' texts: they become text nodes only. Pure.
import { t } from "./i18n.js";
import { revealed } from "./plain_text.js";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

// {href, isOwn}: a document of this installation at its passage or page, or a web page; null for what cannot be opened.
export function targetOf(source) {
  if (UUID.test(source.document_id ?? "")) {
    const place = UUID.test(source.chunk_id ?? "") ? `?chunk=${source.chunk_id}` : source.page ? `?page=${source.page}` : "";
    return { href: `/documents/${source.document_id}/${place}`, isOwn: true };
  }
  const url = webAddress(source.url);
  return url ? { href: url.href, isOwn: false } : null;
}

// Where in the source: host, page, section.
export function placeOf(source) {
  const host = webAddress(source.url)?.host;
  return [host, source.page && t("page {number}", { number: source.page }), source.section && revealed(source.section)].filter(Boolean).join(" · ");
}

export function nameOf(source) {
  return revealed(source.source ?? "") || t("Source");
}

function webAddress(url) {
  return /^https?:\/\//i.test(url ?? "") && URL.canParse(url) ? new URL(url) : null;
}
