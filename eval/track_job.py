"""Record a finished fit in an MLflow store."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memvalue.configs import FitConfig
    from memvalue.eval.fit_job import FitResult

#: All fits stand in one experiment, told apart by their parameters.
EXPERIMENT = "memvalue"


def track_job(config: FitConfig, result: FitResult) -> str:
    """Log settings, held-out figures, the report and the model to ``config.track``.

    Parameters
    ----------
    config
        With ``track``, e.g. ``sqlite:///mlflow.db`` or a server's address.
    result
        The finished fit.

    Returns
    -------
    The run's id.

    Raises
    ------
    ValueError
        When the store cannot be used; the model has been written by then.
    """
    from memvalue.serve.model_store import artifact_folder, model_store

    assert config.track is not None
    try:
        with model_store(config.track, create=True) as client:
            found = client.get_experiment_by_name(EXPERIMENT)
            if found is not None:
                experiment = found.experiment_id
            else:
                experiment = client.create_experiment(EXPERIMENT, artifact_folder(config.track))
            run = client.create_run(experiment).info.run_id
            for key, value in config.model_dump(mode="json", exclude={"track", "cache"}).items():
                client.log_param(run, key, value)
            client.log_param(run, "data_digest", result.report.data["digest"])
            client.log_param(run, "config_digest", config.digest())
            record = result.report.to_dict()["policies"][config.model]
            for section in ("turns", "tokens", "source_controlled"):
                for budget, cell in (record.get(section) or {}).items():
                    if cell["mean"] is not None:
                        client.log_metric(run, f"{section}_{budget}", cell["mean"])
            with tempfile.TemporaryDirectory() as folder:
                report = Path(folder) / "report.json"
                report.write_text(result.report.to_json(), encoding="utf-8")
                client.log_artifact(run, str(report))
            client.log_artifact(run, str(result.path))
            client.set_terminated(run)
    except ValueError as e:
        raise ValueError(f"--track: {e}; the model itself is at {result.path}") from e
    return str(run)
