"""When a page is needed: at a steady rate, or in bursts that feed themselves."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

#: Needs that one need brings about in the bursty world, on average; below 1, or bursts never end. With .6 a
#: burst has 2.5 needs in the mean and sometimes a dozen.
OFFSPRING = 0.6

#: The odds of the next need fall as (1 + t/c)^−(1 + θ) of the hours t since the last: half of the offspring
#: come within a day, one in twenty later than seven weeks.
SCALE_HOURS, TAIL = 12.0, 0.65

Times = tuple[NDArray[np.float64], NDArray[np.int64]]


def scheduled(
    expected: NDArray[np.float64], start: NDArray[np.float64], stop: NDArray[np.float64],
    rng: np.random.Generator,
) -> Times:  # fmt: skip
    """Steady rates: a Poisson process in each of k windows.

    Parameters
    ----------
    expected
        float64[k]; how many needs, on average.
    start, stop
        float64[k]; hours.

    Returns
    -------
    float64[m] hours, and int64[m] the window of each; in no order.
    """
    count = rng.poisson(expected)
    window = np.repeat(np.arange(len(count)), count)
    return start[window] + rng.random(len(window)) * (stop - start)[window], window


def bursty(
    expected: NDArray[np.float64], start: NDArray[np.float64], stop: NDArray[np.float64],
    rng: np.random.Generator,
) -> Times:  # fmt: skip
    """Each need raises the odds of the next by a power law of the time since (a Hawkes process).

    Drawn as a branching process (Hawkes & Oakes 1974): first causes at a steady rate, each need with a
    Poisson number of offspring at Lomax-distributed delays. As many needs as :func:`scheduled` on average,
    less the offspring that fall beyond their window.
    """
    time, window = scheduled(expected * (1.0 - OFFSPRING), start, stop, rng)
    times, windows = [time], [window]
    while len(time):
        count = rng.poisson(OFFSPRING, len(time))
        parent, window = np.repeat(time, count), np.repeat(window, count)
        delay = SCALE_HOURS * np.expm1(-np.log1p(-rng.random(len(parent))) / TAIL)
        time = parent + delay
        inside = time < stop[window]
        time, window = time[inside], window[inside]
        times.append(time)
        windows.append(window)
    return np.concatenate(times), np.concatenate(windows)


#: Name of a world → how its needs come.
RHYTHMS: dict[str, Callable[..., Times]] = {"scheduled": scheduled, "bursty": bursty}
