"""Makes the Data Docs of Great Expectations pages that need no network and run no script.

1. GX takes Bootstrap, jQuery and icons from servers of others. Without a network its pages have no form, and its first
   page, which a script fills, is empty. With one, these servers learn who reads about which message.
2. Of GX's pages nothing is left but the tags and attributes of a list, and links among the pages. A style sheet of our
   own gives them their form again, and what a script would open is open.
3. Text of others is put in last, as text (`mqops.quality.docs_text`).
4. The first page is ours: a list of links to the others.
5. Each page says to the browser itself what it may do, because a page that is opened from disk comes without headers.
"""

from __future__ import annotations

import base64
import hashlib
import html
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from mqops.message_checks import CheckResult
from mqops.printable import visible
from mqops.quality.docs_text import DocsText

STYLE = """
body { font: 15px/1.45 sans-serif; margin: 0 auto; max-width: 1400px; padding: 0 1rem;
 color: #212529; background: #fff; }
a { color: #0b5ed7; } img { max-height: 50px; } ul { padding-left: 1.2rem; }
.row { display: flex; flex-wrap: wrap; } .row > div { box-sizing: border-box; }
.col-12 { width: 100%; } .col-6 { width: 50%; } .col-4 { width: 33%; }
.col-lg-2 { width: 20%; padding-right: 1rem; } .col-lg-10 { width: 80%; }
.sticky { position: static; } .d-flex { display: flex; align-items: center; } .breadcrumb, .nav { list-style: none; }
.alert, .card { border: 1px solid #dee2e6; border-radius: 4px; margin: 0.5rem 0; }
.alert, .card-header, .card-body { padding: 0.6rem; } .alert, .card-header { background: #f1f3f5; }
.collapse { display: block; } h4, h5, h6 { margin: 0.3rem 0; }
table { border-collapse: collapse; width: 100%; } th, td { text-align: left; vertical-align: top; padding: 0.3rem;
 border-top: 1px solid #dee2e6; overflow-wrap: anywhere; }
.badge { background: #e9ecef; border-radius: 4px; padding: 0 0.3rem; } code { background: #f1f3f5; }
.text-danger { color: #b02a37; } .text-success { color: #146c43; } .text-warning { color: #997404; }
.fa-times::before { content: "\\2717"; } .fa-check-circle::before { content: "\\2713"; }
.fa-exclamation-triangle::before { content: "!"; }
[onclick], .btn-group-toggle, .card.mb-3, .modal, #ge-cta-footer, .ge-cta-footer { display: none; }
"""
"""For the class names of Bootstrap and Font Awesome that GX's pages have."""
_OF_STYLE = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
POLICY = f"default-src 'none'; style-src 'sha256-{_OF_STYLE}'; base-uri 'none'; form-action 'none'"
"""Content-Security-Policy: our style sheet, and nothing else."""
INDEX = "index.html"
TAGS = frozenset(
    {
        *(
            "a",
            "b",
            "br",
            "code",
            "div",
            "em",
            "footer",
            "h1",
            "h2",
            "h3",
            "h4",
            "h5",
            "h6",
            "hr",
            "i",
            "li",
            "nav",
            "ol",
        ),
        *("p", "pre", "span", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul"),
    }
)
ATTRIBUTES = {"*": {"class", "id"}, "a": {"href"}, "td": {"colspan", "rowspan"}, "th": {"colspan", "rowspan"}}
"""All that is left of GX's pages."""
DROPPED = frozenset({"script", "style", "title", "svg", "math", "template", "iframe", "object", "noscript"})
"""Elements whose content goes with them."""
_OWN_PAGE = re.compile(r"#[\w-]+|(?:\.\./)*(?:[\w+-][\w.+-]*/)*[\w+-][\w.+-]*\.html(?:#[\w-]+)?", re.ASCII)
"""Where a link may lead: to a place on the page, or to another page of the folder."""


def make_offline(folder: Path, title: str, results: Sequence[CheckResult], texts: DocsText) -> None:
    """Rewrite the pages in a folder that GX has just made, remove their pictures and fonts, and write the first page.

    Parameters: `title` of the pages; `results` of all expectations, for the list of the first page; `texts` that belong
    on the others.
    """
    shutil.rmtree(folder / "static", ignore_errors=True)
    for page in folder.rglob("*.html"):
        page.write_text(offline(page.read_text(encoding="utf-8"), title, texts), encoding="utf-8")
    (folder / INDEX).write_text(whole_page(title, index_of(folder, title, results)), encoding="utf-8")


def offline(page: str, title: str, texts: DocsText) -> str:
    """What is allowed of a page of GX, with our style sheet and the texts."""
    import nh3  # noqa: PLC0415

    body = nh3.clean(
        page,
        tags=set(TAGS),
        attributes=ATTRIBUTES,
        clean_content_tags=set(DROPPED),
        attribute_filter=lambda _tag, name, value: value if name != "href" or _OWN_PAGE.fullmatch(value) else None,
        link_rel=None,
        url_schemes=set(),
    )
    return whole_page(title, texts.shown(body))


def whole_page(title: str, body: str) -> str:
    """A page, which runs no script and fetches nothing, also where it is opened from disk."""
    return (
        '<!DOCTYPE html><html><head><meta charset="UTF-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f"<title>{html.escape(visible(title))}</title><style>{STYLE}</style></head><body>{body}</body></html>\n"
    )


def index_of(folder: Path, title: str, results: Sequence[CheckResult]) -> str:
    """The first page's list of suites, each with links to its pages below the folder."""
    rows = []
    for suite in dict.fromkeys(result.suite for result in results):
        mine = [result for result in results if result.suite == suite]
        failed = sum(not result.met for result in mine)
        pages = sorted((folder / "validations" / suite).rglob("*.html"))
        seen = f'<a href="{_link(folder, pages[-1])}">its checks</a>' if pages else ""
        about = folder / "expectations" / f"{suite}.html"
        name = html.escape(suite)
        named = f'<a href="{_link(folder, about)}">{name}</a>' if about.is_file() else name
        rows.append(f"<tr><td>{named}</td><td>{len(mine):,}</td><td>{failed}</td><td>{seen}</td></tr>")
    heading = "<tr><th>suite</th><th>expectations</th><th>not met</th><th>results</th></tr>"
    return f"<h4>{html.escape(visible(title))}</h4><table>{heading}{''.join(rows)}</table>"


def _link(folder: Path, page: Path) -> str:
    return quote(page.relative_to(folder).as_posix())
