"""Who runs a crowd."""

from rlds_kit.base.extras import needs
from rlds_kit.studio.accounts.permissions import Action, require
from rlds_kit.studio.api.guard import account_of
from rlds_kit.studio.crowd.desk import Desk
from rlds_kit.studio.database import studies
from rlds_kit.studio.database.database import Database

with needs("studio"):
    from starlette.requests import Request


async def require_runner(request: Request, desk: Desk, database: Database) -> None:
    """Lets only the designer go on whose studies the tasks are.

    Raises:
      ForbiddenError: it is another account.
    """
    account = account_of(request)
    first = next(iter(desk.games.values()))
    require(account, Action.CROWD_RUN, await database.run(studies.get, first.study))
