"""The controller of Volcano Jobs: pods, PodGroup, phases, lifecycle policies, plugins."""
