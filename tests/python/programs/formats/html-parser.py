# Text and links out of HTML with html.parser.
from html.parser import HTMLParser

class Page(HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.links, self.texts, self.open = [], [], []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        if tag == "a":
            self.links.append(dict(attrs).get("href"))

    def handle_endtag(self, tag):
        while self.open and self.open.pop() != tag:
            pass

    def handle_data(self, data):
        if data.strip():
            self.texts.append((self.open[-1] if self.open else None, data.strip()))

for slug in tools.wiki.list_pages()["pages"]:
    page = Page()
    page.feed(tools.wiki.get_page(slug=slug)["html"])
    print(slug, page.links, page.texts)
