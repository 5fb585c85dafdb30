// What runs tell in sentences of ours, said in the page's language. They are stored in English, because a log is written once
// for all who will ever read it. What is not known here is a model's or a person's own text, and stays as it is. Pure.
import { language, t, tn } from "./i18n.js";
import { quotedTool } from "./tools.js";

const said = (text) => text; // by which the catalogue finds them

// What the server writes below an answer, behind a "> ", of why it ends so: agents/run_budget.py, agents/runtime.
const ENDS = [
  said("A person chose to stop the run there."),
  said("A person chose to finish with what there was."),
  said("Nobody said in time whether to raise it, so this was finished with what there was."),
  said("Nobody could be asked to raise it, so this was finished with what there was."),
  said("So this was finished with what there was."),
  said("{what} was under way when this ended: it may or may not have happened."),
  said("The answer breaks off here: it had become as long as it may be at once."),
];

const SENTENCES = [
  ...ENDS,
  said("The budget of this run of {budget} does not suffice for another call."),
  said("The budget of this run does not suffice for another call."),
  said("A budget that holds for this run is used up, and nobody said in time what shall be done."),
  said("Ask for the rest."),
  // Beside the box: agents/pipeline/turn.py.
  said("A small built-in model answers here. It is good for trying things out, not for facts."),
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
  said("Reading the document from its first page on"),
  said("Revising the draft"),
  said("Running the program ({round} of at most {rounds})"),
  said("Saying what came of it"),
  said("Saying what the data say"),
  said("Saying what was done"),
  said("Searching the documents for: {query}"),
  said("Searching the web for: {query}"),
  said("Searching: {scenario}"),
  said("This was more than the model can read at once: the longest texts were shortened for it."),
  said("Weighing the sources"),
  said("Writing"),
  said("Writing a draft"),
  said("Writing the answer"),
  said("Writing the program"),
  said("Writing the report"),
  said("You added: {text}"),
  said("No more could be planned, so the answer says what there is."),
  said("The plan for what is missing was rejected, so the answer says what there is."),
  said("Nobody answered in time whether the plan for what is missing may run, so the answer says what there is."),
  said("The question whether the plan for what is missing may run was withdrawn, so the answer says what there is."),
  said("The plan for what is missing could not be run as it was changed, so the answer says what there is."),
  said("No plan could be made, so the {agent} agent works on it alone."),
  // Why an agent cannot work here: agents/tools/providers.py, agents/mail/account_status.py.
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
  // Questions to people: agents/tools/verdicts.py, agents/pipeline, hitl/policy.py, agents/run_budget.py, agents/engine/effects.py. Those
  // that a server writes into lists and mails, too, are in hyperagent/lib/stored_sentences.py.
  said("Send this mail?"),
  said("Run this program?"),
  said("Make this change?"),
  said("May the {agent} agent begin?"),
  said("May the {agent} agent call {tool}?"),
  said("The {agent} agent begins only when a person agrees."),
  said("{tool} cannot be undone."),
  said("{tool} needs a person's approval."),
  said("The policy “{name}” asks for it."),
  said("Nobody whom the policy “{name}” names can decide now; administrators can."),
  said("Nobody can decide it now: it takes another person than whose run it is, and there is no other administrator."),
  said("It ends undecided unless there is one in time."),
  said("This run has read text that others wrote ({read}), and {tool} changes something: a person decides each time."),
  said("This run has read text that others wrote ({read}), and {tool} sends data out: a person decides each time."),
  said("All members of the project will see it."),
  said("This is the plan."),
  said("This is the plan for what is missing."),
  said("Accept it, change it, or reject it."),
  said("It may do what cannot be undone: {tools}."),
  said("It is reckoned to cost {usd}, and plans above {limit} are asked about."),
  said("With what was planned before, it is reckoned to cost {usd}, and plans above {limit} are asked about."),
  said("It cannot be run as you changed it: {faults}."),
  said("This run has used {used}, and its budget is {budget}."),
  said("What {models} cost is not known, and is not counted."),
  said("The {agent} agent needs more to go on."),
  said("What shall be done?"),
  said("Raise the limit to {amount}"),
  said("Finish with what there is"),
  said("Stop the run"),
  // Budgets that runs share: hyperagent/accounts/budgets.py, agents/run_budget.py, agents/runtime/shared_budgets.py.
  said("Your budget of {amount} a day is used up: {used} are used."),
  said("Your budget of {amount} a month is used up: {used} are used."),
  said("The budget of the group {name} of {amount} a day is used up: {used} are used."),
  said("The budget of the group {name} of {amount} a month is used up: {used} are used."),
  said("The budget of this installation of {amount} a day is used up: {used} are used."),
  said("The budget of this installation of {amount} a month is used up: {used} are used."),
  said("Your budget of {amount} a day does not suffice: {used} are used."),
  said("Your budget of {amount} a month does not suffice: {used} are used."),
  said("The budget of the group {name} of {amount} a day does not suffice: {used} are used."),
  said("The budget of the group {name} of {amount} a month does not suffice: {used} are used."),
  said("The budget of this installation of {amount} a day does not suffice: {used} are used."),
  said("The budget of this installation of {amount} a month does not suffice: {used} are used."),
  said("The next call may take up to {wanted}, and {left} are left."),
  said("It starts anew on {when}."),
  said("An administrator can raise it."),
  said("You can do that under Usage, Budgets."),
  said("Go on, it is raised"),
  said("Go on, it was raised or starts anew"),
  said("A budget that holds for this run is used up."),
  said("The price of {models} is not known, so no budget in money can hold for it, and this installation does not ask such models."),
  said("Choose another model, or ask an administrator to set its price."),
  said('{tool} may have been carried out: an answer to a mail to {to} with the subject "{subject}".'),
  said('{tool} may have been carried out: a mail to {to} with the subject "{subject}".'),
  said("{tool} may have been carried out: a program in {language}."),
  said("{tool} may have been carried out: a change of {path}."),
  said("{tool} may have been carried out."),
  said("{tool} was begun and interrupted, and it cannot be told from here whether it happened."),
  said("{tool} was begun at {when} and interrupted, and it cannot be told from here whether it happened."),
  said("Look for yourself, then say what shall be done."),
  // Why runs fail: hyperagent/lib/llm/errors.py, agents/runtime/driver.py, agents/runtime/endings.py.
  said("The model provider '{provider}' is busy."),
  said("Try again in a moment."),
  said("The model provider '{provider}' has a fault of its own."),
  said("The model provider '{provider}' did not begin to answer in time."),
  said("Try again."),
  said("The model provider '{provider}' fell silent in the middle of an answer."),
  said("The model provider '{provider}' broke the connection before its answer was done."),
  said("All calls that the model provider '{provider}' may serve at once are taken."),
  said("The model provider '{provider}' cannot be reached."),
  said("Check its address and the network, then try again."),
  said("The model provider '{provider}' does not accept its key."),
  said("An administrator must set a valid one."),
  said("The model provider '{provider}' has no model '{model}' for us."),
  said("An administrator must choose another one."),
  said("The account at the model provider '{provider}' has no credit left."),
  said("An administrator must see to its plan."),
  said("The model provider '{provider}' refused the request to '{model}'."),
  said("An administrator finds why in the log."),
  said("This is more than the model '{model}' of '{provider}' can read at once."),
  said("Shorten it or begin anew."),
  said("The model '{model}' of '{provider}' gave an empty answer."),
  said("The content filter of '{provider}' held the answer back."),
  said("Put the question differently."),
  said("The model '{model}' of '{provider}' reached its length limit before it answered."),
  said("Ask for less at once."),
  said("The model '{model}' of '{provider}' gave an answer that cannot be read."),
  said("This run crashed the worker {count} times and was stopped."),
  said("{count} workers in a row were lost with this run before it got any further; it was stopped."),
  said("Try it again with another question, or tell an administrator."),
  said("This run was begun by another version of HyperAgent (its input has the form {form}, this worker knows {known}), as while an update is under way."),
  said("Try it again in a few minutes."),
  said("Something went wrong here."),
  said("A part of this run could not be stored."),
  said("An administrator finds it under {number}."),
  said("Look for yourself before you have it done again."),
  // Why a memory waits, or was told: memory/remembering.
  said("It asks to put other instructions aside."),
  said("It speaks of the system's own instructions."),
  said("It gives the assistant another part to play."),
  said("It imitates a message of the system or of a tool."),
  said("It asks to hide something, or to get round a person's yes."),
  said("It asks to give away secrets."),
  said("It asks to fetch an address."),
  said("It is a standing order to do something with mails, files, tools or money."),
  said("It is an order to do something with mails, files, tools or money."),
  said("It has characters that nobody sees."),
  said("It contradicts what you pinned."),
  said("It contradicts what you wrote yourself."),
  said("It belongs to your profile."),
  said("You pinned it."),
  said("It says how you want things done."),
  said("It fits your question."),
  said("It happened: go on"),
  said("It did not happen: do it now"),
  said("Leave it as it is, and go on without it"),
  // What guardrails found: agents/guardrails.
  said("It tells the assistant to ignore its instructions."),
  said("It asks for the assistant's own instructions."),
  said("It dictates what the assistant must answer."),
  said("It is addressed to an assistant and not to a reader."),
  said("It asks for something else before the task is done."),
  said("It wants something kept from the user."),
  said("It imitates the marks of a chat between system, user and assistant."),
  said("It claims that the text ends here and instructions begin."),
  said("It orders data to be sent to an address."),
  said("It imitates or orders a call of a tool."),
  said("It praises the assistant to have it begin something else."),
  said("It wants the assistant to begin anew."),
  said("It sets a new task in the place of the one before."),
  said("It claims the rights of a developer or administrator."),
  said("It demands to be obeyed."),
  said("It puts an order together from pieces."),
  said("It asks to decode a text and to do what it says."),
  said("It has the assistant say that it was taken over."),
  said("It uses a known way to lift the limits of an assistant."),
  said("It wants an assistant without rules."),
  said("It gives the assistant another role."),
  said("It demands that the assistant never leaves its role."),
  said("It forbids the assistant to refuse or to warn."),
  said("It sets the rules of the assistant's maker aside."),
  said("It demands a second answer without limits beside the usual one."),
  said("It demands an answer to anything, lawful or not."),
  said("It threatens or rewards the assistant."),
  said("It wraps what it wants in a made-up case."),
  said("It tries to get a secret out of the assistant."),
  said("It asks for a secret."),
  said("It asks for a secret in disguise."),
  said("It repeats the same over and over."),
  said("It tells somebody to take their own life."),
  said("It threatens somebody with violence."),
  said("It degrades people for what they are."),
  said("It calls for violence against people for what they are."),
  said("It has a word in it that degrades people."),
  said("It reads like a recipe for an explosive."),
  said("It reads like a recipe for a chemical or biological weapon."),
  said("It reads like a recipe for a hard drug."),
  said("It would delete or take away everything, or all of a system folder."),
  said("It would write over a disk."),
  said("It would start programs until nothing is left."),
  said("It would run a program from elsewhere that nobody has looked at."),
  said("It would let somebody elsewhere give commands."),
  said("It would end every program."),
  said("It would let the owner of a key sign in."),
  said("It would read a file in which a machine or a person keeps secrets."),
  said("It speaks to the service that gives machines in a cloud their keys."),
  said("It would read a file of the machine: only http and https are fetched."),
  said("It is no address of the web: only http and https are fetched."),
  said("It leads to this machine or into a private network."),
  said("Its host is a number in an unusual form."),
  said("It has a user name or a password in it."),
  said("This path leads out of the folder that it begins in."),
  said("This is a file in which a machine or a person keeps secrets."),
  said("Characters that nobody sees were taken out."),
  said("Marks by which models are told who speaks lost their meaning."),
  said("The time to look at it was up."),
  said("A card number stood in the answer."),
  said("A bank account number stood in the answer."),
  said("A social security number stood in the answer."),
  said("An e-mail address stood in the answer."),
  said("A telephone number stood in the answer."),
  said("The address of a machine stood in the answer."),
  said("A secret stood in the answer: {what}."),
  said("This question could not be looked at in time, and here such questions are refused (GUARDRAILS_STRICT)."),
  said("Ask again in a moment."),
  said("This question was not passed on."),
  said("Say it in other words, without telling the assistant what to be or to ignore."),
  said("If that is wrong: an administrator finds it under Guardrails › Verdicts."),
];
const AMOUNTS = new Set(["amount", "used", "budget", "wanted", "left", "usd", "limit"]);
const PLACE = /\{(\w+)\}/g;
let patterns = null;

/** The text in the page's language: whole if it is one of ours, else sentence by sentence, else as it is. In English, too, a tool is
 * called as people call it. */
export function inOurWords(text) {
  if (!text) return text;
  return sentence(text) ?? sentencesOf(text).map((part) => sentence(part) ?? part).join(" ");
}

const sentencesOf = (text) => text.split(/(?<=[.?!]) /);

/** An answer with what stands below it of why it ends so in the page's language. What a model quotes stays as it is. */
export function endInOurWords(text) {
  const parts = text.split("\n\n");
  for (let at = parts.length - 1; at > -1 && isEnd(parts[at]); at -= 1) parts[at] = `> ${inOurWords(parts[at].slice(2))}`;
  return parts.join("\n\n");
}

const isEnd = (part) => part.startsWith("> ") && !part.includes("\n") && sentencesOf(part.slice(2)).some((one) => ENDS.some((end) => patternOf(end).test(one)));

function sentence(text) {
  patterns ??= SENTENCES.filter((original) => language !== "en" || original.includes("{tool")).map((original) => ({ original, names: [...original.matchAll(PLACE)].map(([, name]) => name), pattern: patternOf(original) }));
  for (const { original, names, pattern } of patterns) {
    const found = pattern.exec(text);
    if (found) return t(original, Object.fromEntries(names.map((name, at) => [name, shown(name, found[at + 1])])));
  }
  return null;
}

function shown(name, value) {
  if (name === "tool" || name === "tools") return value.split(", ").map((one) => quotedTool(one)).join(", ");
  return AMOUNTS.has(name) ? amounts(value) : value;
}

// `12,000 tokens` and `$0.25` as they are told in English, with the reader's word and figures.
function amounts(text) {
  const plain = (figures) => Number(figures.replaceAll(",", ""));
  return text
    .replace(/\$(\d[\d,]*(?:\.(\d+))?)/g, (_, figures, places = "") => `$${plain(figures).toLocaleString(language, { minimumFractionDigits: places.length })}`)
    .replace(/\b(\d[\d,]*) tokens?\b/g, (_, figures) => tn("{count} token", "{count} tokens", plain(figures)));
}

function patternOf(original) {
  // A tool and an agent are one word each; otherwise a whole text would be taken for a sentence that ends like it.
  const literal = original.replace(/[.*+?^$()|[\]\\]/g, "\\$&").replace(PLACE, (_, name) => (name === "tool" || name === "agent" ? "(\\S+)" : "(.+?)"));
  return new RegExp(`^${literal}$`, "s");
}
