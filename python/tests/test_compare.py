"""Tests for comparisons: accepted inputs, queries, results, and errors."""

from __future__ import annotations

import gzip
import io
import json
import os
import pickle
import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import EXAMPLES, FIXTURES

import tracetree


def same(one: tracetree.Comparison, other: tracetree.Comparison) -> bool:
    return all(one.table(name).to_csv() == other.table(name).to_csv() for name in one.table_names)


@pytest.mark.filterwarnings("ignore::tracetree.TraceWarning")
def test_files_of_other_recorders_are_known_by_their_content() -> None:
    export = (FIXTURES / "recorders" / "nsight.sqlite.gz").read_bytes()
    profile = gzip.decompress((EXAMPLES / "jax" / "jax_base.xplane.pb.gz").read_bytes())
    for given in (export, gzip.decompress(export), profile):
        d = tracetree.diff(given, given)
        assert len(d.rows) > 0 and "programs are identical" in d.text()
    mixed = tracetree.diff(export, profile)
    assert "DIFFERENT_RECORDER" in {note["code"] for note in mixed.notes}


def test_a_trace_can_be_a_path_bytes_a_file_or_a_dict(
    pair: tuple[Path, Path], d: tracetree.Comparison
) -> None:
    baseline, candidate = pair
    packed = baseline.read_bytes()
    plain = gzip.decompress(packed)
    given: list[Any] = [
        str(baseline),
        packed,
        bytearray(plain),
        memoryview(plain),
        io.BytesIO(packed),
        io.StringIO(plain.decode()),
        json.loads(plain),
        [baseline],
        (packed,),
        tracetree.open(baseline),
    ]
    for trace in given:
        assert same(tracetree.diff(trace, candidate), d), type(trace)
    with baseline.open("rb") as file:
        assert same(tracetree.diff(file, candidate), d)
    # A gzip file that was opened in text mode.
    with baseline.open() as text:
        assert same(tracetree.diff(text, candidate), d)


class Remote(io.RawIOBase):
    """A remote file that must be read in pieces and can fail midway."""

    def __init__(self, content: bytes, fails_at: int | None = None) -> None:
        self.content, self.fails_at, self.at, self.largest = content, fails_at, 0, 0

    def read(self, size: int = -1) -> bytes:
        assert size > 0, "the whole file was requested at once"
        self.largest = max(self.largest, size)
        if self.fails_at is not None and self.at + size > self.fails_at:
            raise ConnectionError("the bucket is gone")
        self.at, piece = self.at + size, self.content[self.at : self.at + size]
        return piece


def test_a_file_object_is_read_in_pieces(pair: tuple[Path, Path], d: tracetree.Comparison) -> None:
    # The trailing spaces make the trace large, but readers ignore them.
    baseline, candidate = (Remote(gzip.decompress(path.read_bytes()) + b" " * (40 << 20)) for path in pair)
    assert same(tracetree.diff(baseline, candidate), d)
    for file in (baseline, candidate):
        assert file.at >= len(file.content) and file.largest <= 1 << 20


def test_a_file_object_that_fails_midway_is_an_error(pair: tuple[Path, Path]) -> None:
    file = Remote(gzip.decompress(pair[0].read_bytes()) + b" " * (40 << 20), fails_at=30 << 20)
    with pytest.raises(tracetree.TraceError, match="the bucket is gone"):
        tracetree.diff(file, pair[1])


def test_one_open_file_cannot_be_both_traces(pair: tuple[Path, Path]) -> None:
    with pair[0].open("rb") as file, pytest.raises(tracetree.UsageError, match=r"resnet\.rocm"):
        # If the file object were read a second time, the result would be an empty trace, so passing the object twice
        # has to raise an error.
        tracetree.diff(file, file)


def test_the_answer_is_what_the_command_line_prints(
    pair: tuple[Path, Path], d: tracetree.Comparison, tmp_path: Path
) -> None:
    paths = [str(path) for path in pair]
    output = ["-q", "--emit", "none", "-o", str(tmp_path / "report")]
    env = {**os.environ, "COLUMNS": "100"}

    def printed(*options: str) -> list[str]:
        command = [sys.executable, "-m", "tracetree", "diff", *paths, *output, *options]
        done = subprocess.run(command, check=True, capture_output=True, text=True, env=env)
        return done.stdout.splitlines()

    compared = tracetree.diff(*paths)
    # The command prints warnings to standard error.
    shown = [line for line in str(compared).splitlines() if not line.startswith("warning: ")]
    # The last line of the output names the report folder, which differs between the two runs.
    assert len(shown) > 15 and shown[:-1] == printed()[: len(shown) - 1]
    # Lines are shortened on a terminal, but not in a pipe.
    whole = [line for line in compared.text().splitlines() if "…" not in line]
    assert len(whole) > 40 and [line for line in whole if line not in printed("-v")] == []
    assert d.answer.split(":")[0] in shown[1]
    summary = json.loads((tmp_path / "report" / "summary.json").read_text())
    assert tracetree.diff(*paths).summary() == summary
    tree = (tmp_path / "report" / "merged_tree_output.txt").read_text()
    assert d.merged_tree() == tree


def test_explain_is_what_the_command_line_prints(pair: tuple[Path, Path]) -> None:
    paths = [str(path) for path in pair]
    command = [sys.executable, "-m", "tracetree", "explain", *paths, "--baseline", "39", "-q"]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    explanation = tracetree.diff(*paths).explain(baseline=39)
    assert str(explanation) == printed.rstrip()
    assert explanation.node.name == "aten::miopen_convolution"
    assert explanation.relation == "renamed"
    assert explanation.confidence == "likely"
    assert explanation.counterpart is not None
    assert explanation.counterpart.name == "aten::cudnn_convolution"
    assert explanation.evidence is not None and not explanation.evidence["same_name"]
    mirrored = tracetree.diff(*paths).explain(candidate=explanation.counterpart.uid)
    assert mirrored.counterpart == mirrored.counterpart and mirrored.counterpart is not None
    assert mirrored.counterpart.uid == 39


def test_every_match_names_its_pass(d: tracetree.Comparison) -> None:
    passes = set()
    for side in ("baseline", "candidate"):
        for node in d.find('op("*")', side):
            assert (node.matched_by is None) == (node.counterpart is None)
            if node.counterpart is not None:
                assert node.matched_by == node.counterpart.matched_by
                passes.add(node.matched_by)
    assert {"siblings", "variants"} <= passes and "pinned" not in passes
    explanation = d.explain(baseline=39)
    assert explanation.matched_by == d.node(39).matched_by == "variants"
    assert f"(pass {explanation.matched_by})" in str(explanation)
    alone = next(node for node in d.find('op("*")') if node.counterpart is None and node.uid is not None)
    assert d.explain(baseline=alone.uid).matched_by is None


def test_calls_can_be_matched_by_the_user(real: Path) -> None:
    pair = (real / "cpu" / "cnn.pt.trace.json.gz", real / "cpu" / "cnn_rerun.pt.trace.json.gz")
    one, other = 'module("Block_0")', 'module("Block_1")'
    pin = f"{one} = {other}"
    free = tracetree.diff(*pair)
    assert {node.counterpart.name for node in free.find(one) if node.counterpart} == {"nn.Module: Block_0"}
    for given in (pin, [pin]):
        pinned = tracetree.diff(*pair, match=given)
        found = pinned.find(one)
        assert len(found) == len(pinned.find(other, "candidate")) == 3
        assert {(node.counterpart.name, node.matched_by) for node in found if node.counterpart} == {
            ("nn.Module: Block_1", "pinned")
        }
    with pytest.raises(tracetree.UsageError, match="no call matches"):
        tracetree.diff(*pair, match='module("Nothing") = module("Nothing")')


def test_swapping_the_sides_mirrors_the_comparison(
    pair: tuple[Path, Path], d: tracetree.Comparison
) -> None:
    mirror = tracetree.diff(pair[1], pair[0])
    there = zip(d.uid_map.column("uid_baseline"), d.uid_map.column("uid_candidate"))
    back = zip(mirror.uid_map.column("uid_candidate"), mirror.uid_map.column("uid_baseline"))
    assert set(there) == set(back)
    for figure in ("difference_us", "gpu_time_difference_us"):
        assert mirror.summary()[figure] == -d.summary()[figure]


def test_a_uid_leads_to_its_counterpart_and_back(d: tracetree.Comparison) -> None:
    pairs = list(zip(d.uid_map.column("uid_baseline"), d.uid_map.column("uid_candidate")))
    for baseline, candidate in pairs:
        if baseline is not None:
            assert d.corresponding_uid("baseline", baseline) == candidate
        if candidate is not None:
            assert d.corresponding_uid("candidate", candidate) == baseline
    assert d.corresponding_uid("baseline", 10**9) is None
    assert d.corresponding_uid("baseline", -1) is None
    assert d.corresponding_uid("baseline", 2**40) is None


def test_a_node_knows_its_surroundings(d: tracetree.Comparison) -> None:
    node = d.node(uid=38)
    assert (node.name, node.kind, node.side, node.uid) == ("aten::_convolution", "op", "baseline", 38)
    assert node.parent is not None and node in node.parent.children
    assert node.stack == [above.name for above in node.ancestors]
    assert node.stack[-1] == node.parent.name == "aten::convolution"
    assert node.module == "Conv2d_0"
    assert all(kernel.kind == "gpu" and node in kernel.ancestors for kernel in node.kernels)
    assert node.kernel_time_us == pytest.approx(sum(k.duration_us for k in node.kernels))
    row = next(row for row in d.rows.to_pylist() if row["uid_baseline"] == 38)
    # If a nested op has its own counterpart, the kernels below it are in the row for the nested op.
    names = [kernel.name for kernel in sorted(node.kernels, key=lambda k: k.start_us or 0.0)]
    left = iter(names)
    assert all(name in left for name in row["kernel_names_baseline"])
    assert node.arguments["input_shape"] == row["input_shape_baseline"]
    assert node.counterpart is not None and node.counterpart.counterpart == node
    assert node.counterpart.uid == row["uid_candidate"] and node.counterpart.side == "candidate"
    assert node.relation == "same"
    assert node.confidence == "firm"


def test_a_node_of_one_tree_has_no_counterpart(pair: tuple[Path, Path]) -> None:
    trace = tracetree.open(pair[0])
    tree = trace.tree()
    node = tree.node(38)
    assert (node.counterpart, node.relation, node.side) == (None, None, None)
    assert node.confidence is None
    assert len(list(tree)) == len(tree)
    assert [root.parent for root in tree.roots] == [None] * len(tree.roots)
    assert tree.roots[0].uid is None and tree.roots[0].start_us is None
    assert {node, tree.node(38)} == {node}
    assert tree.trace.source == trace.source == str(pair[0])


def test_a_trace_describes_its_content(pair: tuple[Path, Path]) -> None:
    trace = tracetree.open(pair[0])
    command = [sys.executable, "-m", "tracetree", "info", str(pair[0]), "--format", "json"]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert trace.info() == json.loads(printed)[0]
    assert len(trace) == trace.info()["events"]


def test_the_lowering_of_an_op_names_both_backends(d: tracetree.Comparison) -> None:
    lowering = d.lowering("aten::_convolution")
    assert lowering["row_count"] == 45
    names = [[op["name"] for op in lowering[side]["ops"]] for side in ("baseline", "candidate")]
    assert "aten::miopen_convolution" in names[0] and "aten::cudnn_convolution" in names[1]
    times = [row for row in d.names.to_pylist() if row["name"] == "aten::_convolution"]
    assert lowering["baseline"]["kernel_time_us"] == pytest.approx(
        1e3 * times[0]["kernel_time_sum_baseline_ms"]
    )
    with pytest.raises(KeyError, match="did you mean 'aten::_convolution'"):
        d.lowering("aten::_convolutio")


def test_the_report_is_a_folder_and_the_card_links_to_its_page(
    pair: tuple[Path, Path], tmp_path: Path
) -> None:
    d = tracetree.diff(*pair)
    assert "<a " not in d._repr_html_()
    files = d.report(tmp_path / "report", emit=["html", "xlsx"])
    assert {file.name for file in files} >= {"report.html", "report.xlsx", "diff_stats.csv"}
    assert all(file.is_file() for file in files)
    assert "report.html" in d._repr_html_()
    assert d.report(tmp_path / "plain", emit="none")
    assert not (tmp_path / "plain" / "report.html").exists()
    with pytest.raises(tracetree.UsageError, match="expected one of html, md, xlsx"):
        d.report(tmp_path / "report", emit="pdf")
    (tmp_path / "file").write_text("")
    with pytest.raises(tracetree.UsageError, match="is not a folder"):
        d.report(tmp_path / "file")


def test_a_report_overwrites_files_of_others_only_by_force(
    pair: tuple[Path, Path], tmp_path: Path
) -> None:
    d = tracetree.diff(*pair)
    (tmp_path / "report.md").write_text("mine")
    with pytest.raises(tracetree.UsageError, match="was not written by tracetree"):
        d.report(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["report.md"]
    assert (tmp_path / "report.md").read_text() == "mine"
    assert d.report(tmp_path, force=True)
    assert (tmp_path / "report.md").read_text() != "mine"


def test_the_card_has_the_content_of_the_terminal(d: tracetree.Comparison) -> None:
    from html import unescape

    card = unescape(d._repr_html_())
    assert d.answer.split("; ")[0] in card
    for line in d.bill.to_pylist()[:3]:
        assert line["sentence"] in card
    assert "12.498435" in card and "10.576672" in card
    assert "<script" not in card and "<style" not in card


def test_each_table_of_the_card_has_a_heading(d: tracetree.Comparison) -> None:
    html = d._repr_html_()
    for title in ("Changed for certain", "Same program, different speed: the environment differs", "Where the step falls behind"):
        assert html.count(f"<b>{title}</b>") == 1, title


def test_the_costs_of_all_changes_add_up_like_the_bill(d: tracetree.Comparison) -> None:
    changes = d.changes.to_pylist()
    expected = sum(row["price_us"] for row in d.bill.to_pylist())
    assert sum(row["attributed_us"] for row in changes) == pytest.approx(expected, abs=0.002)
    sites = {row["change"] for row in d.change_sites.to_pylist()}
    assert sites <= {row["change"] for row in changes}
    assert changes[0]["sentence"] in d._repr_html_()


def test_names_from_the_trace_are_escaped_in_the_card(tmp_path: Path) -> None:
    evil = "<img src=x onerror=alert(1)>"
    event = {"ph": "X", "cat": "cpu_op", "name": evil, "pid": 1, "tid": 1, "ts": 1, "dur": 5}
    other = {**event, "dur": 9}
    d = tracetree.diff({"traceEvents": [event]}, {"traceEvents": [other]}, names=("<b>a", "b"))
    for html in (d._repr_html_(), d.rows._repr_html_(), d.bill._repr_html_()):
        assert "<img" not in html and "<b>a" not in html


def test_options_are_those_of_the_command_line(pair: tuple[Path, Path], tmp_path: Path) -> None:
    def rows(*options: str) -> str:
        command = [sys.executable, "-m", "tracetree", "diff", *map(str, pair), "-q", *options]
        command += ["--emit", "none", "-o", str(tmp_path / "report")]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return (tmp_path / "report" / "diff_stats.csv").read_text(encoding="utf-8")

    aliases = tmp_path / "aliases.toml"
    aliases.write_text("[[alias]]\npattern = '^aten::(miopen|cudnn)_'\nname = 'aten::vendor_'\n")
    assert tracetree.diff(*pair, python=False).rows.to_csv() == rows("--no-python")
    assert tracetree.diff(*pair, options=tracetree.Options(aliases=aliases)).rows.to_csv() == rows("--alias", str(aliases))
    assert tracetree.diff(*pair, steps=range(1, 3)).rows.to_csv() == rows("--steps", "1..3")
    assert tracetree.diff(*pair, steps=2).rows.to_csv() == rows("--steps", "2")
    assert tracetree.diff(*pair, phase="train.forward").rows.to_csv() == (
        rows("--phase", "train.forward")
    )
    one = tracetree.diff(*pair, options=tracetree.Options(baseline_steps=0, candidate_steps="1.."))
    assert one.rows.to_csv() == rows("--base-steps", "0", "--new-steps", "1..")
    named = tracetree.diff(*pair, names=("before", "after"))
    assert str(named).startswith("before → after: ")
    assert "after takes 0.85x the GPU time of before" in named.text()


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        (3, TypeError, "a trace must be a path, bytes.*not int"),
        (None, TypeError, "not NoneType"),
        ([], ValueError, "the list of runs is empty"),
        ([[{"ph": "X"}]], TypeError, "traceEvents"),
        (b"", tracetree.TraceError, "<bytes>"),
        (b"{}", tracetree.TraceError, "traceEvents"),
        (b"\x1f\x8b\x08", tracetree.TraceError, "<bytes>"),
        ({"events": []}, tracetree.TraceError, "'events'"),
        ({"traceEvents": [{1, 2}]}, TypeError, "cannot be converted to JSON"),
        ({"traceEvents": []}, tracetree.TraceError, "nothing to compare"),
        ("missing.json", FileNotFoundError, "cannot open the trace.*missing.json"),
        ("examples", tracetree.UsageError, "examples: matches no trace.*a folder of traces"),
        ("README.md", tracetree.TraceError, "README.md"),
        ("a\0b", tracetree.TraceError, "NUL byte"),
    ],
)
def test_bad_input_raises_an_exception_with_a_remedy(
    pair: tuple[Path, Path], given: Any, error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        tracetree.diff(given, pair[1])
    with pytest.raises(error, match=says):
        tracetree.diff(pair[0], given)


def test_several_runs_of_a_side_are_one_comparison(pair: tuple[Path, Path]) -> None:
    several = tracetree.diff([pair[0], pair[0]], [pair[1], pair[1].read_bytes()])
    one = tracetree.diff(*pair)
    assert several.uid_map.to_csv() == one.uid_map.to_csv()
    assert "apart" in several.rows.columns and "apart" not in one.rows.columns


def test_a_path_query_finds_calls_of_a_side(d: tracetree.Comparison) -> None:
    found = d.find('op("aten::_convolution") / kernel("igemm_*")')
    assert found and all(node.kind == "gpu" and node.name.startswith("igemm_") for node in found)
    assert d.find('op("aten::no_such_op")', side="candidate") == []
    with pytest.raises(tracetree.UsageError, match="kernel"):
        d.find('kernal("gemm")')


def test_a_closed_file_is_reported(pair: tuple[Path, Path]) -> None:
    with pair[0].open("rb") as file:
        pass
    with pytest.raises(ValueError, match="resnet.rocm.json.gz: the file is closed"):
        tracetree.diff(file, pair[1])


def test_an_unreadable_file_is_a_permission_error(pair: tuple[Path, Path], tmp_path: Path) -> None:
    secret = tmp_path / "secret.json"
    secret.write_bytes(b"{}")
    secret.chmod(0)
    try:
        secret.read_bytes()
    except PermissionError:
        with pytest.raises(PermissionError, match="secret.json"):
            tracetree.diff(secret, pair[1])
    else:
        pytest.skip("this user can read every file")


def test_an_error_has_a_position(pair: tuple[Path, Path]) -> None:
    text = b'{"traceEvents": [{"ph": "X", "name": "a", '
    with pytest.raises(tracetree.TraceError) as raised:
        tracetree.diff(text, pair[1], options=tracetree.Options(strict=True))
    error = raised.value
    assert (error.kind, error.path) == ("malformed", "<bytes>")
    assert error.offset is not None and str(error.offset) in str(error)
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.kind, copy.offset) == (str(error), error.kind, error.offset)


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"steps": "9..3"}, tracetree.UsageError, "contains no step"),
        ({"steps": 99}, tracetree.UsageError, "no work in steps 99"),
        ({"steps": -1}, ValueError, "a position of at least 0"),
        ({"steps": range(0, 9, 2)}, ValueError, "without gaps"),
        ({"steps": 1.5}, TypeError, "steps must be a number, a range or a string, not 1.5 \\(float\\)"),
        ({"phase": "training"}, tracetree.UsageError, "expected one of prefill"),
        ({"names": ("a", "a")}, ValueError, "give them different names"),
        ({"options": tracetree.Options(relative_threshold=float("nan"))}, ValueError, "relative_threshold"),
        ({"options": tracetree.Options(aliases="missing.toml")}, FileNotFoundError, "missing.toml"),
        ({"options": tracetree.Options(max_unpacked=10)}, tracetree.TraceError, "10"),
        ({"colour": True}, TypeError, "colour"),
    ],
)
def test_bad_options_are_reported(
    pair: tuple[Path, Path], options: dict[str, Any], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        tracetree.diff(*pair, **options)


def test_a_node_that_does_not_exist_is_reported(d: tracetree.Comparison) -> None:
    for uid in (10**6, -1, 2**40):
        with pytest.raises(tracetree.UsageError, match=f"event {uid} in the baseline is neither a host call"):
            d.node(uid)
    with pytest.raises(ValueError, match='use "baseline" or "candidate"'):
        d.node(38, side="left")
    with pytest.raises(TypeError, match="one of baseline=uid and candidate=uid"):
        d.explain(baseline=1, candidate=2)


def test_ten_comparisons_of_one_program_have_the_same_headline(real: Path) -> None:
    runs = [real / "torch215" / f"cnn_base_{run}.json.gz" for run in range(1, 11)]
    headlines = set()
    for seed in range(10):
        random.Random(seed).shuffle(runs)
        d = tracetree.diff(runs[:5], runs[5:])
        text = " ".join(d.text().split())
        assert "medians of 5 runs each" in text and "not significant" in d.answer, f"seed {seed}"
        assert "The programs are identical" in text, f"seed {seed}"
        # The times differ from seed to seed, so they are removed before the headlines are compared.
        headline = d._card()["headline"]
        headlines.add(re.sub(r"\(.*?\)|[\d.]+ → [\d.]+ ms", "…", headline))
        assert headline.count("…") == 0
        assert all(change["change"] is None for change in d.changes.to_pylist()), f"seed {seed}"
        # The order in which the runs on one side are given has no effect.
        assert tracetree.diff(runs[4::-1], runs[:4:-1]).answer == d.answer
    assert headlines == {"No significant difference …: … per step, and the programs are identical"}
