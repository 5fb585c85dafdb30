// Agents and modes in words for people. The server knows them by name; who is not listed here is called by that name.
import { t, tc } from "./i18n.js";
import { inOurWords } from "./told.js";

const WORDS = {
  task: { label: () => t("Auto"), hint: () => t("HyperAgent chooses who works on it"), icon: "spark" },
  chat: { label: () => t("Chat"), hint: () => t("Answers from what it knows"), icon: "bubble" },
  rag: { label: () => t("Documents"), hint: () => t("Answers from your documents"), icon: "document" },
  web: { label: () => t("Web"), hint: () => t("Searches the web"), icon: "globe" },
  research: { label: () => t("Research"), hint: () => t("Gathers, compares and reports, with sources"), icon: "telescope" },
  code: { label: () => t("Code"), hint: () => t("Writes programs and runs them"), icon: "brackets" },
  data: { label: () => t("Data analysis"), hint: () => t("Computes and charts"), icon: "chart" },
  writing: { label: () => tc("agent", "Writing"), hint: () => t("Outlines, then writes"), icon: "pencil" },
  mail: { label: () => t("Mail"), hint: () => t("Reads and drafts your mail"), icon: "envelope" },
  slide: { label: () => t("Slides"), hint: () => t("Makes slides of a topic"), icon: "chart" },
  app: { label: () => t("App"), hint: () => t("Builds a web app and serves it"), icon: "window" },
  image: { label: () => t("Image"), hint: () => t("Makes pictures from your words"), icon: "image" },
  planner: { label: () => t("Planner"), icon: "list" },
  router: { label: () => t("Router"), icon: "branch" },
  verifier: { label: () => t("Check"), icon: "shield" },
  composer: { label: () => t("Composer"), icon: "quill" },
  summarizer: { label: () => t("Summary"), icon: "list" },
  memory_extractor: { label: () => t("Memory"), icon: "bookmark" },
};
const OTHER = "spark";

const known = (name) => (Object.hasOwn(WORDS, name) ? WORDS[name] : null);

// "image_maker" → "Image maker"
function spoken(name) {
  const words = String(name).replaceAll("_", " ").trim();
  return words ? words[0].toLocaleUpperCase() + words.slice(1) : t("Agent");
}

export const agentLabel = (name) => known(name)?.label() ?? spoken(name);
export const agentIcon = (name) => known(name)?.icon ?? OTHER;

// The modes to choose from. `names` are those that the server takes, `roster` what it says of each agent, `lacking` of each mode
// that begins with a skill, where something is missing for it.
export function modesOf(names, roster, lacking = {}) {
  return names.map((name) => {
    const agent = roster.find((other) => other.name === name);
    const missing = agent?.enabled === false ? t("Switched off here") : inOurWords(agent?.unavailable_reason ?? lacking[name]);
    const hint = missing ? withoutWayOut(missing) : known(name)?.hint?.() || agent?.description || "";
    return { name, label: agentLabel(name), hint, why: missing || null, icon: agentIcon(name), enabled: !missing };
  });
}

// "Mail is not configured: set IMAP_URL …" → "Mail is not configured"; the rest is for who runs the server.
const withoutWayOut = (reason) => reason.split(/:\s|\.\s|\.$/, 1)[0];

// Of the modes that the server takes, the one that is wanted, else the first.
export const knownMode = (names, wanted) => (names.includes(wanted) ? wanted : (names[0] ?? null));

// An agent that can work here, as far as it is known.
export const isAvailable = (agent) => agent.enabled !== false && agent.available !== false;

export const DEPTHS = [{ name: "quick", get label() { return t("Quick"); } }, { name: "standard", get label() { return t("Standard"); } }, { name: "deep", get label() { return t("Deep"); } }];
export const SCENARIOS = [
  { name: "", get label() { return t("Any field"); } }, { name: "academic", get label() { return t("Academic"); } }, { name: "market", get label() { return t("Market"); } },
  { name: "technical", get label() { return t("Technical"); } }, { name: "news", get label() { return t("News"); } },
];

// What a mode is asked with besides the question; nothing for a mode that takes none.
export function optionsOf(mode, { depth, scenario, showPlan }) {
  if (mode === "task" && showPlan) return { show_plan: true };
  if (mode !== "research") return undefined;
  return { depth: DEPTHS.some(({ name }) => name === depth) ? depth : "standard", ...(scenario && { scenario }) };
}
