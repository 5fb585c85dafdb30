"""What people call the tools: declared with each tool, read without loading it, said in the reader's language."""

from agents.tools.catalogue.handoff_tools import HANDOFFS, delegate_to_research
from agents.tools.labels import declared_labels
from agents.tools.registry import tools
from hyperagent.lib.languages import speaking
from hyperagent.lib.stored_sentences import in_our_words
from hyperagent.lib.tool_labels import all_labels, tool_label

HANDED_OVER = {tool.name for tool in (*HANDOFFS, delegate_to_research)}


def test_what_is_read_of_the_sources_is_what_the_tools_say() -> None:
    assert declared_labels() == {tool.name: tool.label for tool in tools().values() if tool.label}


def test_every_tool_has_a_label_but_handovers_which_are_shown_as_such() -> None:
    assert {tool.name for tool in tools().values() if not tool.label} == HANDED_OVER


def test_a_tool_is_called_in_the_readers_language() -> None:
    assert tool_label("execute_code") == "Run a program"
    with speaking("de"):
        assert tool_label("execute_code") == "Ein Programm ausführen"
        assert [name for name, label in all_labels().items() if label == declared_labels()[name]] == []


def test_a_tool_without_a_label_is_called_by_its_name_in_words() -> None:
    assert tool_label("gone_since_long") == "Gone since long"
    assert tool_label("mcp_github_create_issue") == "Create issue (github)"
    assert tool_label("mcp_my_tickets_close") == "Close (tickets)"


def test_stored_sentences_call_tools_as_people_do_in_every_language() -> None:
    asked, plan = "May the code agent call execute_code?", "It may do what cannot be undone: send_email, delete_file."

    assert in_our_words(asked) == "May the code agent call “Run a program”?"
    assert in_our_words(plan) == "It may do what cannot be undone: “Send a mail”, “Delete a file”."
    with speaking("de"):
        assert "„Ein Programm ausführen“" in in_our_words(asked)
