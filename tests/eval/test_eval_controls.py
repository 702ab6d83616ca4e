"""The controls say what a figure owes to the benchmark, and say why where the data cannot tell."""

import io
import json
from dataclasses import replace

import numpy as np
import pytest
from eval_cases import bench_of, case, random_bench
from threadpoolctl import threadpool_limits
from typer.testing import CliRunner

from memvalue.cli.main import app
from memvalue.configs import EvaluateConfig, FitConfig
from memvalue.data import Case, Dataset, load, paper_splits
from memvalue.data.consolidation import Consolidation
from memvalue.eval import FixedScores, Inapplicable, Report, evaluate_fixed, run_protocol
from memvalue.eval.controls_job import controls_job
from memvalue.eval.controls_table import controls_notes, controls_tables, identifiability_table
from memvalue.eval.evaluate_job import evaluate_job
from memvalue.eval.fit_job import fit_job
from memvalue.eval.learned import FactorModel
from memvalue.eval.measures import kept_share
from memvalue.eval.mixed_rehearsal import SIMILARITY, MixedRehearsal
from memvalue.eval.prepare_job import Setting, schedule
from memvalue.eval.some_cases import SomeCases
from memvalue.features.cache import EvidenceCache
from memvalue.features.names import FACTORS
from memvalue.train import LinearValueModel, export_model

SECTIONS = ["source", "artefacts", "drop_one", "learning_curve", "encoders", "overlap"]


@pytest.fixture(scope="module", autouse=True)
def quick_fits():
    """Searches of a few dozen weight vectors, on one thread: rows are compared here, not figures."""
    from memvalue.train.linear import LinearValueModel
    from memvalue.train.mlp import MLPValueModel

    def brief(fit, few):
        return lambda self, *args, **kwargs: fit(self.set_params(**few), *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch, threadpool_limits(1):
        for model, few in (
            (LinearValueModel, {"restarts": 1, "max_evaluations": 40}),
            (MLPValueModel, {"restarts": 1, "epochs": 2}),
        ):
            patch.setattr(model, "fit", brief(model.fit, few))
        yield


def made(dataset, definition="longmemeval", **options):
    setting = Setting.named(definition, "none", "batch")
    bench = setting.bench(dataset)
    return bench, controls_job(bench, dataset, setting, **{"splits": 2, "encoders": ("none",), **options})


class Trigrams:
    """An encoder that hashes letters in threes, so that texts that share words are close."""

    name, dim = "trigrams", 64

    def encode(self, texts):
        rows = np.zeros((len(texts), self.dim), np.float32)
        for i, text in enumerate(texts):
            for j in range(len(text) - 2):
                rows[i, sum(text[j : j + 3].encode()) % self.dim] += 1
        length = np.linalg.norm(rows, axis=1, keepdims=True)
        return rows / np.where(length > 0, length, 1)


def encoding(make):
    """What stands in for ``load_encoder``: ``make()`` for every encoder but none."""
    return lambda name: None if name == "none" else make()


@pytest.fixture(scope="module")
def simulated():
    return load("simulated:seed=1,cases=12")


@pytest.fixture(scope="module")
def found(simulated):
    """Everything at once, on twelve simulated cases, with an encoder of our own for ``static``."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("memvalue.features.encoder.load_encoder", encoding(Trigrams))
        setting = Setting.named("longmemeval", "none", "batch")
        bench = setting.bench(simulated)
        value = bench.factors.mean(axis=1)
        controls = controls_job(bench, simulated, setting, model=value, splits=2, encoders=("static",))
    return bench, value, controls


@pytest.fixture(scope="module")
def shared():
    """Ten cases of two talks; cases 2k and 2k + 1 have the talk with the needed turn in common."""
    cases = []
    for i in range(10):
        view = Consolidation(
            texts=(f"my dog Rex{i // 2} is {i // 2} years old", "nice", f"what is topic {i}?", "this"),
            roles=("user", "assistant", "user", "assistant"),
            sessions=np.array([0, 0, 1, 1]),
            positions=np.array([0, 1, 0, 1]),
            times=np.datetime64("2024-01-01T00:00:00", "s") + np.arange(4) * np.timedelta64(60, "s"),
            now=np.datetime64("2024-01-02T00:00:00", "s"),
        )
        cases.append(Case(f"c{i}", view, case(f"c{i}", [0], n=4).sealed))
    return Dataset("made:shared", "made", cases)


@pytest.fixture(scope="module")
def lengths():
    """The needed turn is short; a long one beside it has a slightly higher value."""
    cases = []
    for i in range(6):
        factors = np.zeros((6, 7), np.float32)
        factors[:, 4] = [0.9, 0.6, 0.1, 0.1, 0.1, 0.1]
        texts = [" ".join(["word"] * 100), "two words", *["some more words of talk"] * 4]
        cases.append(case(f"c{i}", [1], factors=factors, texts=texts))
    return bench_of(*cases)


class TestSections:
    def test_every_promised_control_is_there(self, found):
        _, _, controls = found
        sections = controls["sections"]
        assert list(sections) == SECTIONS
        assert {"model", "source_probe", "style_only", "linear_source_controlled", "linear"} <= set(
            sections["source"]["rows"]
        )
        assert list(sections["artefacts"]["rows"]) == [
            "linear with position and rehearsal", "linear with position", "linear with rehearsal",
            "linear with neither", "mlp_artefact_free",
        ]  # fmt: skip
        assert set(sections["drop_one"]["rows"]) == {"linear", *(f"linear_without_{f}" for f in FACTORS)}
        assert list(sections["learning_curve"]["rows"]) == [
            "linear from 2 cases",
            "linear from 5 cases",
            "linear",
        ]
        assert set(sections["encoders"]["rows"]) == {"linear", "linear with static similarity"}
        assert list(sections["overlap"]["rows"]) == ["linear"]
        assert any("grouped ones are the same" in note for note in sections["overlap"]["notes"])

    def test_a_model_that_exists_is_judged_as_it_is(self, found):
        bench, value, controls = found
        want = []
        for _, test in paper_splits(bench.cases, 2):
            half = bench.take(test)
            rows = np.concatenate([value[bench.offsets[c] : bench.offsets[c + 1]] for c in test])
            want.append(np.nanmean(kept_share(rows.astype(float), half.offsets, half.needed, (0.1,))))
        cell = controls["sections"]["source"]["rows"]["model"]["turns"]["0.1"]
        assert cell["mean"] == pytest.approx(np.mean(want))

    def test_every_row_has_the_figure_among_simulated_users(self, found):
        _, _, controls = found
        for section in controls["sections"].values():
            for row in section["rows"].values():
                assert set(row["source_controlled"]) == set(row["turns"]) == {"0.05", "0.1", "0.2", "0.3"}

    def test_differences_are_the_row_minus_the_reference(self, found):
        _, _, controls = found
        rows = controls["sections"]["drop_one"]["rows"]
        for name, row in rows.items():
            if name == "linear":
                assert row["difference"] == {}
                continue
            gap = row["difference"]["0.1"]
            # Twelve cases in two splits: each is held out about once, so the two means nearly agree.
            assert gap["mean"] == pytest.approx(
                row["turns"]["0.1"]["mean"] - rows["linear"]["turns"]["0.1"]["mean"], abs=0.2
            )
            assert gap["ci"][0] <= gap["mean"] <= gap["ci"][1]

    def test_asides_are_measured_to_be_of_no_use_rather_than_said_to_be(self, found):
        _, _, controls = found
        section = controls["sections"]["artefacts"]
        assert section["facts"]["asides_used"] == {"by_the_way": False, "asides": False}
        assert any("by_the_way" in note and "bit for bit" in note for note in section["notes"])

    def test_a_column_that_a_factor_reads_is_reported_as_used(self, simulated, monkeypatch):
        monkeypatch.setattr("memvalue.eval.controls_job.ASIDES", ("first_person",))
        _, controls = made(simulated)
        assert controls["sections"]["artefacts"]["facts"]["asides_used"] == {"first_person": True}
        assert (
            "first_person is read by a factor of this definition"
            in (controls["sections"]["artefacts"]["notes"])
        )

    def test_the_probes_ability_is_told(self, found):
        _, _, controls = found
        auc = controls["sections"]["source"]["facts"]["source_auc"]
        assert set(auc) == {"source_probe", "style_only"}
        assert all(0.5 < value <= 1 for value in auc.values())

    def test_the_encoder_is_said_to_change_no_factor(self, found):
        _, _, controls = found
        section = controls["sections"]["encoders"]
        assert section["facts"]["largest_change_of_a_factor"] == 0.0
        assert "no shipped definition does" in section["notes"][0]

    def test_the_same_settings_give_the_same_record(self, simulated):
        assert json.dumps(made(simulated)[1]) == json.dumps(made(simulated)[1])


class TestMissing:
    def test_without_source_labels_the_sections_say_so(self, simulated):
        bare = [
            Case(c.id, c.consolidation, type(c.sealed)(replace(c.sealed.open(), source=None)), c.kind)
            for c in simulated
        ]
        _, controls = made(Dataset("bare", "jsonl", bare), definition="default")
        source = controls["sections"]["source"]
        assert "no source labels in this data" in source["notes"][0]
        assert any("linear_source_controlled left out" in note for note in source["notes"])
        assert "source_probe" not in source["rows"] and "user_length" in source["rows"]
        tables = controls_tables(controls)
        assert not any("simulated" in head for t in tables for head in t.header)

    def test_ready_made_factors_leave_the_variants_out(self):
        dataset = load("confound:cases=8")
        _, controls = made(dataset)
        sections = controls["sections"]
        assert "ready-made" in sections["artefacts"]["notes"][0]
        assert "no encoder is asked" in sections["encoders"]["notes"][0]
        assert sections["encoders"]["rows"] == {}
        assert len(sections["drop_one"]["rows"]) == 8

    def test_many_texts_are_not_sent_to_the_sentence_encoder_unasked(self, simulated, monkeypatch):
        monkeypatch.setattr("memvalue.eval.controls_job.FEW_TEXTS", 10)
        monkeypatch.setattr("memvalue.features.encoder.load_encoder", encoding(Trigrams))
        _, controls = made(simulated, encoders=None)
        assert list(controls["sections"]["encoders"]["rows"]) == ["linear", "linear with static similarity"]
        assert any("--encoders static,minilm" in note for note in controls["sections"]["encoders"]["notes"])

    def test_an_encoder_that_is_not_there_is_a_note(self, simulated, monkeypatch):
        def missing():
            raise ValueError("not installed")

        monkeypatch.setattr("memvalue.features.encoder.load_encoder", encoding(missing))
        _, controls = made(simulated, encoders=("minilm",))
        assert "minilm left out: not installed" in controls["sections"]["encoders"]["notes"]

    def test_two_cases_are_enough_for_what_can_be_said(self, simulated):
        two = Dataset("two", "simulated", simulated.cases[:2])
        _, controls = made(two)
        assert list(controls["sections"]) == SECTIONS
        assert list(controls["sections"]["learning_curve"]["rows"]) == ["linear"]


class TestOverlap:
    def test_training_is_purged_of_shared_sessions_and_compared_with_as_few(self, shared):
        _, controls = made(shared, splits=3)
        section = controls["sections"]["overlap"]
        assert list(section["rows"]) == [
            "linear",
            "linear, purged training",
            "linear, as few at random",
            "linear, grouped splits",
        ]
        assert 0 < section["facts"]["purged_training_cases"] < 5
        assert section["facts"]["grouped_splits"]["test_needed_sessions_in_train"] == 0
        notes = controls_notes(controls, {})
        assert any("5 of 15 sessions occur in two cases or more" in note for note in notes)
        assert any("the row beside it has as few" in note for note in notes)

    def test_grouped_splits_are_really_grouped(self, shared):
        for train, test in schedule(shared, "grouped", 4):
            assert not set(train // 2) & set(test // 2)

    def test_grouped_controls_show_the_papers_splits_beside_them(self, shared):
        _, controls = made(shared, kind="grouped")
        section = controls["sections"]["overlap"]
        assert "linear, paper splits" in section["rows"]
        assert any("nothing to purge" in note for note in section["notes"])

    def test_when_everything_is_tied_no_grouped_split_exists(self, shared):
        same = Dataset("tied", "made", [replace(shared.cases[0], id=f"c{i}") for i in range(4)])
        _, controls = made(same)
        notes = controls["sections"]["overlap"]["notes"]
        assert any(note.startswith("no purged training") for note in notes)
        assert any(note.startswith("no grouped splits") for note in notes)


class TestTables:
    def test_figures_stand_in_the_table(self, found):
        _, _, controls = found
        tables = {t.title: t for t in controls_tables(controls)}
        table = next(t for title, t in tables.items() if "Each factor left out" in title)
        row = next(r for r in table.rows if r[0] == "linear_without_task_utility")
        cell = controls["sections"]["drop_one"]["rows"]["linear_without_task_utility"]
        assert row[1].strip() == f"{cell['turns']['0.05']['mean']:.3f}"
        assert row[6] == f"{cell['source_controlled']['0.1']['mean']:.3f}"
        assert row[-1].startswith(f"{cell['difference']['0.1']['mean']:+.3f} [")

    def test_the_learning_curve_shows_its_spread(self, found):
        _, _, controls = found
        table = next(t for t in controls_tables(controls) if "Learning curve" in t.title)
        assert all("±" in cell for row in table.rows for cell in row[1:5])

    def test_a_report_carries_and_prints_them(self, found):
        bench, value, controls = found
        report = evaluate_fixed(bench, {"x": value}, splits=2, resamples=99)
        report.controls = controls
        again = Report.from_json(report.to_json())
        assert again.to_json() == report.to_json()
        out = io.StringIO()
        again.print(out)
        assert "Controls. Learning curve" in out.getvalue()
        assert "controls, encoders: the definition asks an encoder only" in out.getvalue()

    def test_a_report_without_them_is_as_before(self):
        report = evaluate_fixed(random_bench(4), {"x": np.zeros(80)}, splits=2, resamples=9)
        assert report.controls == {} and report.identifiability == {}
        assert "Controls" not in report.text()

    def test_identifiability_is_a_row_a_factor(self):
        record = {
            "weight": 0.4, "informed": True, "plausible": [0.2, 0.5], "bootstrap": [0.25, 0.5],
            "used": 0.974, "positive": None, "flags": ["needed", "unsteady"], "profile": [],
        }  # fmt: skip
        table = identifiability_table({"cases": 9, "objective": 0.5, "refits": 40, "factors": {"f": record}})
        assert table is not None
        assert table.rows == [
            ["f", "0.400", "[0.200, 0.500]", "[0.250, 0.500]", "97 %", "–", "needed, unsteady"]
        ]
        assert identifiability_table({}) is identifiability_table({"missing": "why"}) is None
        assert controls_notes({}, {"missing": "why"}) == ["identifiability left out: why"]


class Seeing:
    """An estimator that keeps what it was fitted on and values memories by a factor."""

    def fit(self, X, y, groups=None, **options):
        self.X, self.y, self.options = X, y, options
        self.weights_ = np.eye(7)[4]
        return self

    def predict(self, X, **roles):
        return X[:, 4].astype(np.float64)


class TestPolicies:
    def test_some_cases_are_fitted_on_and_no_others(self):
        bench = random_bench(4)
        policy = SomeCases("few", FactorModel("all", lambda train: Seeing()), lambda train: np.array([2]))
        fitted = policy.fit(bench)
        assert np.array_equal(fitted.estimator.X, bench.take([2]).factors)
        with pytest.raises(ValueError, match="not fitted"):
            policy.score(bench.blind())

    def test_similarity_takes_its_share_of_rehearsal(self):
        bench = random_bench(4)
        near = np.linspace(0, 1, len(bench)).astype(np.float32)
        with_column = replace(bench, evidence=near[:, None], evidence_names=("similarity",))
        X = MixedRehearsal("mixed", lambda train: Seeing()).fit(with_column).estimator.X
        low, high = np.quantile(near[bench.person].astype(float), [0.05, 0.95])
        scaled = np.clip((near - low) / (high - low), 0, 1) * bench.person
        usage = FACTORS.index("usage_history")
        assert X[:, usage] == pytest.approx(
            (1 - SIMILARITY) * bench.factors[:, usage] + SIMILARITY * scaled, abs=1e-6
        )
        assert np.array_equal(np.delete(X, usage, 1), np.delete(bench.factors, usage, 1))

    @pytest.mark.parametrize("column", [None, np.nan])
    def test_without_similarities_there_is_nothing_to_mix(self, column):
        bench = random_bench(3)
        if column is not None:
            values = np.full((len(bench), 1), column, np.float32)
            bench = replace(bench, evidence=values, evidence_names=("similarity",))
        with pytest.raises(Inapplicable, match="build the bench with an encoder"):
            MixedRehearsal("mixed", lambda train: Seeing()).fit(bench)

    def test_encoded_turns_are_kept_in_the_cache(self, simulated, tmp_path, monkeypatch):
        calls = []

        class Counting(Trigrams):
            def encode(self, texts):
                calls.append(len(texts))
                return super().encode(texts)

        monkeypatch.setattr("memvalue.features.encoder.load_encoder", encoding(Counting))
        two = Dataset("two", "simulated", simulated.cases[:3])
        setting = replace(Setting.named("default", "none", "batch"), cache=EvidenceCache(tmp_path))
        bench = setting.bench(two)
        runs = [controls_job(bench, two, setting, splits=1, encoders=("static",)) for _ in range(2)]
        assert calls == [int(c.consolidation.person.sum()) for c in two]
        assert json.dumps(runs[0]) == json.dumps(runs[1])

    def test_the_source_controlled_fit_sees_simulated_users_turns_alone(self):
        bench = random_bench(4)
        fitted = FactorModel("inner", lambda train: Seeing(), source_controlled=True).fit(bench)
        assert np.array_equal(fitted.estimator.options["mask"], (bench.source == "simulated") & bench.person)
        assert fitted.score(replace(bench, source=None).blind()).shape == (len(bench),)

    def test_the_source_controlled_fit_says_what_it_lacks(self):
        policy = FactorModel("inner", lambda train: Seeing(), source_controlled=True)
        bench = random_bench(4)
        with pytest.raises(Inapplicable, match="no source labels"):
            policy.fit(replace(bench, source=None))
        with pytest.raises(Inapplicable, match="no turn of a simulated user"):
            policy.fit(replace(bench, source=np.full(len(bench), "sharegpt", dtype=object)))


class TestDensity:
    def test_only_the_token_columns_change(self, lengths):
        rows = [
            FactorModel("plain", lambda t: Seeing()),
            FactorModel("dense", lambda t: Seeing(), density=True),
        ]
        report = run_protocol(
            lengths, rows, main="plain", splits=2, budgets=[0.2], token_budgets=[0.05], resamples=9
        )
        plain, dense = report.policies["plain"], report.policies["dense"]
        assert plain["turns"] == dense["turns"]
        assert plain["tokens"]["0.05"]["mean"] == 0.0
        assert dense["tokens"]["0.05"]["mean"] == 1.0

    def test_the_exponent_is_of_the_training_cases(self, lengths):
        fitted = FactorModel("dense", lambda t: Seeing(), density=True).fit(lengths)
        # .9 / 100^γ < .6 / 2^γ from γ = ln(1.5) / ln(50) = .104 on.
        assert fitted.found_density.exponent == 0.15
        score = fitted.score(lengths.blind())
        assert fitted.token_score(lengths.blind(), score) == pytest.approx(score / lengths.tokens**0.15)

    def test_given_scores_may_rank_otherwise_by_tokens(self, lengths):
        value = lengths.factors[:, 4].astype(float)
        report = evaluate_fixed(
            lengths, {"x": value, "y": value}, token_scores={"y": value / lengths.tokens},
            splits=2, budgets=[0.2], token_budgets=[0.05], resamples=9,
        )  # fmt: skip
        assert report.policies["x"]["tokens"]["0.05"]["mean"] == 0.0
        assert report.policies["y"]["tokens"]["0.05"]["mean"] == 1.0
        assert report.policies["x"]["turns"] == report.policies["y"]["turns"]

    def test_token_scores_must_be_one_finite_number_a_memory(self, lengths):
        with pytest.raises(ValueError, match="gave memory 0 the score nan"):
            run_protocol(
                lengths,
                [FixedScores("x", np.zeros(36), np.full(36, np.nan))],
                main="x",
                splits=1,
                resamples=9,
            )


class TestJobs:
    @pytest.fixture(autouse=True)
    def no_encoder(self, monkeypatch):
        monkeypatch.setattr("memvalue.features.encoder.load_encoder", encoding(Trigrams))

    def test_a_fit_says_how_far_its_weights_are_pinned_and_what_they_owe(self, tmp_path):
        config = FitConfig(
            data="simulated:seed=1,cases=8", out=tmp_path / "m.onnx", splits=2, policies=("linear_density",),
            budgets=(0.1,), token_budgets=(0.05,), controls=True, identify=True, split_kind="grouped",
        )  # fmt: skip
        result = fit_job(config)
        made = result.report.to_dict()
        assert list(made["controls"]["sections"]) == SECTIONS
        assert set(made["identifiability"]["factors"]) == set(FACTORS)
        assert "Identifiability of the weights (8 cases, 40 refits)" in result.report.text()
        # By tokens the exported model ranks by density, and its figures are those of that row.
        metrics = result.metadata["metrics"]
        assert metrics["tokens_ranked_by"] == "density"
        assert metrics["tokens"]["0.05"][0] == made["policies"]["linear_density"]["tokens"]["0.05"]["mean"]

        command = f"evaluate {config.out} --data {config.data} --splits 2 --policies linear"
        judged = CliRunner().invoke(app, f"{command} --controls --encoders none --no-cache --json".split())
        assert judged.exit_code == 0, judged.output
        assert "model" in json.loads(judged.stdout)["controls"]["sections"]["source"]["rows"]

    def test_controls_and_profiles_do_not_change_which_model_is_meant(self):
        plain, more = FitConfig(), FitConfig(controls=True, identify=True)
        assert plain.digest() == more.digest()

    def test_a_network_has_no_weights_to_profile(self, tmp_path):
        config = FitConfig(
            data="confound:cases=8", out=tmp_path / "m.onnx", model="mlp", splits=1, policies=("random",),
            identify=True,
        )  # fmt: skip
        report = fit_job(config).report
        assert "use --model linear" in report.identifiability["missing"]
        assert "identifiability left out" in report.text()

    def test_the_exported_exponent_ranks_by_tokens(self, tmp_path):
        cases = random_bench(6)
        model = LinearValueModel.from_weights(np.eye(7)[4])
        path = tmp_path / "m.onnx"
        described = Setting.named("default", "none", "batch").described
        export_model(model, path, reference=cases.factors, density_exponent=0.5, definition=described)
        config = EvaluateConfig(model=path, data="confound:cases=6", splits=2, policies=("random",))
        report = evaluate_job(config)
        assert any("tokens^0.5" in note for note in report.notes)
