"""The settings of a service in a TOML file."""

import os
import secrets
from pathlib import Path
from typing import Any, Final

from rlds_kit.base.rate_limit import Limit
from rlds_kit.base.whole_file import whole_file
from rlds_kit.trials.environments.playable import EnvironmentSpec
from rlds_kit.trials.launcher.plan import PlanError, read_toml
from rlds_kit.trials.service.settings import ServiceSettings

SERVICE: Final = "service"
_KEYS: Final = {
    *("actors", "directory", "environments", "host", "join_seconds", "parallel", "per_second", "port", "secret_file"),
    *("revoked", "services"),
}
_SPEC: Final = {"has_teacher", "id", "interface", "kwargs", "policies"}
_BYTES: Final = 32


def read_settings(path: str | os.PathLike[str]) -> tuple[ServiceSettings, str, int]:
    """The settings of a service, and the host and port to listen at.

    Args:
      path: of the file, with a table [service]; paths in it are relative to its folder.

    Raises:
      PlanError: something in it cannot be.
      OSError: the secret cannot be read or written.
    """
    path = Path(path)
    table = read_toml(path).get(SERVICE)
    if not isinstance(table, dict) or not table.keys() <= _KEYS or not table.get("environments"):
        known = ", ".join(sorted(_KEYS))
        raise PlanError(f"{path}: expected a table [{SERVICE}] with environments, and perhaps {known}, got {table}")
    folder = path.absolute().parent
    optional: dict[str, Any] = {"revoked": str(folder / table.get("revoked", ".trials-revoked.json"))}
    for name in ("directory", "services"):
        if name in table:
            optional[name] = str(folder / table[name])
    for name in ("actors", "join_seconds", "parallel"):
        if name in table:
            optional[name] = table[name]
    if "per_second" in table:
        optional["limit"] = Limit(per_second=table["per_second"], burst=4 * int(table["per_second"] + 1))
    environments = {name: _spec(path, name, each) for name, each in table["environments"].items()}
    settings = ServiceSettings(secret=read_secret(path), environments=environments, **optional)
    return settings, str(table.get("host", "127.0.0.1")), int(table.get("port", 8700))


def read_secret(path: str | os.PathLike[str]) -> bytes:
    """The secret of a service, in a file that only its owner can read; it is made if it is not there.

    Args:
      path: of the TOML file.

    Raises:
      PlanError: the TOML file has no service.
      OSError: the secret cannot be read or written.
    """
    path = Path(path)
    table = read_toml(path).get(SERVICE, {})
    file = path.absolute().parent / str(table.get("secret_file", ".trials-secret"))
    if not file.exists():
        with whole_file(file, replace=False) as temporary:
            temporary.touch(0o600)
            temporary.write_text(secrets.token_hex(_BYTES), "utf-8")
    return file.read_text("utf-8").strip().encode()


def _spec(path: Path, name: str, table: Any) -> EnvironmentSpec:
    if not isinstance(table, dict) or "id" not in table or not table.keys() <= _SPEC:
        where, known = f"{path}: [{SERVICE}.environments.{name}]", ", ".join(sorted(_SPEC))
        raise PlanError(f"{where}: expected an id, and perhaps {known}, got {table}")
    return EnvironmentSpec(**table)
