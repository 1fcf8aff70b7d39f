"""Every feature of RLDS Creator has a test here, by name. The features are the rows of its paper's appendix C."""

import ast
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

TESTS: Final = Path(__file__).parents[1]


@dataclass(frozen=True)
class Row:
    """A feature of RLDS Creator that this studio has, too.

    Attributes:
      what: description of the feature.
      tests: that check it, as `file::function` without "test_", of the studio unless the file begins with "/".
      waived: the part that cannot be tested here, as named in docs/studio.md.
    """

    what: str
    tests: tuple[str, ...]
    waived: tuple[str, ...] = ()


ROWS: Final = {
    "R1": Row(
        "studies",
        (
            "database/test_rows.py::r1_a_study_reads_back_as_it_was_written",
            "api/test_study_routes.py::r1_a_study_reads_back_as_it_was_made",
            "browser/test_studies.py::r1_environments_that_do_not_fit_are_refused_where_they_stand",
        ),
    ),
    "R2": Row(
        "the editor of studies",
        (
            "browser/test_studies.py::r1_r2_a_study_is_made_saved_loaded_and_changed",
            "browser/test_whole_story.py::r1_r2_a_designer_makes_a_study_and_plays_it",
            "/trials/environments/test_environment_schema.py::r2_every_environment_here_has_a_schema_that_json_can_hold",
        ),
    ),
    "R3": Row(
        "who may change a study",
        (
            "test_what_is_not_theirs.py::r3_r29_r35_who_may_not_is_refused",
            "accounts/test_permissions.py::r3_r35_every_entry_of_the_table",
            "api/test_study_routes.py::r3_malformed_studies_are_refused",
        ),
    ),
    "R4": Row(
        "open and closed studies",
        (
            "browser/test_studies.py::r4_a_study_that_is_closed_says_so_to_others",
            "api/test_session_routes.py::r4_a_disabled_study_makes_no_session",
        ),
    ),
    "R5": Row(
        "permalinks",
        (
            "browser/test_studies.py::r5_the_permalink_that_is_copied_opens_the_study",
            "api/test_account_routes.py::r5_r42_the_link_of_a_study_makes_a_participant",
        ),
    ),
    "R6": Row(
        "sessions",
        (
            "api/test_playing.py::r6_a_session_ends_when_its_window_does",
            "database/test_rows.py::r6_sessions_of_a_server_that_was_killed_are_invalid",
        ),
    ),
    "R7": Row(
        "an environment is chosen; instructions come first",
        (
            "browser/test_player.py::r7_instructions_and_keys_stand_beside_the_picture",
            "play/test_playing.py::r7_instructions_come_before_the_first_picture",
        ),
    ),
    "R8": Row(
        "a step for each press",
        (
            "play/test_playing.py::r8_so_many_presses_are_so_many_steps",
            "browser/test_player_input.py::r8_holding_a_key_makes_one_step",
        ),
    ),
    "R9": Row(
        "steps at a rate",
        (
            "play/test_playing.py::r9_a_clock_makes_steps_and_its_rate_is_recorded",
            "browser/test_player.py::r9_the_speed_is_chosen_with_a_slider",
        ),
    ),
    "R10": Row(
        "nobody at the keys is a pause",
        (
            "play/test_playing.py::r10_an_idle_person_is_paused",
            "browser/test_player.py::r10_nobody_at_the_keys_is_a_pause_with_a_reason",
        ),
    ),
    "R11": Row(
        "pause and resume",
        (
            "play/test_playing.py::r11_a_pause_adds_no_steps_and_expires",
            "browser/test_whole_story.py::r11_a_pause_adds_no_steps",
        ),
    ),
    "R12": Row(
        "breaking an episode off",
        ("browser/test_whole_story.py::r12_r14_what_was_broken_off_is_cancelled_and_the_next_one_is_ready",),
    ),
    "R13": Row(
        "the question whether to save",
        (
            "play/test_playing.py::r12_r13_r14_what_a_person_decides_is_recorded",
            "browser/test_player.py::r13_the_dialog_decides_what_becomes_of_an_episode",
        ),
    ),
    "R14": Row(
        "what becomes of an episode",
        (
            "browser/test_whole_story.py::r13_r14_what_was_rejected_is_kept_as_rejected",
            "test_recovery.py::r11_an_episode_that_was_being_played_is_abandoned_with_its_steps",
            "export/test_routes.py::r14_filters_take_only_completed_episodes_by_default",
        ),
    ),
    "R15": Row(
        "what is known of an episode",
        (
            "play/test_playing.py::r15_an_episode_says_who_what_when_and_how",
            "api/test_playing.py::r15_an_episode_that_is_saved_has_a_row_and_a_recording",
        ),
    ),
    "R16": Row(
        "ids that name nobody",
        (
            "accounts/test_anonymous.py::r16_ids_differ_across_studies_and_people",
            "accounts/test_anonymous.py::r16_episodes_of_different_sessions_have_different_ids",
            "export/test_exporting.py::r16_who_played_never_leaves",
        ),
    ),
    "R17": Row(
        "what is recorded of a step",
        (
            "play/test_recorded.py::r17_recorded_steps_are_those_of_the_same_actions_offline",
            "browser/test_whole_story.py::r8_r17_keys_step_by_step_are_recorded_bit_for_bit",
            "browser/test_whole_story.py::r9_r17_keys_in_real_time_are_recorded_bit_for_bit",
        ),
    ),
    "R18": Row(
        "all keys that are held",
        (
            "play/test_recorded.py::r18_three_keys_are_one_chord",
            "browser/test_player_input.py::r18_all_keys_that_are_held_are_sent_whenever_they_change",
        ),
    ),
    "R19": Row(
        "gamepads",
        (
            "browser/test_whole_story.py::r19_a_gamepad_plays_step_by_step",
            "browser/test_whole_story.py::r19_a_stick_in_real_time_is_recorded_unrounded",
            "browser/test_player_input.py::r19_a_gamepad_is_told_when_it_comes_and_goes",
        ),
    ),
    "R20": Row(
        "SpaceMouse",
        ("browser/test_whole_story.py::r20_six_axes_move_an_arm",),
        ("a SpaceMouse",),
    ),
    "R21": Row(
        "controls that have a state",
        ("/trials/engine/test_keymap.py::a_switch_flips_once_a_press",),
    ),
    "R22": Row(
        "cameras",
        (
            "play/test_looks.py::r22_r23_what_is_seen_does_not_change_what_is_recorded",
            "play/test_looks.py::r22_a_camera_that_there_is_not_is_refused",
            "play/test_looks.py::r22_images_of_the_observation_are_views_and_change_nothing",
            "browser/test_player.py::r22_a_camera_is_chosen_by_key_or_list",
            "/trials/environments/test_views.py::r22_images_of_nested_observations_are_views",
        ),
    ),
    "R23": Row(
        "quality of pictures",
        (
            "play/test_looks.py::r23_better_quality_takes_more_bytes",
            "browser/test_player.py::r23_the_quality_can_be_chosen",
        ),
    ),
    "R24": Row(
        "full screen; episode, step, reward",
        (
            "browser/test_player.py::r24_the_player_fills_the_screen",
            "browser/test_player.py::r24_the_line_above_the_picture_counts",
        ),
    ),
    "R25": Row(
        "many environments, also of text",
        (
            "browser/test_player.py::r25_text_is_shown_as_text",
            "play/test_dm_env.py::r25_dm_env_is_played_and_recorded",
            "api/test_dm_env_routes.py::r25_a_study_has_an_environment_of_dm_env",
            "play/test_seats.py::two_people_act_together",
            "test_simulators.py::r25_nethack_is_played_as_text_and_recorded",
            "test_simulators.py::r25_an_arm_of_robosuite_is_moved_by_seven_axes",
        ),
        ("DMLab", "Procgen", "RoboDesk"),
    ),
    "R26": Row(
        "environments that hang or crash",
        (
            "play/test_faults.py::r26_an_environment_that_fails_abandons_its_episode_only",
            "browser/test_player.py::r26_an_environment_that_crashes_is_told_and_the_next_one_is_made",
        ),
    ),
    "R27": Row(
        "videos",
        ("browser/test_video.py::r27_a_video_of_an_episode_plays_in_the_browser",),
    ),
    "R28": Row(
        "the table of episodes",
        (
            "browser/test_episodes_studio.py::r28_a_designer_sees_all_of_a_study",
            "browser/test_episodes_studio.py::r28_a_participant_sees_their_own",
            "database/test_rows.py::r28_pages_in_any_order_are_a_partition",
        ),
    ),
    "R29": Row(
        "deleting episodes",
        (
            "browser/test_episodes_studio.py::r29_deleting_asks_first",
            "test_recovery.py::r29_the_steps_of_deleted_episodes_go_and_the_others_stay",
            "test_what_is_not_theirs.py::r3_r29_r35_who_may_not_is_refused",
        ),
    ),
    "R30": Row(
        "replay",
        (
            "replay/test_routes.py::r30_every_step_is_as_it_was_recorded",
            "browser/test_whole_story.py::r30_a_replay_shows_what_was_played",
            "browser/test_replay.py::the_pixels_are_those_of_the_recording",
        ),
    ),
    "R31": Row(
        "the chart of rewards",
        (
            "browser/test_replay.py::the_chart_leads_to_the_spike",
            "replay/test_routes.py::r31_rewards_that_are_no_numbers_are_kept_and_left_out_of_sums",
        ),
    ),
    "R32": Row(
        "tags",
        (
            "browser/test_whole_story.py::r32_two_people_tag_one_episode_at_once",
            "replay/test_annotations.py::r32_a_tag_that_is_there_is_refused",
        ),
    ),
    "R33": Row(
        "notes",
        (
            "replay/test_annotations.py::r33_notes_survive",
            "browser/test_replay_tags.py::notes_are_written_changed_and_deleted",
        ),
    ),
    "R34": Row(
        "replay of any dataset",
        (
            "browser/test_view.py::the_link_lets_in_and_its_token_does_not_stay",
            "replay/test_viewer.py::the_link_that_is_printed_opens",
        ),
    ),
    "R35": Row(
        "who may replay",
        (
            "test_what_is_not_theirs.py::r35_reviews_of_others_are_not_heard",
            "browser/test_episodes_studio.py::r35_others_episodes_cannot_be_opened",
        ),
    ),
    "R36": Row(
        "exports that tell how far they are",
        (
            "browser/test_whole_story.py::r36_r37_r38_r40_an_export_is_downloaded_and_opens_everywhere",
            "export/test_routes.py::r36_an_export_is_cancelled_cleanly",
        ),
    ),
    "R37": Row(
        "exports as one file, or a folder",
        (
            "browser/test_export.py::r36_r37_chosen_episodes_become_an_archive",
            "export/test_exporting.py::r37_other_formats_can_be_requested",
        ),
    ),
    "R38": Row(
        "exports without what is internal",
        ("export/test_exporting.py::r38_what_is_internal_is_stripped",),
    ),
    "R39": Row(
        "exports that end at a tag",
        ("export/test_exporting.py::r39_a_cut_is_the_manual_one",),
    ),
    "R40": Row(
        "exports with columns of tags",
        ("export/test_exporting.py::r40_tags_are_columns",),
    ),
    "R41": Row(
        "recordings and database are on the disk",
        ("test_faults_of_the_server.py::a_killed_server_loses_nothing_that_was_saved_and_a_second_of_the_rest",),
    ),
    "R42": Row(
        "logging in",
        (
            "browser/test_login.py::r42_a_link_logs_in_and_leaves_the_address",
            "test_what_is_not_theirs.py::r42_a_made_up_token_plays_nowhere",
        ),
    ),
    "R43": Row(
        "the protocol",
        (
            "play/test_socket.py::r43_ten_thousand_malformed_messages_change_nothing",
            "play/test_from_browser.py::r43_what_is_no_message_is_answered_with_a_code_and_a_place",
            "test_faults_of_the_server.py::r43_hundreds_of_malformed_requests_change_nothing",
        ),
    ),
    "R44": Row(
        "what recording costs",
        ("test_benchmark.py::r44_every_step_is_measured_and_a_picture_of_atari_is_small",),
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_every_row_has_tests_that_exist(name: str) -> None:
    """They are searched for in the source, not run."""
    assert ROWS[name].tests
    for each in ROWS[name].tests:
        path, _, function = each.partition("::")
        parsed = ast.parse(
            (TESTS / (path.removeprefix("/") if path.startswith("/") else f"studio/{path}")).read_text("utf-8")
        )
        assert f"test_{function}" in {node.name for node in parsed.body if isinstance(node, ast.FunctionDef)}, each


def test_there_are_all_rows() -> None:
    assert list(ROWS) == [f"R{number}" for number in range(1, 45)]


def test_what_is_waived_is_in_the_documentation() -> None:
    """By name; it may only be hardware and simulators that cannot be installed."""
    page = TESTS.parent / "docs" / "studio.md"
    if not page.exists():
        pytest.skip("a wheel holds no docs")
    waived = [name for row in ROWS.values() for name in row.waived]
    assert [name for name in waived if name not in page.read_text("utf-8")] == []
    assert {name for name, row in ROWS.items() if row.waived} == {"R20", "R25"}
