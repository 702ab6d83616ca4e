"""The models of many businesses in MLflow: record, ask for the champion, roll back, list."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memvalue.serve.files import read_file, write_file
from memvalue.serve.model_store import absolute, artifact_folder, is_absent, model_store, shown, sqlite_file
from memvalue.serve.registry_uri import fetch
from memvalue.serve.value_model import ValueModel
from memvalue.serve.verify import MAX_BYTES
from memvalue.train.registry_run import Told, log_model, log_run
from memvalue.train.version import CHALLENGER, CHAMPION, Version, tag

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities.model_registry import ModelVersion

#: All recalibrations stand in one experiment, told apart by the tag ``memvalue.business``.
EXPERIMENT = "memvalue-recalibration"

#: MLflow forbids "/" and ":"; "@" and "%" would change the meaning of an address models:/NAME@champion.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")

#: Registered versions are read in pages.
_PAGE = 200


class Registry:
    """The registered models of one MLflow store, one a business.

    The alias ``champion`` is on the version in use, ``challenger`` on the latest that did not pass. Each
    version that became champion carries, from the moment it was recorded, the number of the champion before
    it; a rollback follows these links, so promotions and rollbacks may alternate as they like.

    Two processes may record for one business at once. A store in an SQLite file is locked while a version is
    recorded or a rollback made, so they take turns. A server offers no such lock: the last promotion stays,
    and both may name the same predecessor, in which case a rollback passes over the one that was champion
    for a moment; nothing else can come out, since a version and its links are written in one step before the
    alias moves.

    Parameters
    ----------
    uri
        ``sqlite:///FILE`` (files of runs go to ``mlartifacts`` beside it, as an absolute path), an MLflow
        server's address, or another store that MLflow knows. None switches the registry off:
        :meth:`record` and :meth:`champion` give None, and the other methods refuse.
    prefix
        Put before each business's name to make its registered model's, in a store that others use.

    Raises
    ------
    ValueError
        For what is no address of a store, or a malformed prefix.
    """

    def __init__(self, uri: str | None, *, prefix: str = "") -> None:
        if prefix and not _NAME.fullmatch(prefix):
            raise ValueError(f"prefix {prefix!r}: {_NAMES}")
        self.uri = None if uri is None else absolute(uri)
        self.prefix = prefix

    def record(
        self,
        business: str,
        *,
        model_path: str | os.PathLike[str],
        decision: str,
        promoted: bool,
        reasons: Sequence[str] = (),
        gain: float | None = None,
        ci: Sequence[float | None] = (None, None),
        params: Mapping[str, Any] | None = None,
        metrics: Mapping[str, float | None] | None = None,
        dataset: Mapping[str, Any] | None = None,
        tables: Mapping[str, Mapping[str, Sequence[Any]]] | None = None,
        plots: Mapping[str, bytes] | None = None,
        files: Mapping[str, str | bytes | Path] | None = None,
    ) -> Version | None:
        """Record one recalibration as a run, its candidate as a new version, and move one alias.

        The run is logged first, then the version is made with all its tags, then the alias moves: what fails
        on the way leaves the champion as it was, and a run marked as failed.

        Parameters
        ----------
        business
            Letters, digits, ".", "_" and "-", 128 at most, the first a letter or digit.
        model_path
            The candidate's file, whatever was decided about it; it is verified first and stored byte for
            byte. Where a champion that turned out worse than the base gives way to it, the base's file with
            ``promoted=True``, so that the champion is what is in use.
        decision
            The gate's word: ``promote``, ``keep-current`` or ``keep-base``.
        promoted
            Whether ``champion`` moves to this version; ``challenger`` moves otherwise, and the other alias
            stays.
        reasons
            The gate's, in sentences.
        gain, ci
            Retention of the candidate beyond what was in use, and (low, high); None or not finite where
            there is no number. Logged as metrics ``gain``, ``ci_low``, ``ci_high`` too.
        params
            Settings by name. What is no scalar is stored as JSON, cut at 500 letters.
        metrics
            Numbers by name; None and what is not finite is left out.
        dataset
            ``name``, ``digest`` (hex), ``source`` (a path or address; passwords are left out), and what else
            is known of the data, as plain values.
        tables
            Name → column → values, columns of one length: ``tables/NAME.json``.
        plots
            File name → PNG or SVG bytes, e.g. from :mod:`memvalue.train.plots`: ``plots/NAME``.
        files
            File name → text, bytes or a path to copy, e.g. ``report.json``.

        Returns
        -------
        The version with its aliases; None where the registry is off.

        Raises
        ------
        ValueError
            A malformed name, dataset or table; a model that cannot be verified; a name that something else
            is registered under; a store that cannot be used.
        """
        name = self._name(business)
        if self.uri is None:
            return None
        content = read_file(model_path, MAX_BYTES)
        golden = ValueModel.from_bytes(content).metadata["golden"]
        bounds = {"gain": gain, "ci_low": ci[0], "ci_high": ci[1]}
        told = Told(
            params={"decision": decision, "promoted": promoted} | dict(params or {}),
            metrics=bounds | dict(metrics or {}),
            dataset=None if dataset is None else dict(dataset) | {"source": shown(str(dataset["source"]))},
            tables=tables or {},
            plots=plots or {},
            files=files or {},
        )
        tags = {
            "business": business,
            "decision": decision,
            "reasons": "\n".join(" ".join(r.split()) for r in reasons),
            "sha256": hashlib.sha256(content).hexdigest(),
        } | {k: repr(float(v)) for k, v in bounds.items() if v is not None and abs(v) < float("inf")}
        with model_store(self.uri, create=True) as client:
            self._claim(client, name, business)
            experiment = self._experiment(client)
            run = client.create_run(
                experiment, run_name=business, tags={tag(k): v for k, v in tags.items() if v}
            ).info.run_id
            try:
                log_run(client, run, told)
                model = log_model(client, experiment, run, content, golden, told)
                client.set_terminated(run)
                if promoted:
                    before = self._aliases(client, name).get(CHAMPION)
                    tags |= {"champion_since": _now(), "previous_champion": str(before or "")}
                # An SQLite store looks models:/ID up in the process-wide tracking store, a server in itself.
                served = self.uri.startswith(("http:", "https:"))
                found = client.create_model_version(
                    name,
                    f"models:/{model.model_id}" if served else model.artifact_location,
                    run_id=run,
                    tags={tag(k): v for k, v in tags.items() if v},
                    description=": ".join([decision, *reasons[:1]]),
                    model_id=model.model_id,
                )
                client.set_registered_model_alias(name, CHAMPION if promoted else CHALLENGER, found.version)
            except BaseException:
                with contextlib.suppress(Exception):  # the first failure is the one to tell
                    client.set_terminated(run, "FAILED")
                raise
            return self._version(client, name, str(found.version))

    def champion(self, business: str, path: str | os.PathLike[str]) -> Version | None:
        """The version in use, its file written to ``path``; None where there is none, or no registry.

        Raises
        ------
        ValueError
            A malformed name, a file that is gone or not the recorded one, or a store that cannot be used.
        """
        name = self._name(business)
        if self.uri is None or not self._exists():
            return None
        with model_store(self.uri) as client:
            number = self._aliases(client, name).get(CHAMPION)
            if number is None:
                return None
            content = self._sound(client, name, number)
            found = self._version(client, name, number)
        write_file(path, content)
        return found

    def rollback(
        self, business: str, to: int | None = None, path: str | os.PathLike[str] | None = None
    ) -> Version:
        """Put the champion before this one, or version ``to``, back in its place.

        The version's file is read and verified before the alias moves. Going to the version that is champion
        already changes nothing.

        Parameters
        ----------
        business
            Whose model.
        to
            A version that has been champion. Default: the one before the champion. A further rollback goes
            on from there.
        path
            Also write the champion's file here, for runtimes that load plain files.

        Returns
        -------
        The version that is champion now.

        Raises
        ------
        ValueError
            There is no champion, nothing before it, ``to`` is no version that has been champion, its file
            cannot be used, or the store cannot.
        """
        name = self._name(business)
        with model_store(self._on()) as client:
            aliases = self._aliases(client, name)
            current = aliases.get(CHAMPION)
            if current is None:
                raise ValueError(f"{business!r} has no champion to roll back; {self._hint(business)}")
            now = self._version(client, name, current)
            target = str(self._before(client, name, now) if to is None else to)
            if to is not None and target != current:
                self._check_was_champion(client, name, to)
            content = self._sound(client, name, target)
            if path is not None:  # before the alias moves: what cannot be written must not half happen
                write_file(path, content)
            if target != current:
                moment = _now()
                client.set_registered_model_alias(name, CHAMPION, target)
                client.set_model_version_tag(name, target, tag("champion_since"), moment)
                client.set_model_version_tag(name, current, tag("rolled_back"), moment)
            return self._version(client, name, target)

    def history(self, business: str) -> list[Version]:
        """All versions of a business's model, the latest first.

        Raises
        ------
        ValueError
            A malformed name, a business without versions, or a store that cannot be used.
        """
        name = self._name(business)
        with model_store(self._on()) as client:
            aliases = self._aliases(client, name)
            found: list[ModelVersion] = []
            page: str | None = None
            while True:
                some = client.search_model_versions(f"name = '{name}'", max_results=_PAGE, page_token=page)
                found += [v for v in some if tag("business") in v.tags]
                page = some.token
                if not page:
                    break
            if not found:
                raise ValueError(f"nothing is recorded of {business!r} in {shown(self._on())}")
        return sorted((Version.of(v, aliases) for v in found), key=lambda v: -v.number)

    def _name(self, business: str) -> str:
        if not isinstance(business, str) or not _NAME.fullmatch(business):
            raise ValueError(f"business {business!r}: {_NAMES}")
        return self.prefix + business

    def _on(self) -> str:
        if self.uri is None:
            raise ValueError("the registry is off; name its store with --registry URI")
        return self.uri

    def _exists(self) -> bool:
        """False for an SQLite store that has not been made yet."""
        file = sqlite_file(self._on())
        return file is None or file.exists()

    def _hint(self, business: str) -> str:
        return f"`memvalue history {business}` lists what there is"

    def _claim(self, client: MlflowClient, name: str, business: str) -> None:
        """Register the model, or make sure that the one of this name is ours."""
        from mlflow.exceptions import MlflowException

        try:
            client.create_registered_model(
                name, {tag("business"): business}, f"What the memories of {business} are worth keeping."
            )
        except MlflowException as error:
            if error.error_code not in ("RESOURCE_ALREADY_EXISTS", "ALREADY_EXISTS"):
                raise
            try:
                mine = client.get_registered_model(name).tags.get(tag("business")) == business
            except MlflowException as other:  # a prompt, which shares the models' names
                if not is_absent(other):
                    raise
                mine = False
            if not mine:
                raise ValueError(
                    f"{name!r} is registered in {shown(self._on())}, but not as the model of a business; "
                    "name the business otherwise, or set a prefix"
                ) from None

    def _experiment(self, client: MlflowClient) -> str:
        from mlflow.exceptions import MlflowException

        found = client.get_experiment_by_name(EXPERIMENT)
        if found is None:
            try:
                return str(client.create_experiment(EXPERIMENT, artifact_folder(self._on())))
            except MlflowException as error:
                if error.error_code != "RESOURCE_ALREADY_EXISTS":
                    raise
            found = client.get_experiment_by_name(EXPERIMENT)  # made by another process just now
            assert found is not None
        if found.lifecycle_stage != "active":
            raise ValueError(
                f"the experiment {EXPERIMENT!r} of {shown(self._on())} was deleted; restore it with "
                f"`mlflow experiments restore -x {found.experiment_id}`"
            )
        return str(found.experiment_id)

    def _aliases(self, client: MlflowClient, name: str) -> dict[str, str]:
        from mlflow.exceptions import MlflowException

        try:
            return {k: str(v) for k, v in client.get_registered_model(name).aliases.items()}
        except MlflowException as error:
            if not is_absent(error):
                raise
            return {}

    def _version(self, client: MlflowClient, name: str, number: str) -> Version:
        return Version.of(client.get_model_version(name, number), self._aliases(client, name))

    def _sound(self, client: MlflowClient, name: str, number: str) -> bytes:
        content = fetch(client, name, number)
        ValueModel.from_bytes(content)
        return content

    def _before(self, client: MlflowClient, name: str, champion: Version) -> int:
        """The number of the champion before ``champion``."""
        before = champion.previous_champion
        if before is None:
            raise ValueError(
                f"version {champion.number} of {champion.business!r} was its first champion: there is none "
                "before it to go back to. Before it, the base model was in use"
            )
        if not self._has(client, name, before):
            raise ValueError(
                f"version {before} of {champion.business!r}, the champion before version "
                f"{champion.number}, was deleted; name another with --to ({self._hint(champion.business)})"
            )
        return before

    def _check_was_champion(self, client: MlflowClient, name: str, number: int) -> None:
        business = name.removeprefix(self.prefix)
        if not self._has(client, name, number):
            raise ValueError(f"{business!r} has no version {number}; {self._hint(business)}")
        found = self._version(client, name, str(number))
        if found.champion_since is None:
            raise ValueError(
                f"version {number} of {business!r} has never been champion (its decision was "
                f"{found.decision}); {self._hint(business)}"
            )

    def _has(self, client: MlflowClient, name: str, number: int) -> bool:
        from mlflow.exceptions import MlflowException

        try:
            client.get_model_version(name, str(number))
        except MlflowException as error:
            if not is_absent(error):
                raise
            return False
        return True


_NAMES = (
    "use letters, digits, '.', '_' and '-', 128 at most, the first a letter or digit: it becomes the name of "
    "a registered model"
)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
