// What an OpenAPI description says, in lines to read: its operations by group, the shape of what goes in and comes out, and
// a command to try each. Pure.

const METHODS = ["get", "post", "put", "patch", "delete"];
const DEEPEST = 6; // levels of a shape that are written out

// [{name, operations: [{id, method, path, summary, description, parameters, body, answers, errors, isOpen}]}], by name.
export function groupsOf(description) {
  const groups = new Map();
  for (const [path, methods] of Object.entries(description.paths)) {
    for (const method of METHODS.filter((name) => methods[name])) {
      const name = path.startsWith("/v1/") ? "openai" : (path.split("/")[3] ?? "");
      groups.set(name, [...(groups.get(name) ?? []), operationOf(path, method, methods[method])]);
    }
  }
  return [...groups].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, operations]) => ({ name, operations }));
}

function operationOf(path, method, said) {
  const description = withoutChoices(said.description ?? "");
  const answers = Object.entries(said.responses).map(([status, { description: words, content }]) => ({ status, words: words ?? "", ...contentOf(content) }));
  return {
    id: said.operationId,
    method: method.toUpperCase(),
    path,
    summary: description.split(/\n|(?<=\.)\s/, 1)[0],
    description,
    parameters: (said.parameters ?? []).map((one) => ({ ...one, description: withoutChoices(one.description ?? "") })),
    body: contentOf(said.requestBody?.content),
    answers: answers.filter(({ status }) => status < "400"),
    errors: answers.filter(({ status }) => status >= "400"),
    isOpen: (said.security ?? []).some((door) => !Object.keys(door).length), // nobody needs to be signed in
  };
}

// The choices of a value stand in its shape; the description repeats them as a list.
const withoutChoices = (text) => text.replace(/\n*^\* `[^`]*` - .*$/gm, "").trim();

function contentOf(content) {
  const [type = null, { schema = null } = {}] = Object.entries(content ?? {})[0] ?? [];
  return { type, schema };
}

// A schema as a type is written: `{ name: string, … }`. `schemas`: those that others name.
export function shapeOf(schema, schemas, level = 0, within = []) {
  if (!schema || !Object.keys(schema).length) return "any";
  if (schema.$ref) {
    const name = schema.$ref.split("/").at(-1);
    return within.includes(name) || level > DEEPEST ? name : shapeOf(schemas[name], schemas, level, [...within, name]);
  }
  const shape = plainShape(schema, schemas, level, within);
  return schema.nullable && !shape.endsWith("null") ? `${shape} | null` : shape;
}

function plainShape(schema, schemas, level, within) {
  const either = schema.oneOf ?? schema.anyOf;
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  if (either) return [...new Set(either.map((one) => shapeOf(one, schemas, level, within)))].join(" | ");
  if (schema.allOf) return schema.allOf.map((one) => shapeOf(one, schemas, level, within)).join(" & ");
  if (schema.type === "array") {
    const inside = shapeOf(schema.items, schemas, level, within);
    return / [|&] /.test(inside.replace(/\{[^]*\}/, "")) ? `(${inside})[]` : `${inside}[]`;
  }
  if (schema.properties) return fieldsOf(schema, schemas, level, within);
  if (schema.type === "object") return `{ [name]: ${typeof schema.additionalProperties === "object" ? shapeOf(schema.additionalProperties, schemas, level, within) : "any"} }`;
  return schema.type === "string" && schema.format ? schema.format : String(schema.type ?? "any");
}

function fieldsOf(schema, schemas, level, within) {
  const margin = "  ".repeat(level + 1);
  const lines = Object.entries(schema.properties).map(([name, value]) => {
    const note = withoutChoices(value.description ?? "").replace(/\s+/g, " ");
    const optional = schema.required?.includes(name) ? "" : "?";
    return `${note && `${margin}// ${note}\n`}${margin}${name}${optional}: ${shapeOf(value, schemas, level + 1, within)}`;
  });
  return `{\n${lines.join("\n")}\n${"  ".repeat(level)}}`;
}

// What is sent at least, to be changed by who tries it.
export function exampleOf(schema, schemas, within = []) {
  if (!schema) return null;
  if (schema.$ref) {
    const name = schema.$ref.split("/").at(-1);
    return within.includes(name) ? null : exampleOf(schemas[name], schemas, [...within, name]);
  }
  if (schema.example !== undefined) return schema.example;
  if (schema.default !== undefined) return schema.default;
  if (schema.enum) return schema.enum[0];
  const other = schema.oneOf ?? schema.anyOf ?? schema.allOf;
  if (other) return exampleOf(other[0], schemas, within);
  if (schema.type === "array") return schema.minItems ? [exampleOf(schema.items, schemas, within)] : [];
  if (schema.properties) {
    const names = Object.keys(schema.properties).filter((name) => schema.required?.includes(name) && !schema.properties[name].readOnly);
    return Object.fromEntries(names.map((name) => [name, exampleOf(schema.properties[name], schemas, within)]));
  }
  return { string: "…", integer: 1, number: 1, boolean: true, object: {} }[schema.type] ?? null;
}

const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

// A line for a shell. The token is read from where it is kept, so that none stands in a history.
export function curlOf({ method, path, parameters, body, isOpen }, schemas, origin) {
  const needed = parameters.filter(({ in: where, required }) => where === "query" && required).map(({ name }) => `${name}=…`);
  const words = ["curl"];
  if (method !== "GET") words.push(`-X ${method}`);
  words.push(quoted(`${origin}${path}${needed.length ? `?${needed.join("&")}` : ""}`));
  if (!isOpen) words.push('-H "Authorization: Bearer $HYPERAGENT_TOKEN"');
  if (body.type === "multipart/form-data") words.push("-F file=@…");
  else if (body.type) words.push(`-H ${quoted(`Content-Type: ${body.type}`)}`, `-d ${quoted(JSON.stringify(exampleOf(body.schema, schemas) ?? {}))}`);
  return words.join(" \\\n  ");
}
