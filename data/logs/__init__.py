"""Logs of a business: reading them, finding what is spoiled, and making cases of them."""

from memvalue.data.logs.cases_from_log import cases_from_log
from memvalue.data.logs.clean_log import clean_log
from memvalue.data.logs.log import Log
from memvalue.data.logs.log_cases import LogCases
from memvalue.data.logs.log_warning import LogWarning
from memvalue.data.logs.read_log import read_log

__all__ = ["Log", "LogCases", "LogWarning", "cases_from_log", "clean_log", "read_log"]
