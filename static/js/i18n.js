/* The page's words in its reader's language. The English text is the key; what the catalogue does not hold is shown as it is.
 *
 * How it comes here: `make messages` collects every `t("…")`, `tn("…", "…", …)` and `tc("…", "…")` of the modules into
 * locale/<language>/LC_MESSAGES/djangojs.po and compiles that into static/js/catalogue/<language>.js: one classic script
 * that sets `globalThis.hyperagentMessages` and nothing else. templates/base.html names it with `defer` before the modules,
 * so it has run when they do and the page is never English first; for English nothing is loaded. In node, and where a page
 * has no catalogue, the text is itself.
 *
 * The first argument is always a literal in double quotes, or nothing finds it. A sentence stays whole: what changes in it
 * is a `{name}` placeholder, because other languages put it elsewhere.
 */

const catalogue = globalThis.hyperagentMessages ?? { language: "en", plural: (n) => Number(n !== 1), messages: {} };
const words = translator(catalogue);

/** The text in the page's language, its placeholders filled: `t("Delete {name}?", { name })`. */
export const t = words.t;
/** The form for `count`, which is also a placeholder: `tn("{count} task", "{count} tasks", count)`. */
export const tn = words.tn;
/** A word that English uses for two things: `tc("state", "Open")` is not `t("Open")`. */
export const tc = words.tc;
/** As `t`, for placeholders that are elements: a list of texts and values, for a template to show. */
export const parts = words.parts;

/** What the page speaks, for Intl. */
export const language = globalThis.document?.documentElement?.lang || catalogue.language;

const BETWEEN = "\u0004"; // gettext's own mark between a context and its text

/** The functions over one catalogue `{ language, plural, messages }`; a message is a text or a list of plural forms. */
export function translator({ language: of, plural, messages }) {
  const number = new Intl.NumberFormat(of);
  const singular = (key, otherwise) => {
    const found = Object.hasOwn(messages, key) ? messages[key] : otherwise;
    return Array.isArray(found) ? found[0] : found;
  };
  const t = (text, values) => filled(singular(text, text), values);
  const tc = (context, text, values) => filled(singular(context + BETWEEN + text, text), values);
  const tn = (one, many, count, values) => {
    const found = Object.hasOwn(messages, one) ? messages[one] : null;
    const form = Array.isArray(found) ? found[plural(count)] ?? found.at(-1) : count === 1 ? one : many;
    return filled(form, { count: number.format(count), ...values });
  };
  const parts = (text, values) =>
    singular(text, text)
      .split(/(\{\w+\})/)
      .filter((part) => part !== "")
      .map((part) => named(part, values));
  return { t, tn, tc, parts };
}

function filled(text, values) {
  return values ? text.replace(/\{\w+\}/g, (part) => String(named(part, values))) : text;
}

/** What a placeholder stands for; one that nobody fills stays as it is, to be seen. */
function named(part, values) {
  const name = /^\{(\w+)\}$/.exec(part)?.[1];
  return name !== undefined && Object.hasOwn(values ?? {}, name) ? values[name] : part;
}
