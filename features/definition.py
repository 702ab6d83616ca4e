"""Which evidence the factors may use: named sets of switches."""

from __future__ import annotations

from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Definition:
    """Switches of the factor formulas. The formulas themselves are the same everywhere.

    Parameters
    ----------
    name
        Short name, kept in the model's metadata.
    position
        May goal relevance use the place within the session (its opening)? Helps on LongMemEval, whose
        evidence opens its sessions, and misleads on Memora, whose evidence comes late.
    rehearsal
        May usage history use what comes up again in other conversations?
    novelty
        May task utility use words that are new to the store?
    """

    name: str
    position: bool = False
    rehearsal: bool = True
    novelty: bool = True

    def as_dict(self) -> dict[str, object]:
        """Plain data for metadata."""
        return asdict(self)

    @classmethod
    def named(cls, name: str) -> Definition:
        """The shipped definition of that name. Raises ValueError listing the names."""
        if name not in DEFINITIONS:
            raise ValueError(f"no factor definition {name!r}; choose one of {', '.join(DEFINITIONS)}")
        return DEFINITIONS[name]


#: ``default`` is what transfers between data sets, ``longmemeval`` the best under the paper's protocol,
#: ``artefact-free`` drops all that depends on how a benchmark was put together.
DEFINITIONS: dict[str, Definition] = {
    d.name: d
    for d in (
        Definition("default"),
        Definition("longmemeval", position=True),
        Definition("artefact-free", rehearsal=False),
    )
}
