"""`python -m classgrow` is the command `classgrow`."""

from classgrow.cli import main

if __name__ == "__main__":
    main()
