"""What embedded mode needs of kube-controller-manager; on a real cluster these do not run."""
