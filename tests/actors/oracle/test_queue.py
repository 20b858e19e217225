from __future__ import annotations

from actors.oracle.queue import FairQueue


def test_items_of_a_group_leave_together_and_groups_in_the_order_of_their_first_items() -> None:
    queue: FairQueue[str] = FairQueue()
    for item in ("a1", "b1", "a2", "c1", "b2"):
        queue.put(item, group=item[0])
    assert [queue.pop() for _ in range(2)] == ["a1", "a2"]
    queue.put("a3", group="a")
    assert list(queue) == ["b1", "b2", "c1", "a3"]
    assert [queue.pop() for _ in range(4)] == ["b1", "b2", "c1", "a3"]
    assert len(queue) == 0


def test_an_item_that_is_put_first_leaves_first_and_takes_its_group_along() -> None:
    queue: FairQueue[str] = FairQueue()
    for item in ("a1", "b1", "c1"):
        queue.put(item, group=item[0])
    queue.put_first("b0", group="b")
    assert [queue.pop() for _ in range(4)] == ["b0", "b1", "a1", "c1"]
