"""The forms of notices: what is typed, bounded. Whether it is right is for `actions` to say."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy

from hyperagent.notices.kinds import CHOOSABLE, EventType, MailKind

EVENT_LABELS = {
    EventType.RUN_COMPLETED: gettext_lazy("A run is completed"),
    EventType.RUN_FAILED: gettext_lazy("A run has failed"),
    EventType.APPROVAL_REQUESTED: gettext_lazy("Somebody is asked for a decision"),
    EventType.APPROVAL_EXPIRING: gettext_lazy("A decision is about to expire"),
    EventType.BUDGET_THRESHOLD: gettext_lazy("A budget is nearly used up"),
    EventType.TEST: gettext_lazy("Test"),
}
MAIL_LABELS = {
    MailKind.REQUEST_WAITING: gettext_lazy("Somebody else's run waits for my decision"),
    MailKind.REQUEST_REMINDER: gettext_lazy("A reminder, before a request expires"),
    MailKind.REQUEST_TIMED_OUT: gettext_lazy("A request has ended without an answer"),
    MailKind.WEBHOOK_DISABLED: gettext_lazy("One of my webhooks was switched off, because it failed for days"),
    MailKind.BUDGET_THRESHOLD: gettext_lazy("A budget is nearly used up"),
    MailKind.SCHEDULE_FAILED: gettext_lazy("One of my schedules could not be asked, or was paused because it failed"),
}


class EndpointForm(forms.Form):
    url = forms.CharField(
        label=gettext_lazy("Address"),
        max_length=2000,
        help_text=gettext_lazy("Where the events are posted to, such as https://example.org/hooks."),
        widget=forms.URLInput(attrs={"autocomplete": "off", "inputmode": "url", "spellcheck": "false"}),
    )
    events = forms.MultipleChoiceField(
        label=gettext_lazy("Events"),
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
                label=gettext_lazy("For the whole installation"),
                required=False,
                help_text=gettext_lazy("Events of all people, without titles. All administrators see it."),
            )


class NotificationsForm(forms.Form):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", **kwargs})
        for kind, label in MAIL_LABELS.items():
            self.fields[kind.value] = forms.BooleanField(label=label, required=False)

    def wanted(self) -> dict[MailKind, bool]:
        return {kind: self.cleaned_data[kind.value] for kind in MailKind}
