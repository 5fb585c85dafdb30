"""The forms of the administrators' pages of budgets and prices. Say what was typed; `setting` decides."""

from typing import Any

from django import forms
from django.contrib.auth.models import Group
from django.utils.translation import gettext_lazy as _

from hyperagent.accounts.budgets import Period, Unit, Whose
from hyperagent.accounts.models import User
from hyperagent.lib.alphabet import by_name


class BudgetForm(forms.Form):
    whose = forms.ChoiceField(
        label=_("For"),
        choices=[
            (Whose.EVERYBODY.value, _("Each person")),
            (Whose.USER.value, _("One person")),
            (Whose.GROUP.value, _("A group, shared by its members")),
            (Whose.INSTALLATION.value, _("The whole installation")),
        ],
    )
    person = forms.EmailField(label=_("Person"), required=False, help_text=_("The e-mail address."), max_length=254)
    group = forms.ModelChoiceField(
        label=_("Group"), queryset=Group.objects.order_by(*by_name("name")), required=False, empty_label="–"
    )
    amount = forms.DecimalField(
        label=_("Amount"),
        min_value=0,
        max_digits=19,
        decimal_places=6,
        help_text=_("0 means no limit."),
        widget=forms.NumberInput(attrs={"step": "any", "inputmode": "decimal"}),
    )
    unit = forms.ChoiceField(
        label=_("Unit"), choices=[(Unit.USD.value, _("US dollars")), (Unit.TOKENS.value, _("tokens"))]
    )
    period = forms.ChoiceField(
        label=_("Period"), choices=[(Period.DAY.value, _("a day (UTC)")), (Period.MONTH.value, _("a month (UTC)"))]
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", **kwargs})

    def clean_person(self) -> User | None:
        address = self.cleaned_data["person"]
        if self.data.get("whose") != Whose.USER.value:
            return None
        found = User.objects.filter(email__iexact=address, deleted_at=None).first() if address else None
        if found is None:
            raise forms.ValidationError(_("Nobody here has this e-mail address."))
        return found

    def clean_group(self) -> Group | None:
        group: Group | None = self.cleaned_data["group"]
        if self.data.get("whose") != Whose.GROUP.value:
            return None
        if group is None:
            raise forms.ValidationError(_("Choose a group."))
        return group


class PriceForm(forms.Form):
    model = forms.CharField(
        label=_("Model"),
        max_length=200,
        help_text=_("As provider/model, such as mine/llama-4; without the provider it holds for all."),
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    input_usd = forms.DecimalField(label=_("Read (input)"), min_value=0, max_digits=14, decimal_places=6)
    output_usd = forms.DecimalField(label=_("Written (output)"), min_value=0, max_digits=14, decimal_places=6)
    cached_usd = forms.DecimalField(
        label=_("Read from the cache (if it differs)"), min_value=0, max_digits=14, decimal_places=6, required=False
    )
    reasoning_usd = forms.DecimalField(
        label=_("Thinking (if it differs)"), min_value=0, max_digits=14, decimal_places=6, required=False
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", **kwargs})
        for name in ("input_usd", "output_usd", "cached_usd", "reasoning_usd"):
            self.fields[name].widget.attrs |= {"step": "any", "inputmode": "decimal"}
