"""The ids of new episodes."""

import os
import threading
import uuid

import pytest

from rlds_kit.storage.episode_messages import new_id


def test_ids_are_unique_uuids_in_all_threads() -> None:
    """However many are made at the same time."""
    found: list[list[bytes]] = [[] for _ in range(4)]
    threads = [threading.Thread(target=lambda ids=ids: ids.extend(new_id() for _ in range(700))) for ids in found]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    every = [each for ids in found for each in ids]
    assert len(every) == 2800
    assert len({*every}) == 2800
    assert {uuid.UUID(bytes=each).version for each in every} == {4}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.filterwarnings("ignore:.*use of fork.*:DeprecationWarning")
def test_a_forked_process_makes_other_ids() -> None:
    """What was drawn before the fork is not used twice."""
    new_id()
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.write(writer, new_id())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        theirs = pipe.read()
    os.waitpid(child, 0)
    assert theirs not in {new_id() for _ in range(300)}
    assert len(theirs) == 16
