"""HTML for notebooks: the card for a comparison and the first rows of a table."""

from __future__ import annotations

import os
from html import escape
from typing import TYPE_CHECKING

from tracetree._notes import lines

if TYPE_CHECKING:
    from tracetree._native import Comparison, Table, _Card

ROWS = 10
COLUMNS = 14
TEXT = 80

# The card uses no style sheet and no script, because both are removed from untrusted notebooks. Text is drawn in the
# colour of the notebook's theme, light or dark.
BOX = "border:1px solid rgba(128,128,128,.45);border-radius:6px;padding:10px 14px;max-width:76em"
DIM = "opacity:.65"
WARNING = "#b26a00"
WORSE, BETTER = "#d1383d", "#2f74d0"
# Padding is set here, because only some notebooks pad the cells of a table.
NUMBER = "text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap;padding:2px 8px"
LEFT = "text-align:left;padding:2px 8px"
PLAIN = "border-collapse:collapse;margin:6px 0"


def comparison(d: Comparison) -> str:
    """The card for a comparison: headline, bill, totals and a link to the page."""
    card = d._card()
    parts = [inputs(card), f'<div style="font-size:1.2em"><b>{escape(card["headline"])}</b></div>']
    parts.append(f"<div>{escape(card['leading'])}</div>")
    parts += [f'<div style="{DIM}">{escape(remark)}</div>' for remark in card["remarks"]]
    parts += [f'<div style="color:{WARNING}">⚠ {escape(line)}</div>' for line in lines(d)]
    parts += [layers(card), following(card), falls_behind(card)]
    evidence = f"{escape(card['evidence'])}; " if card["evidence"] else ""
    parts.append(f"<div>{evidence}{points(card['points'])}</div>")
    parts += [account(card), page(card["page"])]
    return f'<div style="{BOX}">{"".join(parts)}</div>'


def inputs(card: _Card) -> str:
    lines = []
    for side in card["sides"]:
        device = f" · {escape(side['device'])}" if side["device"] else ""
        lines.append(f"{escape(side['name'])} <code>{escape(side['path'])}</code>{device}")
    return f'<div style="{DIM};margin-bottom:6px">{"<br>".join(lines)}</div>'


def points(count: int) -> str:
    return "1 point of difference" if count == 1 else f"{count} points of difference"


def layers(card: _Card) -> str:
    """Lists first the changes to the program, and then how the speed of unchanged work differs."""
    parts = []
    for number, (title, shown, rest) in enumerate(card["layers"]):
        measure = f": {card['measure_of_changes']}" if number == 0 else ""
        parts.append(f'<b>{escape(title)}</b><span style="{DIM}">{escape(measure)}</span>')
        rows = [layer_line(*line) for line in shown]
        if rest:
            rows.append(f'<tr><td colspan="2" style="{LEFT};{DIM}">{escape(rest)}</td></tr>')
        parts.append(f'<table style="{PLAIN}">{"".join(rows)}</table>')
    return "".join(parts)


def layer_line(cost: str, sentence: str, detail: str, worse: bool) -> str:
    colour = WORSE if worse else BETTER
    title = f' title="{escape(detail)}"' if detail else ""
    cells = [
        f'<td style="{NUMBER};color:{colour}">{escape(cost)}</td>',
        f'<td style="{LEFT}"{title}>{escape(sentence)}</td>',
    ]
    return f"<tr>{''.join(cells)}</tr>"


def following(card: _Card) -> str:
    """The list of suggested next steps."""
    rows = []
    for text, command in card["next"]:
        code = f": <code>{escape(command)}</code>" if command else ""
        rows.append(f"<li>{escape(text)}{code}</li>")
    return f'<b>What to do</b><ol style="margin:4px 0">{"".join(rows)}</ol>' if rows else ""


def falls_behind(card: _Card) -> str:
    """The curve of how far the candidate is behind in one step, and the parts in which most time is lost or won."""
    if card["lag"] is None:
        return ""
    title, curve, parts = card["lag"]
    rows = []
    for lost, part in parts[:5]:
        colour = BETTER if lost.startswith("\N{MINUS SIGN}") else WORSE
        cells = f'<td style="{NUMBER};color:{colour}">{escape(lost)}</td><td style="{LEFT}">{escape(short(part))}</td>'
        rows.append(f"<tr>{cells}</tr>")
    line = f'<div style="font-family:monospace;white-space:pre;overflow-x:auto">{escape(curve)}</div>'
    return (
        f'<b>Where the step falls behind</b><span style="{DIM}"> {escape(title)}</span>{line}'
        f'<table style="{PLAIN}">{"".join(rows)}</table>'
    )


def account(card: _Card) -> str:
    what = "GPU time" if card["measure"] == "gpu_time" else "host self time of ops"
    heads = [f"{what}, ms", "matched", "unmatched", "launch not in trace", "total"]
    # Without GPU events, the column "launch not in trace" has no meaning.
    shown = [at for at in range(4) if at != 2 or card["measure"] == "gpu_time"]
    heads = [heads[0], *(heads[1 + at] for at in shown)]
    head = "".join(f'<th style="{NUMBER}">{text}</th>' for text in heads)
    rows = []
    for side in card["sides"]:
        cells = "".join(f'<td style="{NUMBER}">{time:.6f}</td>' for time in (side["account_ms"][at] for at in shown))
        rows.append(f'<tr><td style="{NUMBER}">{escape(side["name"])}</td>{cells}</tr>')
    exact = "" if card["exact"] else "<div><b>The rows do not add up to the totals.</b></div>"
    verdict = f"<div>{escape(card['verdict'])}</div>"
    return f'{verdict}<table style="{PLAIN}"><tr>{head}</tr>{"".join(rows)}</table>{exact}'


def page(path: os.PathLike[str] | None) -> str:
    if path is None:
        return f'<div style="{DIM}">Full report as a page: <code>.report("report/")</code></div>'
    shown = os.fspath(path)
    # A relative link works if the notebook server runs in the current folder.
    link = os.path.relpath(shown) if not os.path.isabs(shown) else shown
    return f'<div><a href="{escape(link)}" target="_blank">{escape(shown)}</a></div>'


def table(given: Table) -> str:
    """The first rows of a table."""
    names = given.columns
    shown = names[:COLUMNS]
    head = "".join(f'<th style="{LEFT}">{escape(name)}</th>' for name in shown)
    body = []
    for row in given.to_pylist(ROWS):
        cells = "".join(cell(row[name]) for name in shown)
        body.append(f"<tr>{cells}</tr>")
    rows = "1 row" if len(given) == 1 else f"{len(given)} rows"
    size = f"{rows} × {len(names)} columns"
    about = f'<div style="{DIM}">{escape(given.name)}: {escape(given.description)}; {size}</div>'
    return f'<div style="overflow-x:auto">{about}<table><tr>{head}</tr>{"".join(body)}</table></div>'


def cell(value: object) -> str:
    if value is None:
        return "<td></td>"
    if isinstance(value, float):
        return f'<td style="{NUMBER}">{value:,.3f}</td>'
    if isinstance(value, int):
        return f'<td style="{NUMBER}">{value}</td>'
    text = ", ".join(value) if isinstance(value, list) else str(value)
    return f'<td style="{LEFT}" title="{escape(text[:2000])}">{escape(short(text))}</td>'


def short(text: str) -> str:
    return text if len(text) <= TEXT else text[: TEXT - 1] + "…"
