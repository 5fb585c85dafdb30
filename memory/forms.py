"""The forms of projects and connectors: what is typed. Whether it is right is for the verbs to say."""

from typing import Any, Final

from django import forms
from django.utils.translation import gettext_lazy

from hyperagent.accounts.forms import PlainForm
from memory.kinds import ConnectorKind
from memory.projects import NAME_CHARS

KINDS: Final = {
    ConnectorKind.PAGE: gettext_lazy("Web page"),
    ConnectorKind.SITEMAP: gettext_lazy("Sitemap of a web site"),
    ConnectorKind.FOLDER: gettext_lazy("Folder on the server"),
}
# As they stand after "every".
PAUSES: Final = {
    900: gettext_lazy("15 minutes"),
    3_600: gettext_lazy("hour"),
    21_600: gettext_lazy("6 hours"),
    86_400: gettext_lazy("day"),
    604_800: gettext_lazy("week"),
}
USUAL_S: Final = 86_400


class ProjectForm(PlainForm):
    name = forms.CharField(
        label=gettext_lazy("Name"),
        required=False,
        strip=False,
        widget=forms.TextInput(attrs={"maxlength": NAME_CHARS, "required": True, "autocomplete": "off"}),
    )
    instructions = forms.CharField(
        label=gettext_lazy("Instructions"),
        required=False,
        strip=False,
        help_text=gettext_lazy(
            "What every agent is told in this project, such as “We write British English” or “Figures are in thousands "
            "of euros”."
        ),
        widget=forms.Textarea(attrs={"rows": 5}),
    )


class ConnectorForm(PlainForm):
    """Folders of the server are offered to administrators."""

    kind = forms.ChoiceField(label=gettext_lazy("What it is"))
    location = forms.CharField(
        label=gettext_lazy("Address"),
        required=False,
        strip=False,
        widget=forms.TextInput(
            attrs={
                "placeholder": "https://example.org/sitemap.xml",
                "maxlength": 2_000,
                "required": True,
                "autocomplete": "off",
                "autocapitalize": "off",
                "spellcheck": "false",
                "aria-describedby": "location-help",
            }
        ),
    )
    every_s = forms.TypedChoiceField(
        label=gettext_lazy("Look every"), choices=list(PAUSES.items()), coerce=int, initial=USUAL_S
    )

    def __init__(self, *args: Any, is_staff: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        kind = self.fields["kind"]
        assert isinstance(kind, forms.ChoiceField)
        kind.choices = [(k, words) for k, words in KINDS.items() if is_staff or k is not ConnectorKind.FOLDER]
        if is_staff:
            self.fields["location"].label = gettext_lazy("Address or path")
