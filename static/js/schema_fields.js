// Fields for editing a call's arguments, made from the tool's JSON schema. Pure: schema and values in, fields and drafts out,
// and drafts back into arguments. What no field fits is edited as JSON.
import { t, tc } from "./i18n.js";

const LONG_CHARS = 80;
const LONG_NAMES = /^(body|text|content|code|message|description|instructions|html|markdown|query_text|notes?)$/i;
const LABELS = { to: () => tc("mail", "To"), cc: () => t("Cc"), bcc: () => t("Bcc"), url: () => "URL", id: () => "ID" };

// [{name, label, kind, required, nullable, help, options?}] in the schema's order; null if the schema describes no object.
// kind: text, long, number, integer, boolean, choice, list (of texts), json
export function fieldsOf(schema, values) {
  const whole = resolved(schema, schema);
  if (!whole?.properties) return null;
  const required = new Set(whole.required ?? []);
  return Object.entries(whole.properties).map(([name, described]) => {
    const { schema: one, nullable } = withoutNull(resolved(described, schema), schema);
    const field = { name, label: labelOf(name), required: required.has(name), nullable, help: one.description ?? described.description ?? "" };
    return { ...field, ...kindOf(one, schema, name, values?.[name]) };
  });
}

export function labelOf(name) {
  if (Object.hasOwn(LABELS, name)) return LABELS[name]();
  const words = name.replaceAll("_", " ").trim();
  return words ? words[0].toLocaleUpperCase() + words.slice(1) : name;
}

// A reference within the schema is followed; one that leads nowhere describes nothing.
function resolved(schema, root) {
  let found = schema;
  for (let steps = 0; found?.$ref && steps < 10; steps++) {
    const path = String(found.$ref).replace(/^#\//, "").split("/");
    found = path.reduce((at, name) => at?.[name], root);
  }
  return found ?? {};
}

function withoutNull(schema, root) {
  const options = schema.anyOf ?? schema.oneOf;
  if (Array.isArray(schema.type) && schema.type.includes("null")) {
    const types = schema.type.filter((type) => type !== "null");
    return { schema: { ...schema, type: types.length === 1 ? types[0] : types }, nullable: true };
  }
  if (!options) return { schema, nullable: false };
  const others = options.map((option) => resolved(option, root)).filter(({ type }) => type !== "null");
  const nullable = others.length < options.length;
  return { schema: others.length === 1 ? { ...schema, ...others[0] } : schema, nullable };
}

function kindOf(schema, root, name, value) {
  const options = schema.enum ?? (schema.const === undefined ? null : [schema.const]);
  if (options?.every((option) => typeof option === "string" || typeof option === "number")) return { kind: "choice", options };
  if (schema.type === "boolean") return { kind: "boolean" };
  if (schema.type === "integer" || schema.type === "number") return { kind: schema.type, min: schema.minimum, max: schema.maximum };
  if (schema.type === "array" && resolved(schema.items, root).type === "string" && !resolved(schema.items, root).enum) return { kind: "list" };
  if (schema.type !== "string") return { kind: "json" };
  const text = typeof value === "string" ? value : "";
  const long = LONG_NAMES.test(name) || text.length > LONG_CHARS || text.includes("\n") || (schema.maxLength ?? 0) > 500;
  return { kind: long ? "long" : "text" };
}

// What stands in the fields at first: {name: text | boolean | [texts]}. A value that its field cannot show makes it JSON.
export function draftsOf(fields, values) {
  return Object.fromEntries(fields.map(({ name, kind }) => [name, asDraft(kind, values?.[name])]));
}

function asDraft(kind, value) {
  if (kind === "list") return Array.isArray(value) ? value.map(String) : [];
  if (kind === "boolean") return Boolean(value);
  if (kind === "json") return value === undefined ? "" : JSON.stringify(value, null, 2);
  return value === null || value === undefined ? "" : String(value);
}

// {arguments, faults: {name: words}}. An empty field that was not there before stays away; what has no field goes back as it came.
export function argumentsOf(fields, drafts, original) {
  const found = { ...original };
  const faults = {};
  for (const field of fields) {
    const { name } = field;
    const read = valueOf(field, drafts[name]);
    if (read.fault) faults[name] = read.fault;
    else if (!isEmpty(read.value) || field.required || (name in (original ?? {}) && !field.nullable)) found[name] = read.value;
    else if (name in (original ?? {})) found[name] = null;
  }
  return { arguments: found, faults };
}

const isEmpty = (value) => value === "" || value === null || value === undefined || (Array.isArray(value) && !value.length);

function valueOf({ kind, label, options, nullable }, draft) {
  if (kind === "boolean" || kind === "list") return { value: draft };
  if (kind === "choice") return { value: options.find((option) => String(option) === draft) ?? (nullable ? null : draft) };
  if (kind === "json") return draft.trim() === "" ? { value: null } : readJson(draft);
  if (kind !== "number" && kind !== "integer") return { value: draft };
  if (draft.trim() === "") return nullable ? { value: null } : { fault: t("{label} needs a number.", { label }) };
  const number = Number(draft);
  if (!Number.isFinite(number)) return { fault: t("“{text}” is not a number.", { text: draft }) };
  if (kind === "integer" && !Number.isInteger(number)) return { fault: t("“{text}” is not a whole number.", { text: draft }) };
  return { value: number };
}

// {value} or {fault}
export function readJson(text) {
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    return { fault: t("This is not JSON: {why}", { why: error.message }) };
  }
}

// The server's refusals ({"edited_arguments.to.0": [words]}) by field; what belongs to none is under "".
export function faultsByField(fields, names) {
  const found = {};
  for (const [path, messages] of Object.entries(fields ?? {})) {
    const [whole, name] = path.split(".");
    const key = whole === "edited_arguments" && names.includes(name) ? name : "";
    found[key] = [...(found[key] ?? []), ...messages];
  }
  return found;
}
