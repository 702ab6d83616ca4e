"""The parts of the simulated corpus: dice, grammar, word lists, facts, decoys, replies, sessions.

Everything here is our own text. :func:`memvalue.data.simulated.simulate` is the way in.
"""
