// What was typed but not sent, and what was sent but not confirmed, kept in localStorage for each conversation.

const PREFIX = "hyperagent.";
const NEW = "new";

function read(key, otherwise) {
  try {
    return JSON.parse(localStorage.getItem(PREFIX + key)) ?? otherwise;
  } catch {
    return otherwise; // storage is blocked or holds nonsense: go on without
  }
}

function write(key, value) {
  try {
    if (value === null) localStorage.removeItem(PREFIX + key);
    else localStorage.setItem(PREFIX + key, JSON.stringify(value));
  } catch {
    // Storage is full or blocked: the text is still in the box.
  }
}

export const readDraft = (userId, conversationId) => String(read(`draft.${userId}.${conversationId ?? NEW}`, ""));
export const writeDraft = (userId, conversationId, text) => write(`draft.${userId}.${conversationId ?? NEW}`, text || null);

// `changed(text)` when another tab wrote this draft. Gives a function that ends it.
export function onDraft(userId, conversationId, changed) {
  const key = `${PREFIX}draft.${userId}.${conversationId ?? NEW}`;
  const listen = (event) => event.key === key && changed(readDraft(userId, conversationId));
  addEventListener("storage", listen);
  return () => removeEventListener("storage", listen);
}

// A question that is being changed; empty: none is.
export const readEdit = (userId, messageId) => String(read(`edit.${userId}.${messageId}`, ""));
export const writeEdit = (userId, messageId, text) => write(`edit.${userId}.${messageId}`, text || null);

// What is typed or changed in the card of a request that waits. `field`: of the card.
export const readWords = (requestId, field, otherwise) => read(`words.${requestId}`, {})[field] ?? otherwise;
export const writeWords = (requestId, field, typed) => write(`words.${requestId}`, { ...read(`words.${requestId}`, {}), [field]: typed });
export const forgetWords = (requestId) => write(`words.${requestId}`, null);

// [{client_id, text, mode, options?, attachments?, place?, held?}]
export const readOutbox = (userId, conversationId) => read(`outbox.${userId}.${conversationId}`, []);
export const writeOutbox = (userId, conversationId, items) =>
  write(`outbox.${userId}.${conversationId}`, items.length ? items.map(({ error, ...kept }) => kept) : null);

// `changed()` when another tab wrote this outbox. Gives a function that ends it.
export function onOutbox(userId, conversationId, changed) {
  const listen = ({ key }) => key === `${PREFIX}outbox.${userId}.${conversationId}` && changed();
  addEventListener("storage", listen);
  return () => removeEventListener("storage", listen);
}

export const readMode = () => read("mode", null);
export const writeMode = (mode) => write("mode", mode);

// What is chosen besides the mode: depth and scenario of research, whether a plan is looked over before it runs.
export const readChoices = () => ({ depth: "standard", scenario: "", showPlan: false, ...read("choices", {}) });
export const writeChoices = (choices) => write("choices", choices);
