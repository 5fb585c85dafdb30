// Words for what people are asked to approve: who may, what it risks, how it ended. Pure: a request as the API tells it in,
// words out.
import { agentLabel, toolWords } from "./agents.js";

const RISKS = {
  high: { label: "High risk", icon: "warning" },
  medium: { label: "Medium risk", icon: "pencil" },
  low: { label: "Low risk", icon: "eye" },
};

// {label, icon, name}; what is not known is not called harmless.
export const riskOf = (risk) => ({ name: Object.hasOwn(RISKS, risk) ? risk : "unknown", ...(RISKS[risk] ?? { label: "Risk unknown", icon: "question" }) });

// The call that is asked about; an approval asks about one. None where an agent waits before it begins.
export const callOf = ({ tool_calls }) => tool_calls?.[0] ?? null;

export const isIrreversible = (request) => Boolean(callOf(request)?.irreversible);

export function titleOf(request) {
  if (request.question) return request.question;
  const tools = (request.tool_names ?? []).map(toolWords);
  return tools.length ? `Allow the use of ${tools.join(", ")}?` : `May ${agentLabel(request.agent_name)} go on?`;
}

const ROLES = { reviewer: "a reviewer", auditor: "an auditor", administrator: "an administrator" };

// Who may decide, to stand behind "can be decided by".
export function deciders({ approvers }, { own = true } = {}) {
  const { kind = "self", name = "", different_person: different = false } = approvers ?? {};
  const but = different && own ? ", but not you" : "";
  if (kind === "role") return `${Object.hasOwn(ROLES, name) ? ROLES[name] : `anybody with the role ${name}`}${but}`;
  if (kind === "group") return `anybody of the group ${name}${but}`;
  if (kind === "named") return `${name || "people whom an administrator named"}${but}`;
  return own ? "you alone" : "whoever's run it is";
}

const ENDED = {
  approved: "Approved", denied: "Denied", answered: "Answered", timed_out: "Nobody decided in time", expired: "The run ended before anybody decided",
  cancelled: "Withdrawn: the run does not need it any more",
};
const BY_SOMEBODY = new Set(["approved", "denied", "answered"]);
const VIA = { admin: "in the administration", command: "in a terminal", api: "by the API" };

// {words, who, edited}: how a request ended, said without blame. `me`: the reader's id.
export function outcome(request, me) {
  const words = ENDED[request.status] ?? request.status;
  if (!BY_SOMEBODY.has(request.status)) return { words, who: "", edited: false };
  const name = request.decided_by && request.decided_by === me ? "you" : request.decided_by_name || (request.decided_by ? "somebody else" : "");
  const via = VIA[request.decided_via] ?? "";
  const edited = request.status === "approved" && hasEdits(request);
  return { words: edited ? "Approved with changes" : words, who: [name && `by ${name}`, via].filter(Boolean).join(" "), edited };
}

export const hasEdits = ({ edited_arguments }) => edited_arguments !== null && edited_arguments !== undefined;

// What a late answer is told: the state, and that nothing was changed.
export function lateWords(request, me) {
  const { words, who } = outcome(request, me);
  if (!BY_SOMEBODY.has(request.status)) return `${words}. Your answer changed nothing.`;
  return `${[words, who].filter(Boolean).join(" ")} meanwhile. Your answer changed nothing.`;
}

// Why no rule can be made of it.
export function whyNoRule(request) {
  if (request.stage === "agent") return "Each start of this agent is asked about anew.";
  if (isIrreversible(request)) return "This cannot be undone, so you are asked each time.";
  return "An administrator decided that this is asked about each time.";
}
