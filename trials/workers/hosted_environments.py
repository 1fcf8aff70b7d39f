"""The environments of a worker, and the requests to them."""

import traceback
from collections.abc import Sequence
from typing import Final

from rlds_kit.trials.environments.catalogue import catalogue
from rlds_kit.trials.environments.parallel_catalogue import parallel_catalogue
from rlds_kit.trials.environments.schema import kwargs_schema
from rlds_kit.trials.workers import requests
from rlds_kit.trials.workers.job import Job
from rlds_kit.trials.workers.stage import Stage


class HostedEnvironments:
    """Environments, each with a number. What one of them raises is an answer, never the end of the others."""

    def __init__(self) -> None:
        self._stages: dict[int, Stage] = {}

    def answer(self, wanted: Sequence[tuple[int, requests.Request]], /) -> list[requests.Answer]:
        """Does requests, each with the number of its environment, one after another."""
        return [self._answer(number, request) for number, request in wanted]

    def close(self) -> None:
        """Ends open episodes as INTERRUPTED, and closes everything."""
        for stage in self._stages.values():
            try:
                stage.close()
            except Exception:  # noqa: BLE001  the others are to be closed too
                traceback.print_exc()

    def _answer(self, environment: int, request: requests.Request) -> requests.Answer:
        try:
            return self._do(environment, request)
        except Exception as error:  # noqa: BLE001  an environment may raise anything
            is_lost = not isinstance(
                request,
                requests.Open | requests.Show | requests.Ahead | requests.Sync | requests.Catalogue | requests.Describe,
            )
            reason = f"{type(error).__name__}: {error}"
            if is_lost and environment in self._stages:
                reason += _closed(self._stages.pop(environment))
            return requests.Failed(reason, is_lost=is_lost)

    def _do(self, environment: int, request: requests.Request) -> requests.Answer:
        if isinstance(request, requests.Open):
            self._stages[environment] = Stage(request)
            return self._stages[environment].opened()
        if isinstance(request, requests.Catalogue):
            known = parallel_catalogue if request.interface == "pettingzoo" else catalogue
            return known(request.modules)
        if isinstance(request, requests.Describe):
            return kwargs_schema(request.id)
        if isinstance(request, requests.Close):
            self._stages.pop(environment).close()
            return None
        return self._stages[environment].answer(request)


def _closed(stage: Stage) -> str:
    """Closes what failed; returns the errors of that."""
    try:
        stage.close()
    except Exception as error:  # noqa: BLE001  it has failed already
        return f"; and closing it: {type(error).__name__}: {error}"
    return ""


ENVIRONMENTS: Final = Job("environment", HostedEnvironments)
"""The job of a worker that plays environments."""
