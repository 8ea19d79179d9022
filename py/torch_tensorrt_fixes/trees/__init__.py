"""Where the text of a tree comes from and goes to: git, the installed package, a directory."""
