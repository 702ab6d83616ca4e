"""The seven factors: from what is remembered to seven numbers in [0, 1]. Needs numpy alone."""

from memvalue.features.combine import combine, informed
from memvalue.features.definition import DEFINITIONS, Definition
from memvalue.features.evidence import Evidence
from memvalue.features.extract import Factors, extract
from memvalue.features.names import DEFINITION_VERSION, FACTORS
from memvalue.features.observe import observe

__all__ = [
    "DEFINITIONS", "DEFINITION_VERSION", "FACTORS",
    "Definition", "Evidence", "Factors", "combine", "extract", "informed", "observe",
]  # fmt: skip
