"""The addresses of usage, below `/usage/`."""

from django.urls import URLPattern, path

from agents.usage import budget_views, views

APP_NAME = "usage"


def patterns(titles_of: views.Titles) -> tuple[list[URLPattern], str]:
    """For `include`. `titles_of`: what a person's conversations are called, which this app cannot know."""
    page = views.UsagePage.as_view(titles_of=titles_of)
    return [
        path("", page, name="page"),
        path("file", views.UsageFile.as_view(), name="file"),
        path("budgets/", budget_views.BudgetsPage.as_view(), name="budgets"),
        path("budgets/<int:budget_id>/end/", budget_views.BudgetEnd.as_view(), name="budget-end"),
        path("prices/", budget_views.PricesPage.as_view(), name="prices"),
        path("prices/back/", budget_views.PriceBack.as_view(), name="price-back"),
    ], APP_NAME
