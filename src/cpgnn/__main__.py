"""`python -m cpgnn` is `cpgnn`."""

from cpgnn.cli import main

if __name__ == "__main__":
    main()
