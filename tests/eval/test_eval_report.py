"""The JSON keeps its shape, holds no NaN, and the table shows the same figures."""

import io
import json

import numpy as np
import pytest
from eval_cases import bench_of, case, random_bench

from memvalue.eval import FixedScores, Report, evaluate_fixed, run_protocol

CELL = {"mean", "std", "ci"}


@pytest.fixture(scope="module")
def report() -> Report:
    bench = random_bench(12)
    return evaluate_fixed(
        bench,
        {"good": bench.factors[:, 4], "bad": -bench.factors[:, 4], "constant": np.zeros(len(bench))},
        splits=4,
        resamples=199,
    )


class TestShape:
    def test_the_documented_keys(self, report):
        made = json.loads(report.to_json())
        assert set(made) == {
            "data", "protocol", "policies", "comparisons", "weights", "model", "notes", "forgetting",
            "controls", "identifiability",
        }  # fmt: skip
        assert {"spec", "digest", "cases", "memories"} <= set(made["data"])
        assert {
            "splits",
            "budgets",
            "seed",
            "token_budgets",
            "kind",
            "regime",
            "encoder",
            "definition",
        } <= set(made["protocol"])
        good = made["policies"]["good"]
        assert set(good["turns"]) == {"0.01", "0.02", "0.05", "0.1", "0.2", "0.3", "0.4", "0.5"}
        assert set(good["tokens"]) == {"0.01", "0.02", "0.05", "0.1", "0.2", "0.3"}
        for cell in (good["turns"]["0.3"], good["by_type"]["a"]["0.3"], good["source_controlled"]["0.3"]):
            assert set(cell) == CELL
            assert len(cell["ci"]) == 2
        assert set(good["micro"]["0.3"]) == set(good["all_kept"]["0.3"]) == CELL
        assert set(made["comparisons"][0]) == {
            "main", "policy", "measure", "budget", "difference", "ci", "p", "p_holm", "significant",
        }  # fmt: skip

    def test_what_the_data_cannot_fill_is_empty(self, report):
        assert report.to_dict()["policies"]["good"]["obsolete"] == {}

    def test_it_comes_back_from_its_json(self, report):
        assert Report.from_json(report.to_json()).to_json() == report.to_json()

    @pytest.mark.parametrize("text", ["nonsense", "[1]", '{"data": {}}'])
    def test_another_file_is_refused(self, text):
        with pytest.raises(ValueError, match="not a report"):
            Report.from_json(text)

    def test_undefined_figures_are_null(self):
        one = evaluate_fixed(bench_of(case("a", [0], n=3)), {"x": [3, 2, 1]}, splits=2, resamples=9)
        made = json.loads(one.to_json(), parse_constant=pytest.fail)
        assert made["policies"]["x"]["turns"]["0.3"] == {"mean": 1.0, "std": 0.0, "ci": [None, None]}

    def test_saving_leaves_the_whole_file_and_nothing_else(self, report, tmp_path):
        report.save(tmp_path / "r.json")
        report.save(tmp_path / "r.json")
        assert [p.name for p in tmp_path.iterdir()] == ["r.json"]
        assert (tmp_path / "r.json").read_text(encoding="utf-8") == report.to_json()


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class TestTable:
    def test_every_policy_and_headline_stands_in_it(self, report):
        text = report.text()
        for part in (
            "good (main)",
            "bad",
            "constant",
            "[5 %]",
            "[10 %]",
            " 30 %",
            "By question type",
            "(6)",
        ):
            assert part in text

    def test_the_main_figures_are_those_of_the_json(self, report):
        cell = report.policies["good"]["turns"]["0.3"]
        assert f"{cell['mean']:.3f}±{cell['std']:.3f}" in report.text()

    def test_stars_mark_what_differs_after_correction(self, report):
        at = {(c["measure"], c["policy"], c["budget"]): c["significant"] for c in report.comparisons}
        assert at["turns", "bad", "0.3"]
        row = next(r for r in report.sections()[0].rows if r[0] == "bad")
        assert row[6].endswith("*")
        assert "Holm" in report.text()

    def test_names_of_types_are_broken_at_hyphens_so_that_many_fit(self):
        kinds = ("single-session-user", "knowledge-update")
        bench = random_bench(4, kinds=kinds)
        lines = evaluate_fixed(bench, {"x": np.zeros(len(bench))}, splits=2, resamples=9).text().splitlines()
        start = next(i for i, line in enumerate(lines) if line.startswith("By question type"))
        heads = [line.split() for line in lines[start + 1 : start + 5]]
        assert heads == [
            ["single-"],
            ["knowledge-", "session-"],
            ["update", "user"],
            ["policy", "(2)", "(2)"],
        ]

    def test_a_pipe_gets_plain_text(self, report):
        out = io.StringIO()
        report.print(out)
        assert out.getvalue() == report.text()

    def test_a_wide_terminal_gets_the_same_rows(self, report, monkeypatch):
        pytest.importorskip("rich")
        monkeypatch.setenv("COLUMNS", "200")
        monkeypatch.setenv("TERM", "xterm")
        out = Terminal()
        report.print(out)
        assert "good (main)" in out.getvalue()
        for section in report.sections():
            for row in section.rows:
                assert all(cell.strip() in out.getvalue() for cell in row)

    def test_a_narrow_terminal_loses_no_figure(self, report, monkeypatch):
        monkeypatch.setenv("COLUMNS", "40")
        out = Terminal()
        report.print(out)
        assert out.getvalue() == report.text()

    def test_one_case_and_one_policy_still_make_a_table(self):
        one = run_protocol(
            bench_of(case("a", [0], n=3)), [FixedScores("x", [3, 2, 1])], main="x", splits=1, resamples=9
        )
        assert "1 case, 3 memories" in one.text()
