// What one may begin with: four questions that fit what the installation has and may do. Pure.
import { t } from "./i18n.js";

// What the small bundled model can do: its programs seldom work, and whoever tries it wants to see an approval.
const tryingOut = () => ({ icon: "brackets", title: t("Try an approval"), text: t("Write a Python program that prints the squares of 1 to 10.") });

// `has`: names of what is there: "documents", "mail", "code", "data", "web", "research"; and "small model". The first four of those that fit.
export function startersFor(has) {
  const all = [
    has.has("documents") && { icon: "document", title: t("Ask your documents"), text: t("What do my documents say about travel costs? Name the passages.") },
    has.has("small model") && has.has("code") && tryingOut(),
    has.has("mail") && { icon: "envelope", title: t("Sort your mail"), text: t("Which of today's mails need an answer from me? List them with one sentence each.") },
    has.has("research") && { icon: "telescope", title: t("Research something"), text: t("Compare heat pumps and gas heating for an old house: cost, comfort and emissions, with sources.") },
    has.has("data") && { icon: "chart", title: t("Draw a chart"), text: t("Draw a chart of how 1,000 euro grow in 20 years at 2, 4 and 6 percent a year.") },
    has.has("code") && !has.has("small model") && { icon: "brackets", title: t("Write a program"), text: t("Write and run a Python program that finds the longest common prefix of a list of words.") },
    { icon: "pencil", title: t("Write a mail"), text: t("Write a friendly e-mail that moves Thursday's meeting to next Tuesday at ten.") },
    { icon: "bubble", title: t("Understand something"), text: t("Explain the difference between a process and a thread, with one example from daily life.") },
    { icon: "scales", title: t("Decide"), text: t("Compare three ways to store passwords in a table: how they work, and what each one risks.") },
    { icon: "list", title: t("Plan"), text: t("Make a plan for the first week of a new colleague in a small team, as a checklist.") },
  ];
  return all.filter(Boolean).slice(0, 4);
}

// Of the page's data and the roster: documents that are there, and agents that can work here.
export function whatIsThere({ has_documents: hasDocuments = false, is_model_small: isModelSmall = false, modes = [] }, roster, isAvailable) {
  const working = roster.filter((agent) => modes.includes(agent.name) && isAvailable(agent)).map(({ name }) => name);
  return new Set([hasDocuments && "documents", isModelSmall && "small model", ...working.filter((name) => name !== "rag")].filter(Boolean));
}
