// Agents and modes in words for people. The server knows them by name; who is not listed here is called by that name.

const WORDS = {
  task: { label: "Auto", hint: "HyperAgent chooses who works on it", icon: "spark" },
  chat: { label: "Chat", hint: "Answers from what it knows", icon: "bubble" },
  rag: { label: "Documents", hint: "Answers from your documents", icon: "document" },
  web: { label: "Web", hint: "Searches the web", icon: "globe" },
  research: { label: "Research", hint: "Gathers, compares and reports, with sources", icon: "telescope" },
  code: { label: "Code", hint: "Writes programs and runs them", icon: "brackets" },
  data: { label: "Data analysis", hint: "Computes and charts", icon: "chart" },
  writing: { label: "Writing", hint: "Outlines, then writes", icon: "pencil" },
  mail: { label: "Mail", hint: "Reads and drafts your mail", icon: "envelope" },
  planner: { label: "Planner", icon: "list" },
  router: { label: "Router", icon: "branch" },
  verifier: { label: "Check", icon: "shield" },
  composer: { label: "Composer", icon: "quill" },
  summarizer: { label: "Summary", icon: "list" },
  memory_extractor: { label: "Memory", icon: "bookmark" },
};
const OTHER = "spark";

const known = (name) => (Object.hasOwn(WORDS, name) ? WORDS[name] : null);

// "image_maker" → "Image maker"
function spoken(name) {
  const words = String(name).replaceAll("_", " ").trim();
  return words ? words[0].toLocaleUpperCase() + words.slice(1) : "Agent";
}

export const agentLabel = (name) => known(name)?.label ?? spoken(name);
export const agentIcon = (name) => known(name)?.icon ?? OTHER;

// The modes to choose from. `names` are those that the server takes, `roster` what it says of each agent.
export function modesOf(names, roster) {
  return names.map((name) => {
    const agent = roster.find((other) => other.name === name);
    const missing = agent?.enabled === false ? "Switched off here" : agent?.unavailable_reason;
    const hint = missing ? withoutWayOut(missing) : known(name)?.hint || agent?.description || "";
    return { name, label: agentLabel(name), hint, why: missing || null, icon: agentIcon(name), enabled: !missing };
  });
}

// "Mail is not configured: set IMAP_URL …" → "Mail is not configured"; the rest is for who runs the server.
const withoutWayOut = (reason) => reason.split(/:\s|\.\s|\.$/, 1)[0];

// An agent that can work here, as far as it is known.
export const isAvailable = (agent) => agent.enabled !== false && agent.available !== false;

// A tool's name within a sentence.
export const toolWords = (name) => String(name).replaceAll("_", " ");

export const DEPTHS = [{ name: "quick", label: "Quick" }, { name: "standard", label: "Standard" }, { name: "deep", label: "Deep" }];
export const SCENARIOS = [
  { name: "", label: "Any field" }, { name: "academic", label: "Academic" }, { name: "market", label: "Market" },
  { name: "technical", label: "Technical" }, { name: "news", label: "News" },
];

// What a mode is asked with besides the question; nothing for a mode that takes none.
export function optionsOf(mode, { depth, scenario, showPlan }) {
  if (mode === "task" && showPlan) return { show_plan: true };
  if (mode !== "research") return undefined;
  return { depth: DEPTHS.some(({ name }) => name === depth) ? depth : "standard", ...(scenario && { scenario }) };
}
