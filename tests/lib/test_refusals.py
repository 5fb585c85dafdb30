"""What a person is told where something in a field is wrong: the sentence, and where."""

import pytest

from hyperagent.lib.refusals import Conflict, Refused


def test_one_field_is_told_by_its_sentence_alone_and_named_beside_it() -> None:
    refused = Conflict.at("name", "This name is taken.", code="name_taken", allowed=["other"])

    assert (refused.status, refused.as_error()) == (
        409,
        {
            "code": "name_taken",
            "message": "This name is taken.",
            "fields": {"name": ["This name is taken."]},
            "allowed": ["other"],
        },
    )


@pytest.mark.parametrize(
    ("place", "message"), [("reason", "Say why."), ("plan.0.agent", "plan.0.agent: Say why.")], ids=["field", "part"]
)
def test_of_several_faults_the_first_is_the_message_with_the_place_of_a_part(place: str, message: str) -> None:
    refused = Refused.of({place: ["Say why.", "And when."], "target": ["Name it."]})

    assert (refused.code, refused.message) == ("invalid", message)
    assert refused.fields == {place: ["Say why.", "And when."], "target": ["Name it."]}
