"""The feed, as docs/people.md has it, for one reader.

`build_feed` is the whole of it, from top to bottom. The functions above it are its steps.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from prism.events import NUMBER_BITS
from prism.kernel_rng import LEAST_DRAW, U, drawn_bits, mixed_bits, normal_quantile, scattered, unit
from prism.kernels import bring, called, kernel
from prism.rng import Draw
from prism.social import tables as col
from prism.social.kernels.post_kernel import bits_for, follows, has_muted, id_of, part_originals, root_author, row_of

_POOL, _PART = int(Draw.FEED_POOL), int(Draw.FEED_PART)
_SHARE, _RESPONSE, _SPEED = int(Draw.FEED_SHARE), int(Draw.RESPONSE), int(Draw.SPEED)
_SLOT: Final = col.SEEN_SLOTS - 1
_SEEN, _OWN = 1, 2  # the bits of a slot: the reader has seen a cascade of it; a candidate of the own side is of one
_ALL: Final = np.uint64(0xFFFFFFFFFFFFFFFF)


@kernel
def has_seen(t: Any, person: Any, cascade: Any) -> Any:
    # Cascades share slots, so an empty slot is a certain no, and a full one decides nothing: then the ring is read.
    if not t.room.slots[cascade & _SLOT] & _SEEN:
        return False
    ring, at = t.seen[person], t.people[person].seen_end
    for _ in range(t.people[person].seen_count):
        at = at - 1 if at else len(ring) - 1
        if ring[at] == cascade:
            return True
    return False


@kernel
def is_shown_again(t: Any, person: Any, cascade: Any, author: Any) -> Any:
    """Return whether a post of a seen cascade is shown again.

    It is, if the person follows its author, has seen no post of the cascade by this author, and has not engaged with
    the cascade. Posts that were shown before exposures were kept, as in the past of a fork, are not shown again.
    """
    if t.settings.exposure == col.ONCE:
        return False
    # 1. The cascade was shown, but only by posts of other authors.
    was_shown, width, end = False, t.exposed.shape[1], t.people[person].exposed_end
    for back in range(t.people[person].exposed_count):
        at = (end - 1 - back) % width
        if t.exposed[person, at] == cascade:
            if t.exposed_posts[person, at] >> NUMBER_BITS == author:
                return False
            was_shown = True
    if not was_shown:
        return False
    # 2. The person has not engaged with it.
    width, end = t.engaged.shape[1], t.people[person].engaged_end
    for back in range(t.people[person].engaged_count):
        if t.engaged[person, (end - 1 - back) % width] == cascade:
            return False
    # 3. The person follows the author.
    return follows(t.ties, person, author)


@kernel
def has_reached(t: Any, person: Any, post: Any, tick: Any) -> Any:
    """Return whether the post in a row has reached a person: a log-normal time after it was made.

    All people's times for the posts of a cascade have a factor in common, the speed of its original.
    Source: Doerr, Blenn & Van Mieghem, "Lognormal infection times of online information spread" (2013).
    """
    settings, row = t.settings, t.posts[post]
    if not settings.response:
        return True
    # The draws depend on the original and the author, never on the tick, so later looks at a post agree with this one.
    of_original = unit(t.key, root_author(t, post), 0, _SPEED, row.origin)
    of_person = unit(t.key, person, row.author, _RESPONSE, row.origin)
    log = settings.speed_sigma * normal_quantile(max(of_original, LEAST_DRAW))  # the quantile of 0 is -inf
    log += settings.response_sigma * normal_quantile(max(of_person, LEAST_DRAW))
    return tick - row.created >= settings.response * math.exp(log)


@kernel
def comes_first(t: Any, one: Any, other: Any) -> Any:
    """Return whether a candidate comes before another one: by score, then tick, then a hash, then the id."""
    room = t.room
    if room.scores[one] != room.scores[other]:
        return room.scores[one] > room.scores[other]
    if room.created[one] != room.created[other]:
        return room.created[one] > room.created[other]
    # The hash is of the original and of who made the post, not of their other posts: pairs of runs stay matched.
    if room.lucks[one] != room.lucks[other]:
        return room.lucks[one] > room.lucks[other]
    base = t.counts.posts[col.BASE]
    return id_of(t, room.numbers[one] - base) > id_of(t, room.numbers[other] - base)


@kernel
def put(t: Any, at: Any, person: Any, number: Any, tick: Any) -> None:
    post, room = number - t.counts.posts[col.BASE], t.room
    row = t.posts[post]
    room.numbers[at], room.cascades[at], room.created[at] = number, row.cascade, row.created
    # Twice the author: else a's reshare of b's original and b's of a's, of the same tick, would have the same hash.
    room.lucks[at] = scattered(row.origin + (row.author << 1))
    room.scores[at] = called(t.settings.score, t, person, post, tick)


@kernel
def add_own(t: Any, person: Any, tick: Any) -> Any:
    """Add the posts of a reader's timeline, the best of each cascade; return how many there are.

    Forgotten posts are left out, and so are the reader's own, those of people whom the reader has muted, those that
    have not reached the reader, and those of cascades that the reader has seen, unless they are shown again.
    """
    posts, cascades, ring, end = t.posts, t.room.cascades, t.timeline[person], t.people[person].came_end
    slots = t.room.slots
    first, base, count, mutes = t.counts.posts[col.FIRST], t.counts.posts[col.BASE], 0, len(t.ties.muted.ends) > 0
    came, at = t.people[person].came_count, end
    for _ in range(came):
        at = at - 1 if at else len(ring) - 1
        if ring[at] >= first:
            bring(posts[ring[at] - base])
    at = end
    for _ in range(came):
        # 1. Leave out posts that cannot be shown. Cheap checks come first, because they run for every post that came.
        at = at - 1 if at else len(ring) - 1
        number = np.int64(ring[at])
        if number < first:
            break  # those before it are older
        author, cascade = posts[number - base].author, posts[number - base].cascade
        if author == person or (mutes and has_muted(t.ties, person, author)):
            continue
        if mutes and has_muted(t.ties, person, root_author(t, number - base)):
            continue
        if not has_reached(t, person, number - base, tick):
            continue
        if has_seen(t, person, cascade) and not is_shown_again(t, person, cascade, author):
            continue
        # 2. Put it behind the others, and look for its cascade: the search ends at itself, so it needs no bound.
        put(t, count, person, number, tick)
        same = 0 if slots[cascade & _SLOT] & _OWN else count
        while cascades[same] != cascade:
            same += 1
        slots[cascade & _SLOT] |= _OWN
        # 3. Keep it if its cascade is new, or let it replace the post of its cascade if it is better.
        if same == count:
            count += 1
        elif comes_first(t, count, same):
            put(t, same, person, number, tick)
    return count


@kernel
def sample(t: Any, person: Any, round_start: Any) -> Any:
    """Choose the originals of a reader's sample, those with the smallest hashes; return how many they are.

    With more originals than a part has, a reader draws a part anew in each round: each original is equally likely to be
    sampled however many there are, and a sample costs no more. One original more or less changes at most one place of a
    sample, unless the number of parts changes: samples of two conditions stay matched. Source: bottom-k samples, Cohen
    & Kaplan, "Summarizing data using bottom-k sketches" (2007).
    """
    # 1. Draw a part: as many random bits as it takes to number the parts. Without bits there is one part.
    known = t.counts.originals[col.NEWEST] - t.counts.originals[col.OLDEST]
    bits = bits_for(known, t.settings.part_size)
    if t.counts.originals[col.BITS] != bits:
        part_originals(t)
    part = np.int64(drawn_bits(t.key, person, round_start, _PART, 0) >> U(64 - bits)) if bits else np.int64(0)
    # 2. Hash each original of the part with a salt of this reader and this round.
    salt = drawn_bits(t.key, person, round_start, _POOL, 0)
    start, count, most = t.part_starts[part], t.part_counts[part], t.settings.pool
    hashes, origins, posts = t.room.hashes, t.part_origins[start : start + count], t.part_posts[start : start + count]
    for at in range(count):
        hashes[at] = mixed_bits(origins[at] ^ salt)
    # 3. Note where the small ones are. Hashes are uniform over 64 bits, so about `likely` of them are below `likely` /
    #    `count` of that range. If these are too few, more are tried.
    near, least, likely, low = t.room.near, t.room.least, most + 2 * math.floor(math.sqrt(most)), 0
    while True:
        limit = _ALL if likely >= count else _ALL // U(count) * U(likely)
        low = 0
        for at in range(count):  # most places are overwritten: a branch would often be guessed wrongly
            near[low] = at
            low += hashes[at] <= limit
        if low >= most or likely >= count:
            break
        likely *= 2
    # 4. Leave out the largest of these, one after the other, until they are as many as a sample has.
    for at in range(low):
        least[at] = hashes[near[at]]
    bound = _ALL  # above every hash, so it leaves none out
    for _ in range(low - most):
        largest = U(0)
        for at in range(low):
            largest = max(largest, least[at] if least[at] < bound else U(0))
        bound = largest
    kept = 0
    for at in range(low):
        near[kept] = posts[near[at]]
        kept += least[at] < bound
    return kept


@kernel
def best_of(t: Any, start: Any, stop: Any) -> Any:
    """Return the place of the best candidate from `start` to before `stop`; -1 if there is none."""
    best = -1
    for at in range(start, stop):
        if best < 0 or comes_first(t, at, best):
            best = at
    return best


@kernel
def is_within_caps(t: Any, at: Any, start: Any, stop: Any) -> Any:
    """Return whether a candidate's author and topics are below their caps among those from `start` to before `stop`."""
    settings, base = t.settings, t.counts.posts[col.BASE]
    if not (settings.per_author or settings.per_topic):
        return True
    author, topics = t.posts[t.room.numbers[at] - base].author, t.posts[t.room.numbers[at] - base].topics
    of_author = of_topics = 0
    for other in range(start, stop):
        post = t.room.numbers[other] - base
        of_author += t.posts[post].author == author
        of_topics += t.posts[post].topics == topics
    if settings.per_author and of_author >= settings.per_author:
        return False
    return not settings.per_topic or of_topics < settings.per_topic


@kernel
def keep_within_caps(t: Any, count: Any) -> Any:
    """Move the best candidates that are within the limits to the front of the own side; return how many they are."""
    if not (t.settings.per_author or t.settings.per_topic):
        return count
    # Three ranges: up to `kept` the chosen ones, then the candidates, from `end` on the refused ones. A refused
    # candidate stays refused, because authors and topics become only more frequent among the chosen.
    kept, end = 0, count
    while kept < end:
        best = best_of(t, kept, end)
        if is_within_caps(t, best, 0, kept):
            exchange(t, kept, best)
            kept += 1
        else:
            end -= 1
            exchange(t, best, end)
    return kept


@kernel
def is_eligible(t: Any, person: Any, own: Any, at: Any, tick: Any) -> Any:
    """Return whether a candidate may be shown from out of network: its author is not followed, its cascade is new."""
    post = t.room.numbers[at] - t.counts.posts[col.BASE]
    cascade, author = t.room.cascades[at], t.posts[post].author
    if author == person or has_seen(t, person, cascade) or not has_reached(t, person, post, tick):
        return False
    if has_muted(t.ties, person, author):
        return False
    for same in range(own if t.room.slots[cascade & _SLOT] & _OWN else 0):
        if t.room.cascades[same] == cascade:
            return False
    return not follows(t.ties, person, author)


@kernel
def add_others(t: Any, person: Any, own: Any, most: Any, tick: Any) -> Any:
    """Add the best sampled originals of other people after the own side, best first; return how many there are.

    Args:
        own: the candidates of the own side; most: the most that can be shown.
    """
    # The sample holds for a round: who looks twice in it samples the same originals. Only the best are checked.
    count = sample(t, person, tick - tick % t.settings.ticks_per_round)
    chosen, base = t.room.near, t.counts.posts[col.BASE]
    for at in range(count):
        bring(t.posts[chosen[at] - base])
    for at in range(count):
        bring(t.cascades[row_of(t, t.posts[chosen[at] - base].cascade)])
    for at in range(count):
        put(t, own + at, person, chosen[at], tick)
    found, end = own, own + count
    while found < end and found - own < most:
        best = best_of(t, found, end)
        if is_eligible(t, person, own, best, tick) and is_within_caps(t, best, own, found):
            exchange(t, found, best)
            found += 1
        else:
            end -= 1
            exchange(t, best, end)
    return found - own


@kernel
def exchange(t: Any, one: Any, other: Any) -> None:
    room = t.room
    room.numbers[one], room.numbers[other] = room.numbers[other], room.numbers[one]
    room.cascades[one], room.cascades[other] = room.cascades[other], room.cascades[one]
    room.created[one], room.created[other] = room.created[other], room.created[one]
    room.lucks[one], room.lucks[other] = room.lucks[other], room.lucks[one]
    room.scores[one], room.scores[other] = room.scores[other], room.scores[one]


@kernel
def mix(t: Any, person: Any, inside: Any, own: Any, outside: Any) -> None:
    """Put the best of both sides into a person's feed, in the order of their scores.

    Args:
        inside, outside: the posts to take from each side, at most as many as it has; own: the own candidates.
    """
    # A merge of two lists. The other side follows the own candidates, and is sorted, best first; the own side is
    # sorted only as far as it is taken.
    numbers, feed, first, other = t.room.numbers, t.feed, 0, own
    for at in range(inside + outside):
        if first < inside:
            exchange(t, first, best_of(t, first, own))
        if other == own + outside or (first < inside and comes_first(t, first, other)):
            feed[person, at] = numbers[first]
            first += 1
        else:
            feed[person, at] = numbers[other]
            other += 1


@kernel
def remember_shown(t: Any, person: Any, shown: Any) -> None:
    """Remember the cascades of a person's feed as seen, and its posts where cascades are shown more than once."""
    people, base = t.people[person], t.counts.posts[col.BASE]
    for at in range(shown):
        post = t.feed[person, at] - base
        t.seen[person, people.seen_end] = t.posts[post].cascade
        people.seen_end = (people.seen_end + 1) % t.seen.shape[1]
        if t.settings.exposure != col.ONCE:
            t.exposed_posts[person, people.exposed_end] = id_of(t, post)
            t.exposed[person, people.exposed_end] = t.posts[post].cascade
            people.exposed_end = (people.exposed_end + 1) % t.exposed.shape[1]
    people.seen_count = min(people.seen_count + shown, t.settings.seen_depth)
    if t.settings.exposure != col.ONCE:
        people.exposed_count = min(people.exposed_count + shown, t.settings.seen_depth)


@kernel
def places_outside(t: Any, person: Any, own: Any, tick: Any) -> Any:
    """Return the places of a feed for posts from out of network, which get their configured share on average."""
    most, total = t.settings.share, t.settings.inside + t.settings.outside
    # A short own side shortens the other one, too, in proportion: most / (total - most) is what the settings ask for.
    if most < total:
        most = min(most, own * most / (total - most))
    # The fraction becomes one more place with that probability, drawn once a round.
    return np.int64(math.floor(most + unit(t.key, person, tick - tick % t.settings.ticks_per_round, _SHARE, 0)))


@kernel
def build_feed(t: Any, person: Any, tick: Any) -> None:
    """Build the feed of a person who looks at this tick, and begin their session with it.

    It has the best posts of the people whom they follow and the best of a sample of all others', each cascade once.
    """
    settings, counts = t.settings, t.counts.feeds
    total = settings.inside + settings.outside
    # 1. The slots of the cascades that the reader has seen: they are one table for all readers. A ring's newest number
    #    is before its end, so this goes back from there, and around the front.
    ring, slots, at = t.seen[person], t.room.slots, t.people[person].seen_end
    slots.fill(0)
    for _ in range(t.people[person].seen_count):
        at = at - 1 if at else len(ring) - 1
        slots[ring[at] & _SLOT] = _SEEN
    # 2. The own side: what came to the timeline, the best of each cascade.
    own, others, planned = keep_within_caps(t, add_own(t, person, tick)), 0, settings.outside
    # 3. The places of the other side; where sides borrow, also those that the own side leaves empty.
    if settings.fill == col.SHARING:
        planned = places_outside(t, person, own, tick)
    wanted = max(planned, total - own) if settings.fill == col.BORROWING else planned
    # 4. The other side: the best of a sample. It comes second, because a cascade of the own side is not shown twice.
    if planned:
        others = add_others(t, person, own, wanted, tick)
    # 5. The places of the own side; where sides borrow, also those that the other side leaves empty.
    if settings.fill == col.BORROWING:
        wanted = min(others, wanted)
    inside, outside = min(own, total - wanted), min(others, wanted)
    # 6. Both in one order, and the session begins.
    mix(t, person, inside, own, outside)
    shown = inside + outside
    remember_shown(t, person, shown)
    t.people[person].shown = t.people[person].left = shown
    # 7. Counts: the places that the settings ask for, and those that were filled.
    counts[col.BUILT] += 1
    counts[col.PLACES] += total
    t.counts.share[0] += settings.share  # one by one: a product would be rounded otherwise
    counts[col.SHOWN_ALL] += shown
    counts[col.SHOWN_OUTSIDE] += outside
    counts[col.SHORT_INSIDE] += max(0, total - planned - inside)
    counts[col.SHORT_OUTSIDE] += max(0, planned - outside)
