"""The job plugins there are, in the order they see a pod, and how a job's own are made."""

from volcano.base.errors import VolcanoError
from volcano.controllers.job.observed import Observed
from volcano.controllers.job.plugins.base import JobPlugin
from volcano.controllers.job.plugins.env import Env
from volcano.controllers.job.plugins.svc import Svc

PLUGINS: tuple[type[JobPlugin], ...] = (Svc, Env)


class UnknownPluginError(VolcanoError):
    """A job names a plugin that this version does not have."""


def plugins_of(o: Observed) -> list[JobPlugin]:
    """The plugins that a job names.

    Raises:
        UnknownPluginError: it names one that is not here.
    """
    known = {plugin.name for plugin in PLUGINS}
    for name in o.spec.plugins:
        if name not in known:
            raise UnknownPluginError(
                f"failed to get plugin {name}: spec.plugins knows {', '.join(sorted(known))}"
            )
    return [
        plugin(o, o.spec.plugins[plugin.name])
        for plugin in PLUGINS
        if plugin.name in o.spec.plugins
    ]
