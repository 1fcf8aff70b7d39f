"""Tasks of a crowd: declared in a file, given out to people by rows, from consent to the completion code."""

from rlds_kit.crowd.tasks.assignment import assign, is_full
from rlds_kit.crowd.tasks.book import Book
from rlds_kit.crowd.tasks.codes import code_hash, code_of, new_code
from rlds_kit.crowd.tasks.declaration import parse_crowd, read_crowd
from rlds_kit.crowd.tasks.flow import RefusedError
from rlds_kit.crowd.tasks.form import Question
from rlds_kit.crowd.tasks.person import Person, Place, Stage
from rlds_kit.crowd.tasks.recruitment import RecruitmentError, Source, completion_address, source_of
from rlds_kit.crowd.tasks.screening import Device, Link, Screening
from rlds_kit.crowd.tasks.table import CrowdError
from rlds_kit.crowd.tasks.task import Crowd, Group, Mode, Task

__all__ = [
    "Book",
    "Crowd",
    "CrowdError",
    "Device",
    "Group",
    "Link",
    "Mode",
    "Person",
    "Place",
    "Question",
    "RecruitmentError",
    "RefusedError",
    "Screening",
    "Source",
    "Stage",
    "Task",
    "assign",
    "code_hash",
    "code_of",
    "completion_address",
    "is_full",
    "new_code",
    "parse_crowd",
    "read_crowd",
    "source_of",
]
