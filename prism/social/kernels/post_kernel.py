"""The acts and views of people: what they do to posts, and what they see of them, one person and one post at a time."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from prism.events import NUMBER_BITS
from prism.kernel_rng import U, below, mixed_bits, normal, unit
from prism.kernels import address_of, bring, called, kernel
from prism.rng import Draw
from prism.social import tables as col
from prism.social.posts.post import AUTHORS_MAX, EXPOSURE_TICKS, NO_POST, OUTSIDE_BIT

_APPEAL, _TOPIC, _OFFERED = int(Draw.APPEAL), int(Draw.TOPIC), int(Draw.OFFERED)
_PUBLISHES, _QUALITY = int(Draw.PUBLISHES), int(Draw.QUALITY)
_OFFERED_MAX: Final = 1000
_NUMBER_MAX: Final = 1 << NUMBER_BITS
_OWN_PLACES: Final = OUTSIDE_BIT - 1
_AUTHOR_BITS: Final = AUTHORS_MAX.bit_length() - 1
_AUTHOR_MASK: Final = AUTHORS_MAX - 1
_TICK_BITS: Final = _AUTHOR_BITS + 4


@kernel
def first_from(values: Any, start: Any, stop: Any, value: Any) -> Any:
    """Return the place of the first value that is not below this one, among ascending ones; `stop` if there is none."""
    low, high = start, stop
    while low < high:
        middle = (low + high) >> 1
        if values[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def found_in(values: Any, start: Any, stop: Any, value: Any) -> Any:
    """Return the place of a value among ascending ones from `start` to before `stop`; -1 if it is not there."""
    at = first_from(values, start, stop, value)
    return at if at < stop and values[at] == value else -1


@kernel
def is_listed(lists: Any, person: Any, other: Any) -> Any:
    return found_in(lists.values, lists.starts[person], lists.ends[person], other) >= 0


@kernel
def follows(ties: Any, person: Any, other: Any) -> Any:
    return is_listed(ties.followees, person, other)


@kernel
def has_muted(ties: Any, person: Any, other: Any) -> Any:
    return len(ties.muted.ends) > 0 and is_listed(ties.muted, person, other)


@kernel
def put_in(lists: Any, person: Any, other: Any) -> None:
    """Put somebody into a person's list, which has room for one more."""
    # Lists stay ascending, because `found_in` halves them: those above move one place to the right.
    at, values = lists.ends[person], lists.values
    while at > lists.starts[person] and values[at - 1] > other:
        values[at] = values[at - 1]
        at -= 1
    values[at] = other
    lists.ends[person] += 1


@kernel
def take_out(lists: Any, person: Any, other: Any) -> None:
    at = found_in(lists.values, lists.starts[person], lists.ends[person], other)
    lists.ends[person] -= 1
    for later in range(at, lists.ends[person]):
        lists.values[later] = lists.values[later + 1]


@kernel
def row_of(t: Any, cascade: Any) -> Any:
    """Return the row of a cascade that is not forgotten."""
    # Nearly all are in the table's second part, where no number is left out; a few old ones are before it.
    if cascade >= t.counts.cascades[col.CASCADE_FIRST]:
        return cascade - t.counts.cascades[col.SHIFT]
    return found_in(t.early, 0, t.counts.cascades[col.EARLY], cascade)


@kernel
def id_of(t: Any, post: Any) -> Any:
    """Return the id of the post in a row."""
    return (np.int64(t.posts[post].author) << NUMBER_BITS) | t.posts[post].made


@kernel
def root_author(t: Any, post: Any) -> Any:
    """Return the author of the original at the root of the post in a row."""
    return t.posts[post].origin & _AUTHOR_MASK


@kernel
def engagements_of(t: Any, post: Any) -> Any:
    return t.cascades[row_of(t, t.posts[post].cascade)].engagements


# What a person sees of a post


@kernel
def has_interest(interests: Any, person: Any, topic: Any) -> Any:
    # `bits` has `width` bytes a person: topic 10 is bit 2 of the second byte.
    if topic < 0 or topic >= interests.topics:
        return False
    return interests.bits[person * interests.width + (topic >> 3)] >> (topic & 7) & 1 == 1


@kernel
def has_topic(interests: Any, code: Any, topic: Any) -> Any:
    for at in range(interests.starts[code], interests.starts[code + 1]):
        if interests.places[at] == topic:
            return True
    return False


@kernel
def topic_match(interests: Any, person: Any, code: Any) -> Any:
    """Return the share of a post's topics that are among a person's interests; 0 of no topics."""
    # A low code is the topic itself. Nearly all posts have one topic, so nearly none needs the loop.
    if code < interests.topics:
        return 1.0 if has_interest(interests, person, code) else 0.0
    matching = 0
    start, stop = interests.starts[code], interests.starts[code + 1]
    for at in range(start, stop):
        if has_interest(interests, person, interests.places[at]):
            matching += 1
    return matching / (stop - start) if stop > start else 0.0


@kernel
def exposures_of(t: Any, person: Any, post: Any) -> Any:
    """Return how many people have shown a person the cascade of the post in a row, up to this post: 1 or more."""
    if t.settings.exposure == col.ONCE:
        return 1
    # The rings have the posts shown and their cascades at the same places. Each other author of this cascade counts
    # once, oldest first, up to the post itself: the ring has the whole feed already, also the posts further down.
    ids, cascades, width = t.exposed_posts, t.exposed, t.exposed.shape[1]
    cascade, name, author = t.posts[post].cascade, id_of(t, post), t.posts[post].author
    first, count = t.people[person].exposed_end - t.people[person].exposed_count, 1
    for step in range(t.people[person].exposed_count):
        at = (first + step) % width
        if ids[person, at] == name:
            break
        if cascades[person, at] != cascade:
            continue
        is_new = ids[person, at] >> NUMBER_BITS != author
        for earlier in range(step):
            before = (first + earlier) % width
            if cascades[person, before] == cascade and ids[person, before] >> NUMBER_BITS == (
                ids[person, at] >> NUMBER_BITS
            ):
                is_new = False
                break
        if is_new:
            count += 1
    return count


@kernel
def appeal_of(t: Any, person: Any, post: Any, exposures: Any) -> Any:
    """Return a person's taste for the cascade of the post in a row; at least what an intervention gave it.

    In simple contagion each exposure is a separate chance, so each one after the first has a separate draw.
    """
    chance = exposures - 1 if t.settings.exposure == col.SIMPLE else 0
    # The draw u is below 1, so a smaller power makes u^power larger: more appeals to those who participate more.
    row = row_of(t, t.posts[post].cascade)
    power = t.settings.appeal_power / t.participation[person if len(t.participation) > 1 else 0]
    drawn = math.pow(unit(t.key, person, chance, _APPEAL, t.posts[post].origin), power)
    return max(min(1.0, drawn * t.cascades[row].quality), t.cascades[row].least_appeal)


@kernel
def quality_of(t: Any, post: Any) -> Any:
    return t.cascades[row_of(t, t.posts[post].cascade)].quality


@kernel
def popularity_of(t: Any, post: Any) -> Any:
    """Return social proof between 0 and 1 for the cascade of the post in a row: n / (n + half)."""
    count = engagements_of(t, post)
    return count / (count + t.settings.popularity_half)


@kernel
def velocity_of(t: Any, post: Any, tick: Any) -> Any:
    """Return the engagements a round of the post in a row, whose life counts as one round at least."""
    done = t.details[post].likes + t.details[post].replies + t.details[post].reshares
    return done * t.settings.ticks_per_round / max(t.settings.ticks_per_round, tick - t.posts[post].created)


@kernel
def place_in_feed(t: Any, person: Any) -> Any:
    """Return the number of posts of a person's feed before the one in view."""
    return max(0, t.people[person].shown - max(0, t.people[person].left) - 1)


@kernel
def fatigue_of(t: Any, person: Any) -> Any:
    """Return the share of the session's feed that a person has seen already."""
    return place_in_feed(t, person) / max(1, t.people[person].shown)


@kernel
def has_view(t: Any, person: Any) -> Any:
    return t.people[person].current >= t.counts.posts[col.FIRST]


@kernel
def drawn_about(t: Any, person: Any, tick: Any, draw: Any) -> Any:
    """Return a draw of a person about the post in view, the same in two runs in which they see it; else of the tick."""
    if not has_view(t, person):
        return unit(t.key, person, tick, draw, 0)
    # Not the tick itself but the ticks since the post came into view: in another run it may come earlier or later.
    post = t.people[person].current - t.counts.posts[col.BASE]
    ticks = tick - t.people[person].came + (exposures_of(t, person, post) - 1) * EXPOSURE_TICKS
    return unit(t.key, person, ticks, draw, t.posts[post].origin)


@kernel
def see(tables: Any, people: Any, tick: Any, views: Any) -> None:
    """Write down what people see of the posts in their view, none of which is forgotten, a record each."""
    t = address_of(tables)
    for at in range(len(people)):
        person = people[at]
        number = t.people[person].current
        post = number - t.counts.posts[col.BASE]
        exposures = exposures_of(t, person, post)
        row, details, view = t.posts[post], t.details[post], views[at]
        view.id, view.origin, view.author = id_of(t, post), row.origin, row.author
        view.created, view.topics, view.kind = row.created, row.topics, row.kind
        view.likes, view.replies, view.reshares = details.likes, details.replies, details.reshares
        view.given, view.number, view.viewed = details.given, number, tick - t.people[person].came
        view.exposures, view.followed = exposures, 1 if follows(t.ties, person, row.author) else 0
        view.velocity, view.popularity = velocity_of(t, post, tick), popularity_of(t, post)
        view.topic_match = topic_match(t.interests, person, row.topics)
        view.appeal, view.fatigue = appeal_of(t, person, post, exposures), fatigue_of(t, person)
        view.quality = quality_of(t, post)


# What a person does


@kernel
def bits_for(known: Any, part_size: Any) -> Any:
    """Return the number of bits that tell the part of an original, with so many originals."""
    left, bits = -(-known // part_size) - 1, 0
    while left > 0:
        left >>= 1
        bits += 1
    return bits


@kernel
def part_of(t: Any, origin: Any, bits: Any) -> Any:
    return np.int64(mixed_bits(U(origin) ^ t.salt) >> U(64 - bits)) if bits else np.int64(0)


@kernel
def part_originals(t: Any) -> None:
    """Put the originals into their parts, each with room for more."""
    # `part_posts` and `part_origins` hold the parts one after the other, each with spare places at its end, so that
    # most new originals are added without a move of the others.
    counts, base = t.counts.originals, t.counts.posts[col.BASE]
    known = counts[col.NEWEST] - counts[col.OLDEST]
    bits = bits_for(known, t.settings.part_size)
    counts[col.BITS] = bits
    # 1. Count each part.
    for part in range(1 << bits):
        t.part_counts[part] = 0
    for at in range(counts[col.OLDEST], counts[col.NEWEST]):
        t.part_counts[part_of(t, t.posts[t.originals[at] - base].origin, bits)] += 1
    # 2. Place the parts: the spare places are divided equally.
    spare, start = (len(t.part_posts) - known) >> bits, 0
    for part in range(1 << bits):
        t.part_starts[part] = start
        start += t.part_counts[part] + spare
        t.part_counts[part] = 0
    t.part_starts[1 << bits] = start
    # 3. Fill them, oldest first. The counts, set back to 0, say where the next one goes.
    for at in range(counts[col.OLDEST], counts[col.NEWEST]):
        add_to_part(t, t.originals[at], bits)


@kernel
def add_to_part(t: Any, number: Any, bits: Any) -> Any:
    """Put an original into its part; return whether there was room."""
    origin = t.posts[number - t.counts.posts[col.BASE]].origin
    part = part_of(t, origin, bits)
    to = t.part_starts[part] + t.part_counts[part]
    if to >= t.part_starts[part + 1]:
        return False
    t.part_origins[to], t.part_posts[to] = U(origin), number
    t.part_counts[part] += 1
    return True


@kernel
def add_original(t: Any, number: Any) -> None:
    counts = t.counts.originals
    t.originals[counts[col.NEWEST]] = number
    counts[col.NEWEST] += 1
    bits = bits_for(counts[col.NEWEST] - counts[col.OLDEST], t.settings.part_size)
    # While no original is in its part (-1), the next sample puts all of them there.
    if counts[col.BITS] >= 0 and (bits != counts[col.BITS] or not add_to_part(t, number, bits)):
        part_originals(t)


@kernel
def deliver(t: Any, person: Any, number: Any) -> None:
    """Add a post to a person's timeline, in place of the oldest if that is full."""
    people, width = t.people, t.timeline.shape[1]
    end = people[person].came_end
    t.timeline[person, end] = number
    people[person].came_end = end + 1 if end + 1 < width else 0
    people[person].came_count = min(people[person].came_count + 1, t.settings.depth)


@kernel
def is_own(t: Any, person: Any) -> Any:
    return t.settings.low <= person < t.settings.high


@kernel
def new_post(t: Any, author: Any, tick: Any, kind: Any) -> Any:
    """Add a row for a new post, and return the row; -1 if there is no room for one, or if the post is withheld.

    Its id is the author's number and the author's count of posts before it.
    """
    counts, made = t.counts.posts, t.people[author].made
    if t.people[author].withheld == made + 1:
        t.people[author].made += 1  # so that the author's later posts keep their ids
        return -1
    # A kernel cannot raise an error: the caller in Python does, by REFUSED.
    if counts[col.END] >= counts[col.MOST] or made >= _NUMBER_MAX:
        counts[col.REFUSED] = 1 if counts[col.END] >= counts[col.MOST] else 2 + author
        return -1
    post = counts[col.END] - counts[col.BASE]
    counts[col.END] += 1
    t.people[author].made += 1
    row, details = t.posts[post], t.details[post]
    row.author, row.made, row.created, row.kind = author, made, tick, kind
    details.parent, details.depth, details.given = NO_POST, 0, 0
    details.likes, details.replies, details.reshares = 0, 0, 0
    return post


@kernel
def send(t: Any, post: Any) -> None:
    """Send the post in a row to its author's followers, as far as they are of this shard."""
    author, number, followers = t.posts[post].author, post + t.counts.posts[col.BASE], t.ties.followers
    stop, high = followers.ends[author], t.settings.high
    start = first_from(followers.values, followers.starts[author], stop, t.settings.low)
    for at in range(start, stop):
        bring(t.people[followers.values[at]])
    for at in range(start, stop):
        follower = followers.values[at]
        bring(t.timeline[follower, t.people[follower].came_end :])
    for at in range(start, stop):
        if followers.values[at] >= high:
            break
        deliver(t, np.int64(followers.values[at]), number)


@kernel
def note(t: Any, who: Any, what: Any, post: Any, above: Any, about: Any) -> None:
    event = t.events[t.counts.posts[col.EVENTS]]
    t.counts.posts[col.EVENTS] += 1
    event.who, event.what, event.post, event.above, event.about = who, what, post, above, about


@kernel
def publish_as(tables: Any, author: Any, tick: Any, topics: Any, origin: Any) -> Any:
    """Publish an original on these topics, and return its row; -1 if that cannot be. `origin_of` names its origin."""
    t = address_of(tables)
    post = new_post(t, author, tick, col.IS_ORIGINAL)
    if post < 0:
        return post
    number, counts = post + t.counts.posts[col.BASE], t.counts.cascades
    t.posts[post].topics, t.posts[post].origin = topics, origin
    # Its cascade begins.
    row = counts[col.ROWS]
    counts[col.ROWS] += 1
    t.posts[post].cascade = row + counts[col.SHIFT]
    cascade, tree = t.cascades[row], t.trees[row]
    cascade.quality, cascade.least_appeal, cascade.across, cascade.engagements = 1.0, 0.0, 0, 0
    cascade.touched = tick
    tree.root, tree.root_number, tree.size, tree.deepest = id_of(t, post), number, 1, 0
    t.counts.done[col.PUBLISH] += 1
    note(t, author, col.PUBLISH, id_of(t, post), NO_POST, topics)
    add_original(t, number)
    send(t, post)
    return post


@kernel
def begun_in(t: Any, author: Any, tick: Any) -> Any:
    return t.people[author].begun if t.people[author].begun_in == tick else np.int64(0)


@kernel
def interest_of(t: Any, author: Any, tick: Any) -> Any:
    own = t.interests
    start, count = own.own_starts[author], own.own_starts[author + 1] - own.own_starts[author]
    if not count:
        return np.int64(own.no_topic)
    return np.int64(own.own[start + below(count, t.key, author, tick, _TOPIC, begun_in(t, author, tick))])


@kernel
def taken_from_file(t: Any, author: Any, tick: Any) -> Any:
    """Return the number of the post that a person publishes: of some that are drawn, the first with the best score.

    They are drawn from the posts that anybody may publish and from the person's own; 0 if there are none.
    """
    starts, begun = t.given_starts, begun_in(t, author, tick)
    free, own = starts[0], starts[author + 1] - starts[author]
    best, chosen = -math.inf, np.int64(0)
    for place in range(t.settings.offered if free + own else 0):
        drawn = below(free + own, t.key, author, tick, _OFFERED, begun * _OFFERED_MAX + place)
        number = t.given_order[drawn if drawn < free else starts[author] + drawn - free]
        score = called(t.settings.choice, t, author, number, tick)
        if score > best or not chosen:
            best, chosen = score, np.int64(number)
    return chosen


@kernel
def publish(t: Any, author: Any, tick: Any) -> Any:
    """Publish an original, and return its row; -1 if that cannot be.

    It is a post of the file if there is one, else it is on one of the author's interests. Its quality is what it is
    worth to everybody, whatever their own taste: exp(sigma z - sigma^2 / 2), 1 on average. Sources: Salganik, Dodds &
    Watts, "Experimental study of inequality and unpredictability in an artificial cultural market" (2006), for a
    quality that all share beside what is private; Bakshy et al., "Everyone's an influencer" (2011), for the heavy tail
    of what content becomes. The log-normal form is a choice: docs/decisions/005-worlds.md.
    """
    # 1. Its content. The draws are those of the author, the tick, and the originals of the tick before it.
    person, given = t.people[author], np.int64(0)
    if len(t.given_topics) > 1:
        given = taken_from_file(t, author, tick)
    topics = t.given_topics[given] if given else interest_of(t, author, tick)
    # 2. Its name, as `prism.social.posts.post.origin_of` makes it.
    if person.begun_in != tick:
        person.begun_in, person.begun = tick, 0
    place = person.begun % _OWN_PLACES
    name = (np.int64(tick) << _TICK_BITS) | ((1 + place) << _AUTHOR_BITS) | np.int64(author)
    person.begun += 1
    # 3. The post, and what it is worth to everybody.
    post = publish_as(t, author, tick, topics, name)
    if post >= 0:
        t.details[post].given = given
        if t.settings.quality_sigma:
            sigma = t.settings.quality_sigma
            quality = math.exp(sigma * normal(t.key, author, tick, _QUALITY, place) - sigma * sigma / 2.0)
            t.cascades[row_of(t, t.posts[post].cascade)].quality = quality
    return post


@kernel
def engage(t: Any, person: Any, post: Any, tick: Any) -> None:
    """Count a person's engagement with the cascade of the post in a row, and remember it where it is shown again."""
    # 1. The cascade's counts; TOUCHED keeps it from being forgotten.
    cascade = t.posts[post].cascade
    row = row_of(t, cascade)
    t.cascades[row].engagements += 1
    t.cascades[row].touched = tick
    # People are of different groups by a text or truth value, or by the sign of a number.
    if t.settings.across >= 0:
        one = t.attributes[person, t.settings.across]
        other = t.attributes[root_author(t, post), t.settings.across]
        t.cascades[row].across += one * other < 0.0 if t.settings.is_signed else one != other
    if t.settings.exposure == col.ONCE or not is_own(t, person):
        return
    # 2. The person's ring, each cascade once.
    people, ring, width = t.people, t.engaged, t.engaged.shape[1]
    end = people[person].engaged_end
    for back in range(people[person].engaged_count):
        if ring[person, (end - 1 - back) % width] == cascade:
            return
    ring[person, end] = cascade
    people[person].engaged_end = (end + 1) % width
    people[person].engaged_count = min(people[person].engaged_count + 1, t.settings.seen_depth)


@kernel
def credited(t: Any, person: Any, post: Any) -> Any:
    """Return the row of the parent of a person's reshare of the post in a row: one that is not forgotten."""
    first, base, cascade = t.counts.posts[col.FIRST], t.counts.posts[col.BASE], t.posts[post].cascade
    if t.settings.credit == col.TO_ROOT:
        root = t.trees[row_of(t, cascade)].root_number
        return root - base if root >= first else post
    # The latest post of the cascade that came to the person. A reply hands no post on, so it gets no credit.
    if t.settings.credit == col.TO_NEWEST:
        width, end = t.timeline.shape[1], t.people[person].came_end
        for back in range(t.people[person].came_count):
            number = np.int64(t.timeline[person, (end - 1 - back) % width])
            if number < first or t.posts[number - base].cascade != cascade:
                continue
            if t.posts[number - base].kind != col.IS_REPLY:
                return number - base
    return post


@kernel
def add_child(t: Any, author: Any, tick: Any, kind: Any, above: Any) -> Any:
    """Add a reply to the post in the row above, or a reshare of it; return its row, or -1 if that cannot be."""
    post = new_post(t, author, tick, kind)
    if post < 0:
        return post
    row, parent = t.posts[post], t.posts[above]
    row.topics, row.origin, row.cascade = parent.topics, parent.origin, parent.cascade
    t.details[post].given, t.details[post].depth = t.details[above].given, t.details[above].depth + 1
    t.details[post].parent = id_of(t, above)
    # Its cascade grows.
    counts, tree = t.counts.cascades, t.trees[row_of(t, row.cascade)]
    size, depth = tree.size + 1, max(tree.deepest, t.details[post].depth)
    tree.size, tree.deepest = size, depth
    counts[col.BRANCHED] += size == 2
    counts[col.DEEPEST_OF_ALL] = max(counts[col.DEEPEST_OF_ALL], depth)
    if size > counts[col.LARGEST_SIZE] or (size == counts[col.LARGEST_SIZE] and depth > counts[col.LARGEST_DEPTH]):
        counts[col.LARGEST], counts[col.LARGEST_SIZE], counts[col.LARGEST_DEPTH] = tree.root, size, depth
    return post


@kernel
def react(t: Any, person: Any, effect: Any, seen: Any, tick: Any) -> None:
    """Carry out a like, a reply, which goes to the author of the post in a row, or a reshare of it, to followers."""
    if effect == col.LIKE:
        t.details[seen].likes += 1
        note(t, person, col.LIKE, id_of(t, seen), NO_POST, 0)
    elif effect == col.REPLY:
        post = add_child(t, person, tick, col.IS_REPLY, seen)
        if post < 0:
            return
        t.details[seen].replies += 1
        note(t, person, col.REPLY, id_of(t, post), id_of(t, seen), 0)
        if t.posts[seen].author != person and is_own(t, t.posts[seen].author):
            deliver(t, t.posts[seen].author, post + t.counts.posts[col.BASE])
    else:
        above = credited(t, person, seen)
        post = add_child(t, person, tick, col.IS_RESHARE, above)
        if post < 0:
            return
        t.details[above].reshares += 1
        note(t, person, col.RESHARE, id_of(t, post), id_of(t, above), 0)
        send(t, post)
    t.counts.done[effect] += 1
    engage(t, person, seen, tick)


@kernel
def change_tie(t: Any, person: Any, effect: Any, post: Any) -> None:
    """Note a tie that changes at the end of the tick: that to the author of the post in a row, or of its root."""
    # Ties change after the last wave of a tick: until then everybody of the tick sees the same ones.
    whom = t.posts[post].author
    if effect >= col.FOLLOW_ROOT:
        whom, effect = root_author(t, post), effect - col.TO_ROOT_AUTHOR
    is_so = has_muted(t.ties, person, whom) if effect == col.MUTE else follows(t.ties, person, whom)
    if whom != person and is_so == (effect == col.UNFOLLOW):
        t.counts.done[effect] += 1
        note(t, person, effect, whom, id_of(t, post), 0)


@kernel
def act(tables: Any, person: Any, effect: Any, number: Any, tick: Any) -> None:
    """Carry out an effect on the post with a number; do nothing if the post is forgotten.

    Who publishes makes one original, or more at once if the person's rate is above 1, which is then the mean number.
    """
    t = address_of(tables)
    if effect == col.PUBLISH:
        rate, count = t.rates[person if len(t.rates) > 1 else 0], 1
        if rate > 1.0:  # below that, the rate was the probability that this session has an original at all
            count = math.floor(rate + unit(t.key, person, tick, _PUBLISHES, 1))
        for _ in range(count):
            publish(t, person, tick)
    elif t.counts.posts[col.FIRST] <= number < t.counts.posts[col.END]:
        if effect > col.FEED:
            change_tie(t, person, effect, number - t.counts.posts[col.BASE])
        else:
            react(t, person, effect, number - t.counts.posts[col.BASE], tick)


@kernel
def act_all(tables: Any, acts: Any, tick: Any) -> None:
    """Carry out acts of people of other shards, one after the other: the person, the effect, the number of the post."""
    t = address_of(tables)
    for at in range(len(acts)):
        act(t, acts[at, 0], acts[at, 1], acts[at, 2], tick)


@kernel
def change_lists(tables: Any, people: Any, others: Any, effects: Any) -> None:
    """Change ties by FOLLOW, UNFOLLOW or MUTE, one after the other: lists have room, and no tie is so already."""
    ties = address_of(tables).ties
    for at in range(len(people)):
        person, other = people[at], others[at]
        if effects[at] == col.MUTE:
            put_in(ties.muted, person, other)
        elif effects[at] == col.UNFOLLOW:
            take_out(ties.followees, person, other)
            take_out(ties.followers, other, person)
        else:
            put_in(ties.followees, person, other)
            put_in(ties.followers, other, person)
