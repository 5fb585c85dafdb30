"""The forms of notices: what is typed, bounded. Whether it is right is for `actions` to say."""

from typing import Any

from django import forms

from hyperagent.notices.kinds import CHOOSABLE, EventType, MailKind

EVENT_LABELS = {
    EventType.RUN_COMPLETED: "A run is completed",
    EventType.RUN_FAILED: "A run has failed",
    EventType.APPROVAL_REQUESTED: "Somebody is asked for a decision",
    EventType.APPROVAL_EXPIRING: "A decision is about to expire",
    EventType.BUDGET_THRESHOLD: "A budget is nearly used up",
    EventType.TEST: "Test",
}
MAIL_LABELS = {
    MailKind.REQUEST_WAITING: "Somebody else's run waits for my decision",
    MailKind.REQUEST_REMINDER: "A reminder, before a request expires",
    MailKind.REQUEST_TIMED_OUT: "A request has ended without an answer",
    MailKind.WEBHOOK_DISABLED: "One of my webhooks was switched off, because it failed for days",
}


class EndpointForm(forms.Form):
    url = forms.CharField(
        label="Address",
        max_length=2000,
        help_text="Where the events are posted to, such as https://example.org/hooks.",
        widget=forms.URLInput(attrs={"autocomplete": "off", "inputmode": "url", "spellcheck": "false"}),
    )
    events = forms.MultipleChoiceField(
        label="Events",
        choices=[(kind.value, EVENT_LABELS[kind]) for kind in CHOOSABLE],
        widget=forms.CheckboxSelectMultiple,
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", **kwargs})


class NewEndpointForm(EndpointForm):
    """An administrator may add one for the whole installation."""

    def __init__(self, *args: Any, is_staff: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if is_staff:
            self.fields["for_installation"] = forms.BooleanField(
                label="For the whole installation",
                required=False,
                help_text="Events of all people, without titles. All administrators see it.",
            )


class NotificationsForm(forms.Form):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", **kwargs})
        for kind, label in MAIL_LABELS.items():
            self.fields[kind.value] = forms.BooleanField(label=label, required=False)

    def wanted(self) -> dict[MailKind, bool]:
        return {kind: self.cleaned_data[kind.value] for kind in MailKind}
