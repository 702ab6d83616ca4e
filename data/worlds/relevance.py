"""What relevance nominates for a question: the nearest pages of its topic that exist by then."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from memvalue.data.worlds.world import CANDIDATES

#: Pages that are about the same thing and compete for a question.
TOPIC_PAGES = 24

#: Width of the embeddings, and how much of a page is its topic rather than its own.
DIMENSIONS, SHARED = 16, 0.85

#: Deviation of a question from its page, and of a single match (words in common, luck). Chosen so that
#: relevance alone answers about three questions in four, as in the article (75.9 %).
QUESTION_NOISE, MATCH_NOISE = 0.5, 0.02


def draw_embeddings(topic: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.float32]:
    """float32[n, d] unit rows around the centre of each page's topic."""
    centre = _unit(rng.standard_normal((int(topic.max()) + 1, DIMENSIONS)))
    own = _unit(rng.standard_normal((len(topic), DIMENSIONS)))
    return _unit(np.sqrt(SHARED) * centre[topic] + np.sqrt(1.0 - SHARED) * own).astype(np.float32)


def nominate(
    embedding: NDArray[np.float32],
    topic: NDArray[np.int64],
    created: NDArray[np.float64],
    need_time: NDArray[np.float64],
    need_page: NDArray[np.int64],
    rng: np.random.Generator,
    noise: float = QUESTION_NOISE,
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Candidates and their similarities, as ``World`` has them.

    Parameters
    ----------
    embedding, topic, created
        float32[n, d], int64[n], float64[n].
    need_time, need_page
        float64[m], int64[m].
    noise
        Deviation of a question from its page, in the units of unit rows.
    """
    m = len(need_time)
    candidates = np.full((m, CANDIDATES), -1, dtype=np.int64)
    similarity = np.full((m, CANDIDATES), np.nan, dtype=np.float32)
    spread = noise * np.sqrt(1.0 - SHARED)
    members = np.argsort(topic, kind="stable")
    page_edges = np.searchsorted(topic[members], np.arange(int(topic.max()) + 2))
    asked = topic[need_page]
    needs = np.argsort(asked, kind="stable")
    need_edges = np.searchsorted(asked[needs], np.arange(int(topic.max()) + 2))
    for t in range(len(page_edges) - 1):
        pages = members[page_edges[t] : page_edges[t + 1]]
        mine = needs[need_edges[t] : need_edges[t + 1]]
        if not len(mine):
            continue
        own = rng.standard_normal((len(mine), embedding.shape[1]))
        question = _unit(embedding[need_page[mine]] + spread * own)
        scores = question @ embedding[pages].T + MATCH_NOISE * rng.standard_normal((len(mine), len(pages)))
        scores[created[pages][None, :] > need_time[mine][:, None]] = -np.inf
        order = np.argsort(-scores, axis=1, kind="stable")[:, :CANDIDATES]
        best = np.take_along_axis(scores, order, axis=1)
        there = best > -np.inf
        width = order.shape[1]
        candidates[mine[:, None], np.arange(width)] = np.where(there, pages[order], -1)
        similarity[mine[:, None], np.arange(width)] = np.where(there, np.clip(best, 0.0, 1.0), np.nan)
    return candidates, similarity


def _unit(rows: NDArray[np.floating]) -> NDArray[np.float64]:
    found: NDArray[np.float64] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return found
