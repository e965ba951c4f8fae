# Tests of the program's own, run by unittest and doctest.
# stderr: any
import doctest
import unittest

def slug(text):
    """Makes a slug.

    >>> slug("Two Words")
    'two-words'
    >>> slug("")
    ''
    """
    return "-".join(text.lower().split())

class SlugTest(unittest.TestCase):
    def test_words(self):
        self.assertEqual(slug("A b  C"), "a-b-c")

    def test_pages(self):
        for page in tools.wiki.list_pages()["pages"]:
            with self.subTest(page=page):
                self.assertEqual(slug(page), page)

outcome = unittest.TextTestRunner(verbosity=0).run(unittest.defaultTestLoader.loadTestsFromTestCase(SlugTest))
print(outcome.testsRun, outcome.wasSuccessful())
import sys
print(doctest.testmod(sys.modules["__main__"]))
