"""What Kubernetes 1.33 to 1.37 brought, in clusters whose verdicts were written down by hand as kube-scheduler's."""
