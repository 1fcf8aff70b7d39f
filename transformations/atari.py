"""The usual preprocessing of Atari games, applied to recorded frames instead of to the environment."""

from collections.abc import Sequence

import tensorflow as tf

from rlds_kit.base.arguments import integer, positive
from rlds_kit.base.rlds_types import DISCOUNT, IS_LAST, IS_TERMINAL, OBSERVATION
from rlds_kit.base.step import ACTED_FIELDS
from rlds_kit.transformations.dense import Dense, on_either_form
from rlds_kit.transformations.downsample import ChooseAction, downsample, only_action
from rlds_kit.transformations.fields import count_steps, leaves, paths_of, require_fields, with_leaves, zero_unless
from rlds_kit.transformations.resize_area import resize_area
from rlds_kit.transformations.segments import segments

_CHUNK = 16
"""Screens that are made together: enough for the matrix products, few enough for the cache."""


@on_either_form
def atari_preprocessing(
    steps: Dense,
    frame_skip: int = 4,
    screen_size: int | tuple[int, int] = 84,
    grayscale: bool = True,
    terminal_on_life_loss: bool = False,
    *,
    choose_action: ChooseAction = only_action,
    field: str = OBSERVATION,
    lives: str = "info/lives",
) -> Dense:
    """Converts the recorded frames of a game to the observations of an agent with frame skip.

    The result is that of `gymnasium.wrappers.AtariPreprocessing` (with `noop_max=0`) for the same game and actions, bit
    for bit. It follows Mnih et al., "Human-level control through deep reinforcement learning", 2015, Methods,
    Preprocessing: each screen is the maximum of the last two frames of a skip, in gray, shrunk to a square. Gray is
    `0.2989 * red + 0.5870 * green + 0.1140 * blue`, as in ALE's own palettes, and shrinking takes the mean over areas.
    Rewards are summed, discounts multiplied. Stack the result with `frame_stack`.

    Of ALE's games only Air Raid differs in gray: ALE draws it with colours that are not in its own palette.

    Like the wrapper, it ignores the frame that ended the game: a terminal screen is the maximum of the one
    before and, if the skip was complete, of the frame before the last. A last step that is not terminal shows its own
    two frames. (The wrapper ignores the last frame of ALE's limit of 108,000 frames either.)

    Args:
      steps: of one episode recorded with frame skip 1, in either form. Frames are `[T, height, width, 3]`, or
        `[T, height, width]` in ALE's gray, uint8, of known size.
      frame_skip: frames for one action.
      screen_size: one number, or width and height.
      grayscale: whether colours are converted to gray.
      terminal_on_life_loss: whether the episode ends where the first life is lost, which then is its terminal step.
        Later steps are left out, because they would not have been played.
      choose_action: makes one action from those of a skip. `only_action` requires that they are the same,
        `first_action` takes the first, for data of people or agents that acted on every frame.
      field: path of the frames.
      lives: path of the number of lives, needed if `terminal_on_life_loss` is set.

    Returns:
      The remaining steps, as those of `downsample`, in the form of the argument. Screens are `[T', height, width]`, or
      `[T', height, width, 3]` in colour, uint8.

    Raises:
      TypeError: the frames are not uint8, or `frame_skip` or `screen_size` are no integers.
      ValueError: `frame_skip` or `screen_size` is out of range, a field is missing, or frames have another shape.
      tf.errors.InvalidArgumentError: actions of a skip differ, and `choose_action` is `only_action`.

    >>> steps = {"observation": tf.zeros([9, 210, 160, 3], tf.uint8), "reward": tf.ones([9])}
    >>> agent_steps = atari_preprocessing(steps)
    >>> agent_steps["observation"].shape, agent_steps["reward"].numpy().tolist()
    (TensorShape([3, 84, 84]), [4.0, 4.0, 0.0])
    """
    frame_skip, (width, height) = positive("frame_skip", frame_skip), _size(screen_size)
    if terminal_on_life_loss:
        steps = _until_life_loss(steps, lives)
    frames = _frames(steps, field, grayscale=grayscale)
    numbered = with_leaves(steps, {field: tf.range(count_steps(steps))})
    result: Dense = downsample(numbered, frame_skip, choose_action)
    body, last = _sources(result, leaves(result)[field], segments(steps).first, frame_skip)
    screens = [_screens(frames, rows, height, width, grayscale=grayscale) for rows in (body, last)]
    whole: Dense = with_leaves(result, {field: tf.concat(screens, 0)})
    return whole


def _size(screen_size: int | Sequence[int]) -> tuple[int, int]:
    sizes = tuple(screen_size) if isinstance(screen_size, Sequence) else (screen_size, screen_size)
    if len(sizes) != 2:
        raise ValueError(f"expected a screen_size of one number, or of width and height, got {screen_size!r}")
    return integer("screen_size", sizes[0]), integer("screen_size", sizes[1])


def _frames(steps: Dense, field: str, *, grayscale: bool) -> tf.Tensor:
    known = leaves(steps)
    if paths_of(known, [field]) != [field]:
        raise ValueError(
            f"expected {field!r} to be one field of frames; name one of {', '.join(paths_of(known, [field]))}"
        )
    frames = known[field]
    if frames.dtype != tf.uint8:
        raise TypeError(f"{field}: expected frames of uint8, got {frames.dtype.name}")
    is_colour = frames.shape.rank == 4 and frames.shape[-1] == 3
    if not is_colour and frames.shape.rank != 3:
        raise ValueError(
            f"{field}: expected frames [T, height, width, 3], or [T, height, width] in gray, got {frames.shape}"
        )
    if not is_colour and not grayscale:
        raise ValueError(f"{field}: expected frames in colour for grayscale=False, got gray ones of {frames.shape}")
    return frames


def _until_life_loss(steps: Dense, lives: str) -> Dense:
    """The steps up to the first after which there are fewer lives; that one is the terminal step."""
    known = leaves(steps)
    if lives not in known:
        raise ValueError(
            f"there is no field {lives!r}, the number of lives; record with `record_info=True`, or name "
            f"another field with `lives=...`. There are {', '.join(known)}"
        )
    require_fields(steps, IS_LAST)
    is_lost = tf.concat([tf.zeros_like(known[lives][:1], tf.bool), known[lives][1:] < known[lives][:-1]], 0)
    first = tf.concat([tf.where(is_lost)[:1, 0], [count_steps(steps)]], 0)[0]
    remaining: Dense = tf.nest.map_structure(lambda leaf: leaf[: first + 1], steps)
    is_end = is_lost[: first + 1]
    before_end = tf.concat([is_end[1:], tf.zeros_like(is_end[:1])], 0)
    remaining = {
        name: zero_unless(~is_end, value) if name in ACTED_FIELDS else value for name, value in remaining.items()
    }
    if DISCOUNT in remaining:
        remaining[DISCOUNT] = zero_unless(~before_end, remaining[DISCOUNT])
    is_terminal = remaining.get(IS_TERMINAL, tf.zeros_like(is_end))
    return {**remaining, IS_LAST: remaining[IS_LAST] | is_end, IS_TERMINAL: is_terminal | is_end}


def _sources(result: Dense, row: tf.Tensor, first: tf.Tensor, skip: int) -> tuple[tf.Tensor, tf.Tensor]:
    """The frames whose maximum is a screen: `[T' - 1, 1 or 2]` for all but the last, and `[1, 3]` for that one."""
    before = tf.maximum(row - 1, tf.gather(first, row)) if skip > 1 else row
    pair = tf.stack([row, before], 1)
    previous = tf.concat([pair[:1], pair[:-1]], 0)
    is_whole = row - previous[:, 0] == skip
    at_end = tf.concat([previous, tf.where(is_whole, row - 1, previous[:, 0])[:, tf.newaxis]], 1)
    is_terminal = result.get(IS_TERMINAL, tf.zeros_like(is_whole))
    last = tf.where(is_terminal[:, tf.newaxis], at_end, tf.concat([pair, pair[:, :1]], 1))
    return pair[:-1, : min(skip, 2)], last[-1:]


def _screens(frames: tf.Tensor, rows: tf.Tensor, height: int, width: int, *, grayscale: bool) -> tf.Tensor:
    """The maximum of frames, shrunk; `[N, K]` numbers of frames give `[N, height, width, ...]`."""
    count = tf.size(rows) // rows.shape[1]
    chunks = tf.maximum(1, -(-count // _CHUNK))
    shape = [None, height, width] if grayscale else [None, height, width, 3]

    def one_chunk(index: tf.Tensor, done: tf.TensorArray) -> tuple[tf.Tensor, tf.TensorArray]:
        chosen = tf.gather(frames, rows[index * _CHUNK : (index + 1) * _CHUNK])
        if grayscale and frames.shape.rank == 4:
            chosen = _luminance(chosen)
        return index + 1, done.write(index, _shrink(tf.reduce_max(chosen, 1), height, width))

    done = tf.TensorArray(tf.uint8, size=chunks, infer_shape=False, element_shape=shape)
    _, done = tf.while_loop(lambda index, _: index < chunks, one_chunk, [0, done], parallel_iterations=1)
    return tf.ensure_shape(done.concat(), shape)


def _luminance(colours: tf.Tensor) -> tf.Tensor:
    """`[..., 3]` to `[...]`, uint8. All sums are integers below 2**24 and so exact in float32."""
    red, green, blue = (tf.cast(each, tf.float32) for each in tf.unstack(colours, axis=-1))
    return tf.cast((red * 2989 + green * 5870 + blue * 1140 + 5000) / 10_000, tf.uint8)


def _shrink(screens: tf.Tensor, height: int, width: int) -> tf.Tensor:
    """`[N, H, W]` or `[N, H, W, 3]`; a channel is an image of its own."""
    if screens.shape.rank == 3:
        return resize_area(screens, height, width)
    size = screens.shape[1:3]
    channels = tf.reshape(tf.transpose(screens, [0, 3, 1, 2]), [-1, *size])
    return tf.transpose(tf.reshape(resize_area(channels, height, width), [-1, 3, height, width]), [0, 2, 3, 1])
