"""Features of placements, and good play."""

import numpy as np

from rlds_kit.shaping.environments import PlacementTetris, TetrisFeatures, board_features, placements, tetris_judge


def _board(*rows: str) -> np.ndarray:
    board = np.zeros((20, 10), np.int8)
    for number, row in enumerate(rows):
        board[20 - len(rows) + number] = [cell == "#" for cell in row]
    return board


def test_features_of_a_board_are_what_they_are_called() -> None:
    board = _board("##........", "#.#......#")
    found = board_features(board[None])[0]
    assert found[:10].tolist() == [2, 2, 1, 0, 0, 0, 0, 0, 0, 1]
    assert found[10:19].tolist() == [0, 1, 1, 0, 0, 0, 0, 0, 1]
    greatest, holes, wells, deepest = found[19:23].tolist()
    assert (greatest, holes, wells, deepest) == (2, 1, 0, 0)
    assert np.array_equal(found[23:], found[:23] ** 2)


def test_wells_are_beside_higher_columns_and_walls() -> None:
    found = board_features(_board(".#.#......", ".#.#......", ".#.#......")[None])[0]
    assert found[21:23].tolist() == [6, 3]


def test_t2_features_of_a_placement_have_similar_ranges() -> None:
    """Those of random play have deviations of about 1, whatever their units are; and there is an intercept."""
    features, env, random = TetrisFeatures(), PlacementTetris(), np.random.default_rng(5)
    rows = []
    observation, _ = env.reset(seed=5)
    for _ in range(200):
        actions, choices = features.choices(observation)
        at = int(random.integers(len(actions)))
        rows.append(choices[at])
        observation, _, is_over, _, _ = env.step(actions[at])
        observation = env.reset()[0] if is_over else observation
    deviations = np.array(rows)[:, :-1].std(axis=0)
    assert deviations.min() > 0.5
    assert deviations.max() < 2
    assert set(np.array(rows)[:, -1]) == {3.0}


def test_features_of_one_action_are_those_of_the_choices() -> None:
    features = TetrisFeatures()
    observation = {"board": _board("#####....."), "piece": 2}
    actions, choices = features.choices(observation)
    assert choices.shape == (len(actions), features.size)
    assert all(
        features.of(observation, each).tobytes() == row.tobytes() for each, row in zip(actions, choices, strict=True)
    )


def test_good_play_completes_lines_and_is_judged_so() -> None:
    """The best placement gets 2; one that covers a gap gets less."""
    board = _board("#########.")
    assert tetris_judge({"board": board, "piece": 0}, 19) == 2
    values = [tetris_judge({"board": board, "piece": 2}, each) for each in placements(board, 2).actions]
    assert (min(values), max(values)) == (-2, 2)
