"""MemoryBank: Ebbinghaus's curve, whose strength grows with each recall.

Zhong, Guo, Gao, Ye & Wang (2024), "MemoryBank: Enhancing Large Language Models with Long-Term Memory", AAAI,
arXiv 2305.10250, section "Memory Updating Mechanism": R = e^(−t/S). S starts at 1; each recall adds 1 to it
and sets t back to 0. The paper gives t no unit; its code counts days, and so do we.

The released code (github.com/zhongwanjun/MemoryBank-SiliconFriend, ``forget_memory.py``) computes
``exp(-t / 5*S)``, that is e^(−t·S/5): *a stronger memory is forgotten faster*, against the paper and against
its own comment. ``released=True`` is that; its t is in whole days.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from memvalue.eval.published.view import View

#: Strength of a new memory, and what a recall adds.
START, STEP = 1.0, 1.0

#: The released code's divisor.
RELEASED_DIVISOR = 5.0


def memory_bank(view: View, *, released: bool = False) -> NDArray[np.float64]:
    """float64[n] ≤ 0; ln R, which ranks as R does and does not run out of digits after two years."""
    recalls = view.accesses()
    strength = START + STEP * recalls.count()
    last = recalls.last(view.created)
    if released:
        days = np.floor(view.now / 24.0) - np.floor(last / 24.0)  # a difference of two dates
        return np.asarray(-days * strength / RELEASED_DIVISOR)
    return np.asarray((last - view.now) / 24.0 / strength)
