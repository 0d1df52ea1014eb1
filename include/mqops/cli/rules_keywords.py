"""`mqops rules keywords`: the keywords of a rules table, with completion of their names in the shell."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

from mqops.cli.columns import show_folded
from mqops.cli.outcome import json_option, show_json
from mqops.errors import SettingsError
from mqops.rules.keyword_text import described, document, listed
from mqops.rules.keywords import keywords_of, not_loaded


def completed(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The keywords that begin with these letters, in any case, each with what it means."""
    found = (one for one in keywords_of(extensions=True).values() if one.name.startswith(incomplete.upper()))
    return [CompletionItem(one.name, help=one.forms[0].meaning) for one in found]


@click.command()
@click.argument("keyword", required=False, shell_complete=completed)
@json_option
def keywords(*, keyword: str | None, as_json: bool) -> None:
    """List the keywords of a rules table, or say how to write KEYWORD and what it means."""
    known = keywords_of(extensions=True).values()
    found = [one for one in known if keyword is None or one.name == keyword.upper()]
    if not found:
        if keyword and (why := not_loaded().get(keyword.upper())):
            raise SettingsError(why)
        raise click.UsageError(f"{keyword!r} is not a keyword of a rules table: `mqops rules keywords` lists them")
    if as_json:
        show_json({"keywords": [document(one) for one in found]})
    else:
        for line in (described(found[0]) if keyword else listed(found)).split("\n"):
            show_folded(line, indent=6 if keyword else 10)
