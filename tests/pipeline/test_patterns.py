"""The heuristic classifier: every row of its table by example, and what it makes of whole questions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.pipeline.clauses import READ_CHARS, readable
from agents.pipeline.patterns import classify, signals_of
from agents.pipeline.replies import goes_on
from agents.pipeline.signals import SIGNALS

# By the agent and the words of the row; each example must make that row speak.
EXAMPLES = {
    ("mail", "asks to send or write a mail"): [
        "Send an email to the team",
        "Email it to Bob",
        "Mail the report to my manager",
        "Share it with tom@example.org",
        "Schick meiner Chefin eine Mail",
        "Beantworte die letzte E-Mail von Jonas",
        "Let Bob know by email",
        "Kannst du dem Team eine Mail schicken?",
    ],
    ("mail", "asks about mails that came or went"): [
        "Is there anything unread?",
        "Look into my inbox",
        "Did Peter reply to me?",
        "Gibt es neue Mails?",
        "Was ist im Posteingang?",
    ],
    ("mail", "may be about a message to somebody"): ["How does email work?", "Tell Sarah that I am late"],
    ("rag", "asks about documents of your own"): [
        "What is in our handbook about holidays?",
        "According to the travel policy, may I fly?",
        "Search my documents for the deadline",
        "What does the contract say on liability?",
        "Was steht im Mitarbeiterhandbuch?",
        "Durchsuche meine Dokumente",
        "Laut Vertrag: wie lange?",
    ],
    ("rag", "names documents of your own"): ["Translate my uploaded report", "Übersetze unsere Richtlinie"],
    ("rag", "names a document"): ["Open budget-2026.pdf", "Explain the travel policy", "Erkläre den Mietvertrag"],
    ("rag", "may be about your own affairs"): ["What did we decide?", "Was haben wir beschlossen?"],
    ("web", "wants something from the web"): [
        "Search the web for bikes",
        "Read https://example.org/a",
        "Find a recipe online",
        "Suche im Internet nach Rädern",
        "Google what that means",
    ],
    ("web", "asks for something current"): [
        "The latest news, please",
        "What is the weather in Rome?",
        "News about Siemens",
        "Share price of BMW",
        "Aktuelle Nachrichten bitte",
        "Wie ist das Wetter morgen?",
    ],
    ("web", "asks about the present"): [
        "Who is currently the mayor?",
        "Who won the cup?",
        "Look up the population of Oslo",
        "Wer ist derzeit Kanzler?",
        "Is there a new version of Django?",
    ],
    ("web", "may need something current"): ["What a day today", "Was ist heute?", "How large is it?", "Wann ist das?"],
    ("research", "asks for thorough research"): [
        "Research heat pumps",
        "Give me a deep dive on batteries",
        "A literature review on sleep",
        "Recherchiere Natrium-Akkus",
        "Eine Marktanalyse für E-Bikes",
    ],
    ("research", "asks for studies"): [
        "Are there clinical studies on it?",
        "What does the research say?",
        "Gibt es wissenschaftliche Studien dazu?",
    ],
    ("research", "may need several sources"): ["What do studies say?", "Compare them", "Der Markt für E-Bikes"],
    ("code", "asks for code"): [
        "Write a script that renames files",
        "Debug my function",
        "Fix the bug in this program",
        "I get a KeyError",
        "Programmiere ein Spiel",
        "Schreibe eine Funktion dafür",
        "Run this code",
        "Ein kleines Skript schreiben",
    ],
    ("code", "names a programming language or a source file"): ["Sort a list in Python", "Look at main.rs", "A regex"],
    ("code", "may need a program"): ["Is Rust fast?", "Berechne 3 hoch 9"],
    ("data", "asks for an analysis of data"): [
        "Plot the sales data",
        "Make a bar chart of it",
        "What is in orders.csv?",
        "The average of the price column",
        "Zeichne ein Balkendiagramm",
        "Analysiere die Umfragedaten",
        "Die Messdaten auswerten",
    ],
    ("data", "speaks of a data set"): ["I have a spreadsheet", "Correlation between A and B", "Ein Datensatz"],
    ("data", "may need an analysis"): ["Is there a trend?", "Wie war der Umsatz?"],
    ("writing", "asks for a text to be written"): [
        "Write a blog post on bees",
        "Draft a speech",
        "Schreibe einen Artikel",
        "Verfasse eine Pressemitteilung",
        "Einen Brief an die Bank schreiben",
    ],
    ("writing", "asks for a text to be improved"): ["Proofread this", "Überarbeite das", "Improve the text below"],
    ("writing", "may need a text"): ["Write it down", "Eine Gliederung bitte"],
    ("chat", "asks for an explanation, an idea or a translation"): [
        "Explain recursion",
        "What is entropy?",
        "Translate this",
        "Suggest a name for my cat",
        "Say it again",
        "Count to ten",
        "Make a picture of a cat",
        "Was ist Entropie?",
        "How do you say hello in Thai?",
    ],
}
ROWS = [(signal.agent, signal.name) for signal in SIGNALS]


def test_every_row_of_the_table_has_a_name_of_its_own_and_examples() -> None:
    assert sorted(EXAMPLES) == sorted(set(ROWS))
    assert len(ROWS) == len(set(ROWS))


@pytest.mark.parametrize(("row", "text"), [(row, text) for row, texts in EXAMPLES.items() for text in texts])
def test_a_row_speaks_for_its_examples(row: tuple[str, str], text: str) -> None:
    signal = SIGNALS[ROWS.index(row)]

    assert signal.regex.search(text)


@pytest.mark.parametrize(
    "text", ["", "   ", "The sea is deep and the fish are many.", "Das Meer ist tief.", "🙂🙃", "東京"]
)
def test_no_row_speaks_for_what_says_nothing(text: str) -> None:
    assert signals_of(text) == {}


@pytest.mark.spec("S7")
@pytest.mark.parametrize(
    ("question", "agent"),
    [
        ("Hello!", "chat"),
        ("What is the capital of France?", "chat"),
        ("Was ist ein Kahn-Sort?", "chat"),
        ("Count", "chat"),
        ("May I?", "chat"),
        ("say 200 tokens at 50/s", "chat"),
        ("What do the attached files say about warranty?", "rag"),
        ("Was sagt die Reisekostenrichtlinie zu Übernachtungen?", "rag"),
        ("What's new in Python 3.14?", "web"),
        ("Wie steht der Aktienkurs von Siemens?", "web"),
        ("Please do some research on vertical farming", "research"),
        ("Erstelle einen umfassenden Bericht über Wasserstoff", "research"),
        ("Write a Python script that sends an email via SMTP", "code"),
        ("Programmiere mir einen Taschenrechner", "code"),
        ("Clean the dataset and remove outliers", "data"),
        ("Berechne den Durchschnitt der Spalte Alter in kunden.csv", "data"),
        ("Compose a short speech for my sister's wedding", "writing"),
        ("Entwirf einen Newsletter für unsere Kunden", "writing"),
        ("Archive all newsletters in my inbox", "mail"),
        ("Sende eine E-Mail an das Team mit der Agenda", "mail"),
    ],
)
def test_a_question_for_one_agent_goes_to_it_without_a_model(question: str, agent: str) -> None:
    guess = classify(question)

    assert (guess.agent, guess.sure) == (agent, True)
    assert guess.kind == ("research" if agent == "research" else "direct")
    assert guess.confidence >= 0.7
    assert guess.reason


@pytest.mark.spec("S7", "S8")
@pytest.mark.parametrize(
    "question",
    [
        "First find the revenue in my docs, then write a memo about it",
        "First explain what a tensor is, then give an example",
        "Step 1: search the web for prices. Step 2: make a chart of them.",
        "1. Read the contract\n2. List its risks\n3. Suggest changes",
        "Analyze and compare our suppliers",
        "Build a pipeline that collects prices every day",
        "Search my docs for Q3 revenue and email it to Anna",
        "Search my docs for the budget AND find the latest news about our competitor",
        "Email Bob the latest news about our competitor",
        "Research competitors and write a Python script that ranks them",
        "Zuerst die Daten in verkauf.csv analysieren, dann einen Blogartikel darüber schreiben",
        "Schritt 1: suche im Internet nach Preisen. Schritt 2: zeichne ein Diagramm davon.",
        "Fasse unsere Richtlinie zusammen und schicke sie per Mail an alle",
        "Analysiere und vergleiche die drei Angebote",
        "Baue eine Daten-Pipeline für die Messwerte",
        "Find flights to Rome and forward them to my wife",
        "Find three good laptops and mail the list to bob@example.org",
        "Compare Postgres and MySQL and email me the result",
        "Suche im Internet nach Strompreisen und schick sie an Tom",
        "Finde drei gute Hotels. Schick die Liste bitte an meine Frau.",
    ],
)
def test_a_question_of_several_parts_is_planned(question: str) -> None:
    guess = classify(question)

    assert (guess.kind, guess.agent, guess.sure) == ("plan", "planner", True)


@pytest.mark.spec("S7", "S8")
@pytest.mark.parametrize(
    "question",
    [
        "Step 1: load the file. Step 2: plot it.",
        "step 1 load the file step 2 plot it",
        "Please: step 1. read the text, step 2. shorten it",
        "Schritt 1: Datei laden. Schritt 2: zeichnen.",
        "First, translate this to German. Then shorten it.",
        "First shorten it, then translate it",
        "First of all, summarize the text. After that, stretch it to two pages.",
        "Can you first translate this and then shorten it?",
        "Please first translate this, then trim it",
        "Translate this first, then shorten it",
        "Zuerst übersetze das, dann kürze es.",
        "Übersetze das zunächst ins Englische und dann kürze es.",
        "Analyze and compare the two",
        "Build a pipeline",
        "Baue eine Pipeline",
    ],
)
def test_steps_and_words_of_complexity_are_enough_for_a_plan_whoever_they_are_for(question: str) -> None:
    guess = classify(question)

    assert (guess.kind, guess.agent, guess.sure) == ("plan", "planner", True)


@pytest.mark.spec("S8")
@pytest.mark.parametrize(
    "question",
    [
        "First of all, thank you, then tell me a joke",
        "First of all, thank you. What is the capital then?",
        "First I felt ill, then I got better. Why?",
        "First explain this, then that",
        "Explain the first law of thermodynamics, then the second",
        "What is step 1 of the Krebs cycle?",
        "What are step 1 and step 2 of the Krebs cycle?",
        "Step 1 is glycolysis and step 2 is the Krebs cycle",
        "Step 1: glucose. Step 2: pyruvate. Which is step 3?",
        "Step 1 failed and step 2 was slow",
        "Compare step 1 and step 2 of glycolysis",
        "If I press the power button first, what happens then?",
        "How do I first boil and then peel eggs?",
        "Summarize this text:\nFirst, add water. Then stir.",
        "Translate this recipe: Step 1: add water. Step 2: stir.",
        "Erst war ich krank, dann hatte ich Urlaub. Was nun?",
        "Was ist Schritt 1 und Schritt 2 der Zellatmung?",
        "Schreib eine Geschichte, in der Tom zuerst einen Hund findet, dann verliert er ihn",
        "Write a story where Tom first finds a dog and then loses it",
        "Which came first, the chicken or the egg?",
    ],
)
def test_who_only_speaks_of_something_first_and_then_gets_no_plan_for_it(question: str) -> None:
    guess = classify(question)

    assert not (guess.kind == "plan" and guess.sure)


@pytest.mark.parametrize(
    "question",
    [
        "Write an essay with an introduction, a body and a conclusion",
        "What happens first when I press the power button?",
        "Write a Python script and run it",
        "Explain recursion and give an example",
        "Read the csv, compute the average of the price column and plot it",
        "Write a poem about the sea and the wind",
        "Schreibe ein Skript und führe es aus",
    ],
)
def test_several_words_for_one_agents_work_are_no_plan(question: str) -> None:
    assert classify(question).kind != "plan"


@pytest.mark.parametrize(
    "question",
    [
        "Escribe un correo a mi jefe para pedir vacaciones",
        "请在网上查一下今天东京的天气",
        "Proofread the spreadsheet",
        "Wetter Berlin",
        "I have moved here last month. My neighbour is loud. It has been going on for weeks, and nobody helps.",
        "What did we agree with Acme on payment terms?",
    ],
)
def test_what_the_patterns_cannot_tell_is_left_to_the_router(question: str) -> None:
    assert not classify(question).sure


@pytest.mark.parametrize(
    "question",
    [
        "Write a mail to Bob about the flight and the hotel",
        "Find the mail from Carla and forward it to Tom",
        "Search my inbox for the invoice and forward it to accounting@example.org",
        "Tell Sarah I can't come and send her an email",
        "Forward the mail from HR to Tom and tell him to hurry",
        "Lies die Mail von Carla und schicke sie an Tom",
        "Send it to my wife",
        "Schicke es an Anna",
    ],
)
def test_what_the_mailbox_has_itself_is_sent_on_without_a_plan(question: str) -> None:
    guess = classify(question)

    assert (guess.kind, guess.agent, guess.sure) == ("direct", "mail", True)


@pytest.mark.parametrize(
    "question",
    [
        "Search the web for e-bikes and save the list as a file",
        "Summarize my uploaded contract and save it as summary.md",
        "Suche im Internet nach Bildern von Bienen und zeichne eine",
        "What are the best laptops for students? Mail me the list.",
        "Welche Laptops sind gut? Schick die Liste an Tom.",
    ],
)
def test_a_later_part_that_its_agent_can_give_to_nobody_makes_it_unsure(question: str) -> None:
    assert not classify(question).sure


@pytest.mark.parametrize(
    "text",
    [
        "thanks!",
        "Thanks a lot!",
        "ok, great",
        "Yes please",
        "No thanks, that's all for now",
        "Thanks for the report",
        "Thanks, that was very helpful",
        "Thank you so much, Bob! That sounds good.",
        "Hi Anna, how are you today?",
        "Hello world",
        "👍 nice",
        "Nein, danke!",
        "Vielen Dank für die Zusammenfassung",
        "alles klar, danke dir",
        "Guten Morgen zusammen",
        "ja bitte",
        "Das hilft mir sehr",
    ],
)
def test_greetings_thanks_and_words_of_that_kind_are_small_talk_whatever_comes_together(text: str) -> None:
    guess = classify(text)

    assert (guess.agent, guess.confidence, guess.sure) == ("chat", 0.95, True)


@pytest.mark.parametrize(
    "text",
    [
        "no, I meant the other one",
        "Nein, ich meinte den anderen",
        "no, the 2023 one",
        "no, for Q4 please",
        "yes, the second one",
        "ja, für alle drei Regionen",
        "yes, Munich",
        "ok, and in our city?",
        "Thanks, shorter please",
        "danke, weiter",
        "Great, and Bob's?",
        "Danke, Umsatz?",
        "bob@example.org",
        "Q4",
        "mach das",
    ],
)
def test_a_reply_that_says_more_is_no_small_talk_and_goes_on_with_what_was_said(text: str) -> None:
    assert classify(text).confidence < 0.9
    assert goes_on(text)


@pytest.mark.parametrize(
    "text",
    [
        "ok, tell me a joke",
        "Thanks. What is the capital of France?",
        "Danke. Was ist ein Kahn-Sort?",
        "Hi, can you suggest a name for my cat?",
        "Great Britain has how many counties?",
        "Who is maria@firma.es?",
        "Why is the sky blue?",
        "Explain recursion",
        "👍",
        "?!",
    ],
)
def test_what_can_be_understood_by_itself_does_not_go_on(text: str) -> None:
    guess = classify(text)

    assert (guess.agent, guess.sure) == ("chat", True)
    assert not goes_on(text)


def test_what_a_search_is_answered_with_is_no_part_of_its_own() -> None:
    guess = classify("Search the web for e-bikes and make a table")

    assert (guess.agent, guess.sure) == ("web", True)


def test_rivals_of_like_strength_are_named() -> None:
    guess = classify("Proofread the spreadsheet")

    assert {guess.agent, *guess.rivals} == {"data", "writing"}
    assert guess.confidence < 0.5


@pytest.mark.parametrize("nothing", ["", "   \n", "👍", "?!", "…", "\x00", "\ud800"])
def test_nothing_to_read_is_chat(nothing: str) -> None:
    assert (classify(nothing).agent, classify(nothing).sure) == ("chat", True)


def test_pasted_text_does_not_steer_the_question() -> None:
    pasted = "Then email it to bob@example.org and search the web. " * 3_000
    question = f"Explain this text\n\n{'Lorem ipsum dolor sit amet. ' * 400}{pasted}{'Lorem ipsum dolor. ' * 200}"

    assert classify(question).agent == "chat"


def test_pasted_code_is_work_for_the_code_agent_and_is_not_read_for_words() -> None:
    guess = classify("Why is it slow?\n```python\n# search the web, then email the report\nfor x in y: pass\n```")

    assert (guess.agent, guess.sure) == ("code", True)


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "piece",
    [
        "a",
        " ",
        "\n",
        "- ",
        "1. ",
        "then ",
        "and then ",
        "send ",
        "write a ",
        "first ",
        "mail ",
        "ok, ",
        "no thanks ",
        "very good ",
        "in the ",
        "a@",
        "http",
        "ä",
        "```",
    ],
)
def test_two_hundred_thousand_characters_are_no_trouble(piece: str) -> None:
    text = piece * (200_000 // len(piece))

    assert classify(text)
    assert goes_on(text) in (True, False)
    assert len(readable(text)) <= READ_CHARS + 1


@given(st.text(max_size=400))
def test_any_text_gets_a_guess(text: str) -> None:
    guess = classify(text)

    assert 0 <= guess.confidence <= 1
    assert guess == classify(text)
