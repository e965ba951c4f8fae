# A function `run` that takes the input.
# input: {"slug": "setup"}
def run(arguments):
    page = tools.wiki.get_page(slug=arguments["slug"])
    return f"{page['title']}, revision {page['revision']}"
