# A program in a fenced block, with words around it.
Here is the program you asked for:

```python
pages = tools.wiki.list_pages()["pages"]
print(len(pages))
pages[0]
```

It prints how many pages there are.
