"""What agents say to each other, as people are shown it: without values that are nobody's business to repeat."""

from agents.guardrails.showing import Shown

CARD = "4556 7375 8689 9855"
IBAN = "DE89 3704 0044 0532 0130 00"
KINDS = ("card", "iban", "email")


def test_numbers_of_cards_and_accounts_are_taken_out_of_what_agents_say() -> None:
    shown = Shown(KINDS, lambda: "Pay the invoice of anna@firm.example")

    told = shown.message({"role": "assistant", "content": f"Card {CARD}, account {IBAN}, anna@firm.io."})
    nested = shown.message({"role": "assistant", "content": {"cards": [f"It is {CARD}."]}})
    brought = shown.message({"role": "tool", "content": f"Card {CARD}"})

    assert CARD not in told["content"]
    assert IBAN not in told["content"]
    assert "anna@firm.io" in told["content"], "not a secret to who reads the run"
    assert CARD not in nested["content"]["cards"][0]
    assert brought["content"] == f"Card {CARD}"


def test_what_the_person_typed_stays_and_what_the_installation_leaves_in_too() -> None:
    typed = Shown(KINDS, lambda: f"Is {CARD.replace(' ', '-')} valid?")
    only_mail = Shown(("email",), lambda: "")

    assert CARD in typed.text(f"Card {CARD} is.")
    assert CARD in only_mail.text(f"Card {CARD} is.")
    assert typed.text("Nothing here.") == "Nothing here."
