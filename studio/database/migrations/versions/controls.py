"""Keys and names of actions, which designers edit."""

from typing import Final

from rlds_kit.base.extras import needs

with needs("studio"):
    from alembic import op
    from sqlalchemy import JSON, Column

revision: Final = "0002"
down_revision: Final = "0001"


def upgrade() -> None:
    """Adds them; existing studies use the known ones of their environments."""
    op.add_column("study_environments", Column("controls", JSON(none_as_null=True)))
