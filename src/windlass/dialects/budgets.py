"""`budget` of a definition: what a run, or each task of a node, may use up."""

from windlass.dialects.fields import Fields
from windlass.model.budgets import Budget, read_budget


def read_budget_field(fields: Fields) -> str:
    """A budget as graphs keep it; empty where there is none."""
    if not fields.has("budget"):
        return ""
    found = read_budget(fields.raw("budget"))
    if isinstance(found, Budget):
        return found.json()
    hint = "as in {tokens: 100000, money: 2.5, estimate: {tokens: 2000}}"
    fields.problems.add(fields.at("budget"), found, hint)
    return ""
