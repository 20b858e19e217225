"""Writes the graph of `bridge.yaml`: five communities, and three kinds of accounts that publish in it.

    python configs/experiments/bridge_graph.py > configs/experiments/bridge_graph.csv

Person p is of community p % 5. In each community there is one account of each kind:

| numbers | kind | followers |
|---|---|---|
| 0 to 4 | bridge | 12: three of each other community |
| 5 to 9 | edge | 48 of its own community |
| 10 to 14 | inside | 12 of its own community |

The other 400 people follow 10 people of their own community and, in one of twenty cases, somebody of another one in
place of one of them: a stochastic block graph (Holland, Laskey & Leinhardt 1983) with mixing 0.05. The accounts
follow 10 people of their own community each, so that they see as much as others.
"""

import sys

import numpy as np

SEED = 1
COMMUNITIES, PEOPLE, FOLLOWED = 5, 400, 10
MIXING = 0.05
BRIDGES, EDGES, INSIDES = range(5), range(5, 10), range(10, 15)
FIRST = 15
SMALL, LARGE = 12, 48


def ties() -> list[tuple[int, int]]:
    """Return the ties, each `(follower, followee)`."""
    draw = np.random.default_rng(SEED)
    members = [
        np.array([p for p in range(FIRST, FIRST + PEOPLE) if p % COMMUNITIES == community])
        for community in range(COMMUNITIES)
    ]
    found = []
    for person in range(FIRST + PEOPLE):
        own = members[person % COMMUNITIES]
        for followee in draw.choice(own[own != person], FOLLOWED, replace=False):
            if person >= FIRST and draw.random() < MIXING:
                other = (person + draw.integers(1, COMMUNITIES)) % COMMUNITIES
                found.append((person, int(draw.choice(members[other]))))
            else:
                found.append((person, int(followee)))
    for account in (*EDGES, *INSIDES):
        size = LARGE if account in EDGES else SMALL
        followers = draw.choice(members[account % COMMUNITIES], size, replace=False)
        found += [(int(follower), account) for follower in followers]
    for account in BRIDGES:
        for other in range(1, COMMUNITIES):
            followers = draw.choice(members[(account + other) % COMMUNITIES], SMALL // (COMMUNITIES - 1), replace=False)
            found += [(int(follower), account) for follower in followers]
    return sorted(set(found))


if __name__ == "__main__":
    sys.stdout.write("follower,followee\n")
    sys.stdout.writelines(f"{follower},{followee}\n" for follower, followee in ties())
