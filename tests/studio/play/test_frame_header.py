"""What stands before each frame on the wire."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.studio.play.frame_header import SIZE, Flags, Header, pack, unpack
from rlds_kit.trials.frames.picture import Codec

U32 = st.integers(0, 2**32 - 1)
HEADERS = st.builds(
    Header,
    st.sampled_from(Codec),
    st.just(Flags.AHEAD),
    U32,
    U32,
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.integers(0, 100),
    st.integers(0, 2**16 - 1),
) | st.builds(
    Header,
    st.sampled_from(Codec),
    st.sampled_from([Flags(0), Flags.FIRST, Flags.TERMINATED | Flags.TRUNCATED]),
    U32,
    U32,
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.integers(0, 100),
)


@given(HEADERS)
def test_headers_come_back(header: Header) -> None:
    assert unpack(pack(header) + bytes(header.size)) == header


@given(st.binary(max_size=80))
def test_other_bytes_are_no_frame(data: bytes) -> None:
    """They are an error, never a picture."""
    with pytest.raises(ValueError, match="expected"):
        unpack(data)


def test_a_frame_of_the_wrong_size_is_refused() -> None:
    """What was cut off is not shown."""
    data = pack(Header(Codec.PNG, Flags(0), 1, 2, 3, 4.0, 10)) + bytes(9)
    with pytest.raises(ValueError, match="expected 10 bytes"):
        unpack(data)
    assert len(data) == SIZE + 9


def test_only_a_picture_ahead_has_an_action() -> None:
    with pytest.raises(ValueError, match="expected a frame"):
        unpack(pack(Header(Codec.PNG, Flags.FIRST, 1, 2, 3, 4.0, 0, action=5)))
