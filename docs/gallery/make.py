"""Draws SVG pictures of what `tracetree diff` prints about bundled pairs of traces.

    python docs/gallery/make.py [TRACETREE]

The pictures are written to docs/images/*.svg. TRACETREE is the command, by default `tracetree`.
"""

import html
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
H100 = "examples/traces/h100/{}.pt.trace.json.gz"
CPU = "examples/traces/cpu/{}.pt.trace.json.gz"
# Each entry: name of the picture, baseline, candidate, additional arguments of `tracetree diff`.
PAIRS = [
    ("tf32", H100.format("resnet_eager"), H100.format("resnet_tf32_off"), []),
    ("platform", "examples/traces/resnet.rocm.json.gz", "examples/traces/resnet.cuda.json.gz", []),
    ("compiled", H100.format("resnet_eager"), H100.format("resnet_compiled"), []),
    ("attention", H100.format("tfm_flash"), H100.format("tfm_math"), []),
    ("graph", H100.format("decode_eager"), H100.format("decode_graph"),
     ["--new-capture", H100.format("decode_graph.capture")]),
    ("item", H100.format("train_base"), H100.format("train_item"), []),
    ("layer", H100.format("train_base"), H100.format("train_layer_gone"), []),
    ("optimizer", H100.format("train_base"), H100.format("train_fused_adam"), []),
    ("identical", H100.format("train_base"), H100.format("train_again"), []),
    ("checkpoint", CPU.format("cpu_base"), CPU.format("cpu_checkpoint"), []),
]
COLOURS = {"1": "font-weight:bold", "2": "opacity:.6", "31": "fill:#ff8078", "32": "fill:#7ee787",
           "33": "fill:#e3b341", "36": "fill:#79c0ff"}
WIDTH, LINE, LETTER = 100, 18, 8.4


def opening(text: str) -> list[str]:
    """Returns the first lines of the output: at most 24, and only those before "Where the time went"."""
    lines = text.splitlines()
    plain = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in lines]
    end = next((at for at, line in enumerate(plain) if line.startswith("Where the time went")), len(lines))
    return lines[:end][:24]


def spans(line: str) -> str:
    """Converts a line with ANSI color codes to SVG spans."""
    out, styles = [], []
    for part in re.split(r"(\x1b\[[0-9;]*m)", line):
        code = re.fullmatch(r"\x1b\[([0-9;]*)m", part)
        if code:
            codes = code[1].split(";")
            styles = [] if codes in ([""], ["0"]) else styles + [COLOURS[c] for c in codes if c in COLOURS]
        elif part:
            style = f' style="{";".join(styles)}"' if styles else ""
            out.append(f"<tspan{style}>{html.escape(part)}</tspan>")
    return "".join(out)


def picture(command: str, lines: list[str]) -> str:
    rows = [f'<tspan style="fill:#7ee787">$</tspan> <tspan>{html.escape(command)}</tspan>', "", *map(spans, lines)]
    height = LINE * (len(rows) + 2)
    width = round(WIDTH * LETTER + 40)
    text = "\n".join(
        f'<text x="20" y="{LINE * (at + 2)}">{row}</text>' for at, row in enumerate(rows) if row
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">\n'
        "<style>text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#e6edf3;white-space:pre}"
        f"</style>\n<rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#0d1117\"/>\n{text}\n</svg>\n"
    )


def main() -> None:
    tracetree = sys.argv[1] if len(sys.argv) > 1 else "tracetree"
    for name, base, new, more in PAIRS:
        arguments = ["diff", base, new, *more]
        run = subprocess.run(
            [tracetree, *arguments, "--no-report", "--color", "always", "-q"],
            cwd=ROOT, capture_output=True, text=True, check=True, env={"COLUMNS": str(WIDTH)},
        )
        short = "tracetree diff " + " ".join(Path(path).name.removesuffix(".json.gz").removesuffix(".pt.trace") for path in (base, new))
        (ROOT / f"docs/images/{name}.svg").write_text(picture(short, opening(run.stdout)), encoding="utf-8")
        print(f"docs/images/{name}.svg")


main()
