"""Makes the Data Docs of Great Expectations pages that need no network and run no script.

1. GX takes Bootstrap, jQuery and icons from servers of others. Without a network its pages have no form, and its first
   page, which a script fills, is empty. With one, these servers learn who reads about which message.
2. Scripts, style sheets and pictures of others are removed. A style sheet of our own gives the pages their form again,
   and what a script would open is open.
3. The first page is ours: a list of links to the others.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from mqops.quality.summary import CheckResult

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
_SCRIPT = re.compile(r"<script\b.*?</script\s*>", re.DOTALL | re.IGNORECASE)
_SHEET = re.compile(r"<link\b[^>]*>", re.IGNORECASE)
_PICTURE = re.compile(r"<img\b[^>]*?\bsrc=\"https?:[^>]*>", re.IGNORECASE)
_IN_STYLE = re.compile(r"url\(\s*['\"]?https?:[^)]*\)", re.IGNORECASE)


def make_offline(folder: Path, title: str, results: Sequence[CheckResult]) -> Path:
    """Rewrite the pages in a folder, and write the first page; returns its path.

    Parameters: `folder` of the Data Docs; `title` of the first page; `results` of all expectations, for its list.
    """
    for page in folder.rglob("*.html"):
        page.write_text(offline(page.read_text(encoding="utf-8")), encoding="utf-8")
    index = folder / "index.html"
    index.write_text(_index(folder, title, results), encoding="utf-8")
    return index


def offline(page: str) -> str:
    """A page of GX without what it would fetch or run, and with our style sheet."""
    for pattern in (_SCRIPT, _SHEET, _PICTURE, _IN_STYLE):
        page = pattern.sub("", page)
    return page.replace("</head>", f"<style>{STYLE}</style></head>", 1)


def _index(folder: Path, title: str, results: Sequence[CheckResult]) -> str:
    rows = []
    for suite in dict.fromkeys(result.suite for result in results):
        mine = [result for result in results if result.suite == suite]
        failed = sum(not result.met for result in mine)
        pages = sorted((folder / "validations" / suite).rglob("*.html"))
        seen = f'<a href="{_link(folder, pages[-1])}">its checks</a>' if pages else ""
        about = folder / "expectations" / f"{suite}.html"
        name = html.escape(suite)
        named = f'<a href="{_link(folder, about)}">{name}</a>' if about.is_file() else name
        rows.append(f"<tr><td>{named}</td><td>{len(mine)}</td><td>{failed}</td><td>{seen}</td></tr>")
    heading = "<tr><th>suite</th><th>expectations</th><th>not met</th><th>results</th></tr>"
    return (
        f'<!DOCTYPE html><html><head><meta charset="UTF-8"><title>{html.escape(title)}</title><style>{STYLE}</style>'
        f"</head><body><h4>{html.escape(title)}</h4><table>{heading}{''.join(rows)}</table></body></html>\n"
    )


def _link(folder: Path, page: Path) -> str:
    return quote(page.relative_to(folder).as_posix())
