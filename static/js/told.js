// What runs tell in sentences of ours, said in the page's language. They are stored in English, because a log is written once
// for all who will ever read it. What is not known here is a model's or a person's own text, and stays as it is. Pure.
import { language, t } from "./i18n.js";

const said = (text) => text; // by which the catalogue finds them

const SENTENCES = [
  // Stages: agents/roster, agents/pipeline.
  said("Answering from what was found"),
  said("Checking the answer against its sources"),
  said("Checking the results"),
  said("Choosing the best passages"),
  said("Choosing what to look for in the documents"),
  said("Choosing what to search for"),
  said("Deciding what to do in the mailbox"),
  said("In the mailbox: {action}"),
  said("Looking at what is to be written"),
  said("Looking for what is missing"),
  said("Looking up which documents there are"),
  said("Making an outline"),
  said("Mending the program"),
  said("Nothing was found: searching with other words"),
  said("Planning"),
  said("Planning the analysis"),
  said("Planning the research"),
  said("Planning what is missing"),
  said("Putting the findings together"),
  said("Revising the draft"),
  said("Running the program ({round} of at most {rounds})"),
  said("Saying what came of it"),
  said("Saying what the data say"),
  said("Saying what was done"),
  said("Searching the documents for: {query}"),
  said("Searching the web for: {query}"),
  said("Searching: {scenario}"),
  said("Weighing the sources"),
  said("Writing"),
  said("Writing a draft"),
  said("Writing the answer"),
  said("Writing the program"),
  said("Writing the report"),
  said("No more could be planned, so the answer says what there is."),
  said("No plan could be made, so the {agent} agent works on it alone."),
  // Why an agent cannot work here: agents/tools/providers.py, agents/mail/standing.py.
  said("Web search is not configured: set TAVILY_API_KEY (a key from tavily.com), SEARXNG_URL (a SearXNG of your own), or SEARCH_PROVIDER=ddgs, which needs no key."),
  said("Reading web pages is not configured: set up a runner by manage.py worker."),
  said("Running code is not configured: set SANDBOX_PROVIDER to {names}."),
  said("Running scripts is not configured: set SANDBOX_PROVIDER to {names}."),
  said("Building apps is not configured: set SANDBOX_PROVIDER to {names}."),
  said("The browser is not configured: set SANDBOX_PROVIDER to local, and install Chromium."),
  said("Mail is not configured: set IMAP_URL and SMTP_URL."),
  said("Document search is not configured: set DATABASE_URL, and start manage.py worker."),
  said("Images are not configured: set OPENAI_API_KEY or GEMINI_API_KEY, or IMAGE_MODEL to a model that makes them."),
  said("The workspace is not configured: set DATA_DIR or STORAGE_URL."),
  said("You have connected no mailbox yet."),
  said("Connect one at /mail/."),
  // Questions to people: agents/tools/standing.py, agents/pipeline, agents/budget.py, agents/engine/effects.py.
  said("Send this mail?"),
  said("Run this program?"),
  said("Make this change?"),
  said("May the {agent} agent begin?"),
  said("May the {agent} agent call {tool}?"),
  said("The {agent} agent begins only when a person agrees."),
  said("This is the plan."),
  said("Accept it, change it, or reject it."),
  said("It may do what cannot be undone: {tools}."),
  said("This run has used {used}, and its budget is {budget}."),
  said("What {models} cost is not known, and is not counted."),
  said("The {agent} agent needs more to go on."),
  said("What shall be done?"),
  said("Raise the limit to {amount}"),
  said("Finish with what there is"),
  said("Stop the run"),
  said("{tool} may have been carried out."),
  said("{tool} was begun and interrupted, and it cannot be told from here whether it happened."),
  said("{tool} was begun at {when} and interrupted, and it cannot be told from here whether it happened."),
  said("Look for yourself, then say what shall be done."),
  said("It happened: go on"),
  said("It did not happen: do it now"),
  said("Leave it as it is, and go on without it"),
];
const PLACE = /\{(\w+)\}/g;
let patterns = null;

/** The text in the page's language: whole if it is one of ours, else sentence by sentence, else as it is. */
export function inOurWords(text) {
  if (language === "en" || !text) return text;
  return sentence(text) ?? text.split(/(?<=[.?!]) /).map((part) => sentence(part) ?? part).join(" ");
}

function sentence(text) {
  patterns ??= SENTENCES.map((original) => ({ original, names: [...original.matchAll(PLACE)].map(([, name]) => name), pattern: patternOf(original) }));
  for (const { original, names, pattern } of patterns) {
    const found = pattern.exec(text);
    if (found) return t(original, Object.fromEntries(names.map((name, at) => [name, found[at + 1]])));
  }
  return null;
}

function patternOf(original) {
  const literal = original.replace(/[.*+?^$()|[\]\\]/g, "\\$&").replace(PLACE, "(.+?)");
  return new RegExp(`^${literal}$`, "s");
}
