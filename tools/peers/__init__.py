"""The parts of ``compare_with_peers.py``: libraries, cases, known disagreements, verdicts."""
