// What the server says of requests to people, by id, as a signal. The events of a run tell that there is one; what it is
// about, who may decide and who did, the API tells.
import { signal } from "../vendor/preact.js";
import { oneAtATime } from "./one_at_a_time.js";

export function createRequests(api) {
  const known = signal(new Map()); // id → the request as the API tells it
  const readers = new Map(); // execution id → reads its requests

  function put(...requests) {
    const map = new Map(known.value);
    for (const request of requests) if (request?.request_id) map.set(request.request_id, { ...map.get(request.request_id), ...request });
    known.value = map;
  }

  // All requests of a run, as they are after this was asked: what is read already may be without the newest.
  function loadRun(executionId) {
    if (!readers.has(executionId)) readers.set(executionId, oneAtATime(() => readRun(executionId)));
    return readers.get(executionId)();
  }

  async function readRun(executionId) {
    for (let next = null, page; !page || next; next = page.next) {
      page = await api.listRequests(executionId, next);
      put(...(page.results ?? []));
    }
  }

  async function load(id) {
    put(await api.getRequest(id));
  }

  // Decides. What somebody else decided meanwhile is taken over before the refusal is told.
  async function respond(answer) {
    try {
      const answered = await api.respond(answer);
      put(answered);
      return answered;
    } catch (error) {
      if (error.found) put(error.found);
      throw error;
    }
  }

  return { known, put, load, loadRun, respond, previewRule: api.previewRule };
}

// A request as the chat's cards know it from events (trace.js), made of what the API tells.
export function asAsked(request) {
  return {
    id: request.request_id,
    kind: request.kind,
    question: request.question,
    details: { ...request.details, tool_calls: request.tool_calls },
    options: request.options ?? [],
    agentId: request.agent_id,
    status: request.status,
    choice: request.answer?.choice ?? null,
    text: request.answer?.text ?? null,
    by: null,
    askedAt: Date.parse(request.created_at),
    endedAt: request.ended_at ? Date.parse(request.ended_at) : null,
  };
}
