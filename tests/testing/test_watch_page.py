"""docs/howto/watch_gradients.md, done as it says, in an empty folder."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import arraytape
from helpers.repository import ROOT

PAGE = (ROOT / "docs/howto/watch_gradients.md").read_text(encoding="utf-8")
# A file and its content, or commands for a shell.
STEPS = re.compile(r"`([\w./]+)`:\n\n```\w+\n(.*?)```|```sh\n(.*?)```", flags=re.S)
INSTALL = """\
python -m venv .venv
. .venv/bin/activate
pip install arraytape asv
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="the page's commands are those of a POSIX shell")
@pytest.mark.timeout(400)
def test_the_page_leads_to_a_dashboard_that_shows_the_regression(tmp_path):
    """In an environment in which arraytape and asv are installed already."""
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "library").mkdir()
    source = Path(arraytape.__file__).parents[1]
    script = [f"export PATH={Path(sys.executable).parent}:$PATH"]
    for file, content, commands in STEPS.findall(PAGE):
        if file:  # written from the repository's top, wherever the commands are
            script.append(f"cat > {tmp_path}/library/{file} <<'END'\n{content}END")
        else:
            # The library's sources come first on Python's path, arraytape's after them.
            script.append(commands.replace(INSTALL, "").replace("=$PWD/src", f"=$PWD/src:{source}"))
    assert INSTALL in PAGE
    person = {
        f"GIT_{who}_{what}": "a" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
    }
    done = subprocess.run(
        ["bash", "-e", "-c", "\n".join(script)],
        cwd=tmp_path / "library",
        env={**os.environ, **person, "HOME": str(home)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    first = (tmp_path / "library/asv_bench/site/index.html").read_text()
    assert 'class="verdict worse"' in first
    worse = first[first.index("<h2>Worse</h2>") :].partition("</table>")[0]
    rows = [row for row in worse.split("<tr") if "track_exits" in row]
    assert len(rows) == 2
    assert all("0 exits" in row and "1 exits" in row for row in rows)
