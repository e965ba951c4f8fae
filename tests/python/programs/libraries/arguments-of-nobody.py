# A script that reads its command line, of which there is none.
import argparse
import sys

def main(argv=None):
    parser = argparse.ArgumentParser(description="Lists pages.")
    parser.add_argument("--limit", type=int, default=2)
    parser.add_argument("slugs", nargs="*")
    args = parser.parse_args(argv)
    pages = args.slugs or tools.wiki.list_pages()["pages"]
    print(pages[: args.limit])

if __name__ == "__main__":
    print(len(sys.argv), sys.argv[0].endswith(".py"))
    main(sys.argv[1:])
    main(["--limit", "1", "faq", "home"])
