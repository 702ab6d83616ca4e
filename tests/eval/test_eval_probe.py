"""The probe learns who wrote a turn and never what was needed."""

from dataclasses import replace

import numpy as np
import pytest
from eval_cases import random_bench
from sklearn.metrics import roc_auc_score
from threadpoolctl import threadpool_limits

from memvalue.eval import Inapplicable
from memvalue.eval.probe import STYLE, SourceProbe


@pytest.fixture(autouse=True)
def one_thread():
    """Small fits wait for each other's threads on a busy machine."""
    with threadpool_limits(1):
        yield


def sourced(cases=20, *, seed=0, n=20):
    """Simulated turns are longer; everything else is noise."""
    rng = np.random.default_rng(seed)
    bench = random_bench(cases, seed=seed, n=n)
    evidence = rng.poisson(5, size=(len(bench), len(STYLE))).astype(np.float32)
    evidence[:, STYLE.index("words")] += 6 * (bench.source == "simulated")
    return replace(bench, evidence=evidence, evidence_names=STYLE)


@pytest.fixture(params=["evidence", "style"])
def probe(request):
    return SourceProbe("probe", reads=request.param)


def test_tells_the_source_of_cases_it_never_saw(probe):
    fitted = probe.fit(sourced(seed=1))
    test = sourced(seed=2)
    rows = test.person
    expected = roc_auc_score(test.source[rows] == "simulated", fitted.probability(test.blind())[rows])
    assert expected > 0.9
    assert fitted.auc(test) == pytest.approx(expected, abs=1e-12)


def test_auc_counts_ties_half(probe):
    fitted, test = probe.fit(sourced()), sourced(seed=3)
    flat = replace(test, evidence=np.tile(test.evidence[:1], (len(test), 1)), tokens=np.ones(len(test), int))
    assert fitted.auc(flat) == pytest.approx(0.5)


def test_persons_come_first_by_probability(probe):
    bench = sourced()
    fitted = probe.fit(bench)
    scores, chance = fitted.score(bench.blind()), fitted.probability(bench.blind())
    assert np.array_equal(scores[bench.person], 1 + chance[bench.person])
    assert (scores[~bench.person] == 0).all()


def test_what_was_needed_changes_nothing(probe):
    bench = sourced()
    other = replace(bench, needed=~bench.needed)
    a, b = (probe.fit(x).score(bench.blind()) for x in (bench, other))
    assert np.array_equal(a, b)


def test_sources_of_machine_turns_change_nothing(probe):
    bench = sourced()
    masked = bench.source.copy()
    masked[~bench.person] = ""
    a, b = (probe.fit(x).score(bench.blind()) for x in (bench, replace(bench, source=masked)))
    assert np.array_equal(a, b)


@pytest.mark.parametrize(
    ("source", "says"), [(None, "no source labels"), ("simulated", "all of the"), ("sharegpt", "none of the")]
)
def test_data_that_cannot_teach_it_is_named(probe, source, says):
    bench = sourced()
    labels = None if source is None else np.full(len(bench), source, dtype=object)
    with pytest.raises(Inapplicable, match=says):
        probe.fit(replace(bench, source=labels))


def test_auc_of_a_single_source_is_not_a_number(probe):
    bench = sourced()
    fitted = probe.fit(bench)
    assert np.isnan(fitted.auc(replace(bench, source=np.full(len(bench), "simulated", dtype=object))))
    with pytest.raises(Inapplicable, match="judged by source labels"):
        fitted.auc(replace(bench, source=None))


def test_ready_made_factors_are_refused_with_a_reason(probe):
    with pytest.raises(Inapplicable, match="needs a data set with texts"):
        probe.fit(random_bench(3))


def test_scoring_before_fitting_says_so(probe):
    with pytest.raises(ValueError, match="'probe' is not fitted"):
        probe.score(sourced(1).blind())
