# The last expression below the guard of a script is the value.
def main():
    return [p.upper() for p in tools.wiki.list_pages()["pages"]]

if __name__ == "__main__":
    main()
