"""Honest tables: retention on held-out cases, its statistics, and the policies that stand beside ours."""

from memvalue.eval.bench import Bench, BlindBench
from memvalue.eval.policy import FixedScores, Inapplicable, Policy, Rule
from memvalue.eval.protocol import BUDGETS, TOKEN_BUDGETS, evaluate_fixed, run_protocol
from memvalue.eval.report import Report

__all__ = [
    "BUDGETS", "TOKEN_BUDGETS",
    "Bench", "BlindBench", "FixedScores", "Inapplicable", "Policy", "Report", "Rule",
    "evaluate_fixed", "run_protocol",
]  # fmt: skip
