// The REST API as functions. A refusal becomes an ApiError with the server's code and words.
import { t } from "./i18n.js";

export class ApiError extends Error {
  // `found`: the thing as it is meanwhile, where a conflict tells it.
  constructor({ status, code, message, fields = {}, found = null }) {
    super(message);
    this.status = status;
    this.code = code;
    this.fields = fields;
    this.found = found;
  }

  get isSignedOut() {
    return this.status === 401 || this.code === "not_authenticated";
  }
}

// As the server wrote it into a form of this page, which may be drawn anew later.
export const csrfToken = globalThis.document?.querySelector("input[name=csrfmiddlewaretoken]")?.value ?? "";

const unreachable = () => t("The server cannot be reached. Your text is kept; try again in a moment.");

// What the server said no with; `answer`: its body, null where that was no JSON.
export function refusalOf(status, answer) {
  const error = answer?.error ?? {};
  return new ApiError({
    status,
    code: error.code ?? "error",
    message: error.message ?? t("The server answered with status {status}. Try again in a moment.", { status }),
    fields: error.fields,
    found: error.request ?? null,
  });
}

export function createApi({ fetch = globalThis.fetch.bind(globalThis) } = {}) {
  async function call(method, url, body) {
    const headers = { Accept: "application/json" };
    if (method !== "GET") headers["X-CSRFToken"] = csrfToken;
    if (body !== undefined) headers["Content-Type"] = "application/json";
    let response;
    try {
      response = await fetch(url, { method, headers, body: JSON.stringify(body), credentials: "same-origin" });
    } catch {
      throw new ApiError({ status: 0, code: "unreachable", message: unreachable() });
    }
    if (response.status === 204) return null;
    const answer = await response.json().catch(() => null);
    if (response.ok) return answer;
    throw refusalOf(response.status, answer);
  }

  const ofDocument = (id) => `/api/v1/documents/${encodeURIComponent(id)}`;
  const ofFile = (url, kind) => url.replace("/files/", `/${kind}/`);
  const conversation = (id) => `/api/v1/conversations/${encodeURIComponent(id)}`;
  return {
    listConversations: (next = null) => call("GET", next ? sameOriginPath(next) : "/api/v1/conversations"),
    createConversation: (chosen = {}) => call("POST", "/api/v1/conversations", chosen),
    getConversation: (id) => call("GET", conversation(id)),
    renameConversation: (id, title) => call("PATCH", conversation(id), { title }),
    moveConversation: (id, projectId) => call("PATCH", conversation(id), { project_id: projectId }),
    pinConversation: (id, pinned) => call("PATCH", conversation(id), { pinned }),
    deleteConversation: (id) => call("DELETE", conversation(id)),
    // The newest, oldest of them first, or those before a message.
    listMessages: (id, { limit, before = null }) => call("GET", `${conversation(id)}/messages?limit=${limit}${before ? `&before=${encodeURIComponent(before)}` : ""}`),
    retryMessage: (id) => call("POST", `/api/v1/messages/${encodeURIComponent(id)}/retry`, {}),
    retryExecution: (id, agentId = null) => call("POST", `/api/v1/executions/${encodeURIComponent(id)}/retry`, agentId ? { agent_id: agentId } : {}),
    forkExecution: (id, agentId, step) => call("POST", `/api/v1/executions/${encodeURIComponent(id)}/fork`, { agent_id: agentId, step }),
    getAgent: (id) => call("GET", `/api/v1/agents/${encodeURIComponent(id)}`),
    getExecution: (id) => call("GET", `/api/v1/executions/${encodeURIComponent(id)}`),
    listShares: (id) => call("GET", `${conversation(id)}/share`),
    shareConversation: (id, chosen) => call("POST", `${conversation(id)}/share`, chosen),
    revokeShare: (id, shareId) => call("DELETE", `${conversation(id)}/share/${encodeURIComponent(shareId)}`),
    searchAll: (query, limit = 12) => call("GET", `/api/v1/search/all?q=${encodeURIComponent(query)}&limit=${limit}`),
    listAgents: () => call("GET", "/api/v1/agents"),
    // How a run went, page by page. Its tokens are not wanted: a server that knows `without` leaves them out.
    listEvents: (id, next = null) => call("GET", next ? sameOriginPath(next) : `/api/v1/executions/${encodeURIComponent(id)}/events?limit=5000&without=token`),
    listEventsAfter: (id, after) => call("GET", `/api/v1/executions/${encodeURIComponent(id)}/events?limit=500&after=${after}`),
    // All of it, in order: what a run that goes on has told so far.
    listAllEvents: (id, next = null) => call("GET", next ? sameOriginPath(next) : `/api/v1/executions/${encodeURIComponent(id)}/events?limit=5000`),
    firstEvents: (id) => call("GET", `/api/v1/executions/${encodeURIComponent(id)}/events?limit=200`),
    wholeResult: (id, seq) => call("GET", `/api/v1/executions/${encodeURIComponent(id)}/events/${seq}/result`),
    intervene: (agentId, change) => call("POST", `/api/v1/agents/${encodeURIComponent(agentId)}/intervene`, change),
    respond: (answer) => call("POST", "/api/v1/hitl/respond", answer),
    respondBulk: (answer) => call("POST", "/api/v1/hitl/respond/bulk", answer),
    getRequest: (id) => call("GET", `/api/v1/hitl/requests/${encodeURIComponent(id)}`),
    listRequests: (executionId, next = null) => call("GET", next ? sameOriginPath(next) : `/api/v1/hitl/requests?mine=all&execution=${encodeURIComponent(executionId)}`),
    previewRule: (asked) => call("POST", "/api/v1/hitl/rules/preview", asked),
    steerExecution: (id, words) => call("POST", `/api/v1/executions/${encodeURIComponent(id)}/steer`, words),
    listProjectConversations: (id, next = null) => call("GET", next ? sameOriginPath(next) : `/api/v1/projects/${encodeURIComponent(id)}/conversations`),
    addProjectDocuments: (id, documentIds) => call("POST", `/api/v1/projects/${encodeURIComponent(id)}/documents`, { document_ids: documentIds }),
    changeDocument: (id, change) => call("PATCH", ofDocument(id), change),
    deleteDocument: (id) => call("DELETE", ofDocument(id)),
    cancelDocument: (id) => call("POST", `${ofDocument(id)}/cancel`, {}),
    readDocumentAgain: (id) => call("POST", `${ofDocument(id)}/again`, {}),
    // `url`: a file's own, as the server gave it.
    deleteFile: (url) => call("DELETE", url),
    restoreFile: (url, version) => call("POST", ofFile(url, "file-versions"), { version }),
    moveFile: (url, to) => call("POST", ofFile(url, "file-moves"), { to }),
    search: (wanted) => call("POST", "/api/v1/search", wanted),
    cancelExecution: (id) => call("POST", `/api/v1/executions/${encodeURIComponent(id)}/cancel`, {}),
  };
}

export const api = createApi();

// A cursor link names the host as the server sees it, which behind a proxy may not be ours: keep path and query.
function sameOriginPath(url) {
  const { pathname, search } = new URL(url, location.origin);
  return pathname + search;
}
