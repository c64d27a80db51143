"""The tests, folder for folder as `mdstudio`. A package, since mikecore installs one of the same name that would win."""
