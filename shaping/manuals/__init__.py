"""Rewards from instruction manuals: "Read and Reap the Rewards" (Wu et al. 2023).

A manual is converted to a table of interactions, which people review. The table gives rewards for contacts of the
player with objects on the screen, during recording or afterwards.
"""

from rlds_kit.shaping.manuals.ablation import ablations, generic_answers
from rlds_kit.shaping.manuals.annotating import annotate_manual_rewards, episode_rewards, mixed_rewards, stored_tables
from rlds_kit.shaping.manuals.answering import Answer, QuestionAnswerer, WordAnswerer
from rlds_kit.shaping.manuals.boxes import annotate_boxes
from rlds_kit.shaping.manuals.contact_rewards import ContactReward, ContactRewards
from rlds_kit.shaping.manuals.interaction import Interaction, TableError
from rlds_kit.shaping.manuals.manual import Manual, ManualError, shipped_games, shipped_manual
from rlds_kit.shaping.manuals.model_reply import ModelReply
from rlds_kit.shaping.manuals.object_features import ObjectFeatures
from rlds_kit.shaping.manuals.reading import objects_of, read_manual
from rlds_kit.shaping.manuals.reasoning import Judgement, Reasoner, WordReasoner
from rlds_kit.shaping.manuals.reviewing import StaleTableError, override_file, shipped_table
from rlds_kit.shaping.manuals.table import InteractionTable
from rlds_kit.shaping.manuals.wrappers import DelayedReward, EveryFrame, ManualReward, MixedReward, delayed

__all__ = [
    "Answer",
    "ContactReward",
    "ContactRewards",
    "DelayedReward",
    "EveryFrame",
    "Interaction",
    "InteractionTable",
    "Judgement",
    "Manual",
    "ManualError",
    "ManualReward",
    "MixedReward",
    "ModelReply",
    "ObjectFeatures",
    "QuestionAnswerer",
    "Reasoner",
    "StaleTableError",
    "TableError",
    "WordAnswerer",
    "WordReasoner",
    "ablations",
    "annotate_boxes",
    "annotate_manual_rewards",
    "delayed",
    "episode_rewards",
    "generic_answers",
    "mixed_rewards",
    "objects_of",
    "override_file",
    "read_manual",
    "shipped_games",
    "shipped_manual",
    "shipped_table",
    "stored_tables",
]
