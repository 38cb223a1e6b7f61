"""What this machine has and lacks for the lab, and what to do about each."""

from probelab.doctor.check import Check, Status
from probelab.doctor.diagnose import Diagnosis, diagnose

__all__ = ["Check", "Diagnosis", "Status", "diagnose"]
