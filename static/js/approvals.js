// Words for what people are asked to approve: who may, what it risks, how it ended. Pure: a request as the API tells it in,
// words out.
import { agentLabel } from "./agents.js";
import { t, tc } from "./i18n.js";
import { inOurWords } from "./told.js";
import { quotedTool } from "./tools.js";

const RISKS = {
  high: { words: () => t("High risk"), icon: "warning" },
  medium: { words: () => t("Medium risk"), icon: "pencil" },
  low: { words: () => t("Low risk"), icon: "eye" },
};
const UNKNOWN = { words: () => t("Risk unknown"), icon: "question" };

// {label, icon, name}; what is not known is not called harmless.
export function riskOf(risk) {
  const isKnown = Object.hasOwn(RISKS, risk);
  const { words, icon } = isKnown ? RISKS[risk] : UNKNOWN;
  return { name: isKnown ? risk : "unknown", label: words(), icon };
}

// The call that is asked about; an approval asks about one. None where an agent waits before it begins.
export const callOf = ({ tool_calls }) => tool_calls?.[0] ?? null;

export const isIrreversible = (request) => Boolean(callOf(request)?.irreversible);

export function titleOf(request) {
  if (request.question) return inOurWords(request.question);
  const tools = (request.tool_names ?? []).map((name) => quotedTool(name));
  return tools.length ? t("Allow the use of {tools}?", { tools: tools.join(", ") }) : t("May {agent} go on?", { agent: agentLabel(request.agent_name) });
}

const ROLES = { reviewer: () => t("a reviewer"), auditor: () => t("an auditor"), administrator: () => t("an administrator") };

// Who may decide, to stand behind "can be decided by".
export function deciders({ approvers }, { own = true } = {}) {
  const { kind = "self", name = "", different_person: different = false } = approvers ?? {};
  const but = (who) => (different && own ? t("{who}, but not you", { who }) : who);
  if (kind === "role") return but(Object.hasOwn(ROLES, name) ? ROLES[name]() : t("anybody with the role {name}", { name }));
  if (kind === "group") return but(t("anybody of the group {name}", { name }));
  if (kind === "named") return but(name || t("people whom an administrator named"));
  return own ? t("you alone") : t("whoever's run it is");
}

const ENDED = {
  approved: () => t("Approved"),
  denied: () => t("Denied"),
  answered: () => t("Answered"),
  timed_out: () => t("Nobody decided in time"),
  expired: () => t("The run ended before anybody decided"),
  cancelled: () => t("Withdrawn: the run does not need it any more"),
};
const BY_SOMEBODY = new Set(["approved", "denied", "answered"]);
const VIA = {
  admin: () => t("in the administration"),
  agent: () => t("by another program's agent"),
  command: () => t("in a terminal"),
  api: () => t("by the API"),
};

// {words, who, edited}: how a request ended, said without blame. `me`: the reader's id.
export function outcome(request, me) {
  const words = Object.hasOwn(ENDED, request.status) ? ENDED[request.status]() : request.status;
  if (!BY_SOMEBODY.has(request.status)) return { words, who: "", edited: false };
  const name = request.decided_by && request.decided_by === me ? tc("by whom", "you") : request.decided_by_name || (request.decided_by ? t("somebody else") : "");
  const via = VIA[request.decided_via]?.() ?? "";
  const edited = request.status === "approved" && hasEdits(request);
  return { words: edited ? t("Approved with changes") : words, who: [name && t("by {name}", { name }), via].filter(Boolean).join(" "), edited };
}

export const hasEdits = ({ edited_arguments }) => edited_arguments !== null && edited_arguments !== undefined;

// What a late answer is told: the state, and that nothing was changed.
export function lateWords(request, me) {
  const { words, who } = outcome(request, me);
  if (!BY_SOMEBODY.has(request.status)) return t("{how}. Your answer changed nothing.", { how: words });
  return t("{how} meanwhile. Your answer changed nothing.", { how: [words, who].filter(Boolean).join(" ") });
}

const SAYS_NO_MORE = /^\S+ (?:needs a person's approval|cannot be undone)\.$/; // the head of the card says that already
const AFTER_TAINT = ": a person decides each time."; // the end of the sentence of hitl/policy.py

// Why somebody is asked, without the sentence for which the card has a place of its own. That names titles which others chose.
export function otherReasons(request) {
  const why = request.why ?? request.details?.why ?? "";
  const end = request.tainted_by?.length ? why.lastIndexOf(AFTER_TAINT) : -1;
  const others = end < 0 ? why : why.slice(end + AFTER_TAINT.length).trim();
  return SAYS_NO_MORE.test(others) ? "" : others;
}

// A no may always hold for more than this call, of one's own runs; a yes only where the server says so.
export function mayRemember(request, decision) {
  if (request.rules_allowed) return true;
  return decision === "denied" && !request.owner_name && request.stage !== "agent" && !request.tainted_by?.length;
}

// Why no rule can be made of it.
export function whyNoRule(request) {
  if (request.tainted_by?.length) return t("No rule is made of an answer while text of others stands in the run.");
  if (request.stage === "agent") return t("Each start of this agent is asked about anew.");
  if (isIrreversible(request)) return t("This cannot be undone, so you are asked each time.");
  return t("An administrator decided that this is asked about each time.");
}
