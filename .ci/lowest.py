"""Print the lowest versions that pyproject.toml allows, as constraints for pip."""

import re
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
extras = project["optional-dependencies"].values()
asked = [*project["dependencies"], *(each for extra in extras for each in extra)]
for each in sorted({re.sub(r"\[.*?\]", "", one) for one in asked if ">=" in one}):
    print(each.replace(">=", "=="))
